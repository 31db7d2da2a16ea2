/* git, asked about a repository that a sandboxed program may have written: in a sandbox of its own. */
#pragma once

#include "base/buf.h"
#include "launch/launch.h"
#include "session/load.h"

struct git_asker {
    const struct caller *caller;
    const struct launch
        *launch; /* of the run at whose end git is asked: what that forgets is forgotten here too */
};

/* One call of git in a sandbox of its own, with nothing that a run has beside it: no session, no watches. */
struct git_errand {
    const char *work_tree; /* the workspace, and where it begins */
    const char *home;      /* an own folder that it finds as its home */
    const char *const *command, *const *environment;
    const struct argument *rules;
    size_t rule_count;
    bool is_read_only;
    uint64_t seconds;        /* that it may take */
    int input_fd, output_fd; /* 0: none */
};

/* Returns its status; what it says is not heard. */
int run_errand(const struct git_asker *asker, const struct git_errand *errand);

/* A command of git's in the work tree, read-only and without a network. As hold/versions.h wants it. */
int ask_git(void *asker, const char *work_tree, const char *const *asked, const struct buf *input,
            struct buf *ret_output);
