/* Runs git on a repository that a sandboxed program may have written, in a sandbox of its own. */
#pragma once

#include "base/buf.h"
#include "launch/launch.h"
#include "session/load.h"

struct git_asker {
    const struct caller *caller;
    const struct launch *launch; /* of the run: its arguments are overwritten in git's sandbox as well */
    const char *
        arrived; /* a folder with objects/ (and perhaps `shallow`) that count as the repository's; NULL: none */
    const char *git_dir; /* the repository that they arrive in; NULL: it is new */
};

/* One call of git in a sandbox, without a session and without watches. */
struct git_errand {
    const char *work_tree;                           /* the workspace and the current directory */
    const char *home;                                /* the folder that becomes its home */
    const char *const *command, *const *environment; /* TMPDIR is added to it */
    const struct argument *rules;
    size_t rule_count;
    bool is_read_only;
    uint64_t seconds;        /* time limit */
    int input_fd, output_fd; /* 0: none */
};

/* Returns 0 where git succeeds, else -1. Its output goes to `output_fd`; standard error is dropped. */
int run_errand(const struct git_asker *asker, const struct git_errand *errand);

/* Runs a command in the work tree, read-only and without a network. The callback of hold/versions.h. */
int ask_git(void *asker, const char *work_tree, const char *const *command, const struct buf *input,
            struct buf *ret_output);
