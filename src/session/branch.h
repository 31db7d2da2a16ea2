/*
 * --branch: a linked worktree on its own branch, in bawn's state folder. Inside, the main checkout is read-only,
 * and an overlay covers its repository. Only the branch and new objects reach the real repository. git fills the
 * worktree in a sandbox, without any configuration.
 */
#pragma once

#include "git/refs.h"
#include "launch/launch.h"
#include "session/capture.h"

struct branch {
    const char *name;
    const char *workspace;  /* the main checkout */
    const char *state;      /* bawn's state folder lies in it */
    const char *tree;       /* the worktree's top */
    struct git_position at; /* the commit where it begins */
    bool is_new;            /* bawn makes the branch */
    bool is_made;           /* … and has made it now, with its worktree */
    const char *admin; /* git's folder for the worktree, in the main checkout: ".git/worktrees/bawn-NAME" */
};

/*
 * Makes the worktree, or finds the one of an earlier run. Returns 0, or the exit status after saying what is wrong.
 */
int branch_open(const struct caller *caller, const struct run_request *request, struct launch *launch,
                struct arena *arena, struct branch *ret_branch);

/* The path of the worktree of a branch. It is computed and not read from the repository, which a command may have written. */
const char *branch_tree(struct arena *arena, const char *state, const char *workspace, const char *name);

/*
 * Without namespaces no overlay covers the repository: the command works in a copy of it, in the session's folder. `.git` in the worktree leads there
 * while the command runs, and back to the repository after it, or in a repair.
 */
int branch_lead_aside(const struct branch *branch, struct arena *arena, const char *session, struct err *err)
    must_check;

/* Does nothing where `.git` leads elsewhere than into this session. */
int branch_lead_back(struct arena *arena, const char *state, const struct record *record, const char *session,
                     struct err *err) must_check;

/* Two commits of a repository that a command may have written, to be compared. */
struct commit_range {
    const char *work_tree;
    const char *from, *to; /* object names, in digits */
    const char *form;      /* "--patch", "--stat", "--name-only" */
    const char *session;   /* its folder, for git's home */
    int session_fd;
};

/* What git prints of the difference, in a sandbox and without running what the repository configures. Returns -1 if git fails. */
int commits_compare(const struct caller *caller, const struct commit_range *range, struct arena *arena,
                    struct buf *ret_text) must_check;

/* The run is refused after all: removes a worktree and a branch that were made for it, as far as nobody else used them. */
void branch_abandon(const struct branch *branch, struct arena *arena);

/* Removes the worktree of a session with --branch; the branch stays. */
int branch_remove(struct arena *arena, const char *state, const struct record *record, struct err *err)
    must_check;

/* --- branch_keep.c: a worktree that is discarded, until `bawn undo` brings it back or it is pruned --- */

struct branch_copy {
    const struct loaded *loaded;
    struct arena *arena;
    const char *state, *store;
    const struct record *record; /* of the session */
    int folder_fd;               /* of the session */
    struct progress *progress;   /* may be NULL */
};

/* Is there a worktree of the branch, with its link to git's folder? */
bool branch_is_there(struct arena *arena, const char *state, const struct record *record);

/* Keeps a copy of the worktree. Fails if a file cannot be kept. Directories that a build makes again are left out: "node_modules, dist". */
int branch_keep(const struct branch_copy *copy, const char **ret_left_out, struct err *err) must_check;
bool branch_is_kept(int folder_fd);
void branch_forget_kept(int folder_fd);

/* Makes the worktree again from its copy. Files that are there stay as they are. May be repeated. */
int branch_bring_back(const struct branch_copy *copy, struct err *err) must_check;

/* --- commits_compare.c: what lies in the worktree and is not committed --- */

struct uncommitted {
    VEC(const char *)
    files; /* "M src/main.c", "?? new", "!! .env" (ignored), printable; those that are ignored last */
    size_t ignored; /* how many of them */
};

/* As `git status` says, in a sandbox. `session` is its folder. Returns -1 if git fails. */
int branch_uncommitted(const struct caller *caller, const char *work_tree, const char *session,
                       int session_fd, struct arena *arena, struct uncommitted *ret_found) must_check;
void uncommitted_free(struct uncommitted *found);

/* "3 files there are not committed: a, b/c and 1 more"; NULL: all are, but for ignored ones. */
const char *uncommitted_text(struct arena *arena, const struct uncommitted *found);

/*
 * Brings the commits into the repository. If the branch has moved meanwhile, or git cannot read all that they lead to, they
 * wait for a review. Adds the commits that change flagged files to the sightings; without flags nobody can ask git, and all wait.
 */
int branch_end(struct arena *arena, const char *store_directory, struct captured_tree *captured,
               struct flags *flags, struct err *err) must_check;

/* "bawn-NAME", git's name for the worktree. */
const char *branch_worktree_name(struct arena *arena, const char *name);
