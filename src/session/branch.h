/*
 * --branch: a linked worktree on a branch of its own, in bawn's folder. The main checkout is only read inside, and its
 * repository is covered by an overlay: what comes of that into the real one is the branch and new objects, no more.
 * git fills the worktree in a sandbox of its own, with a configuration that is nobody's.
 */
#pragma once

#include "git/branch.h"
#include "launch/launch.h"
#include "session/capture.h"

struct branch {
    const char *name;
    const char *workspace;  /* the main checkout */
    const char *tree;       /* the worktree's top */
    struct git_position at; /* the commit that it begins at */
    bool is_new;            /* there was no such branch */
    const char *admin; /* git's folder for it, relative to the main checkout: ".git/worktrees/bawn-NAME" */
};

/*
 * Makes the worktree, or finds it where an earlier run made it. Returns 0, or the exit status after having said what is
 * wrong.
 */
int branch_open(const struct caller *caller, const struct run_request *request, struct launch *launch,
                struct arena *arena, struct branch *ret_branch);

/* Removes the worktree of a session on a branch; the branch stays. */
int branch_remove(struct arena *arena, const char *state, const struct record *record, struct err *err)
    must_check;

/* Brings what was committed into the repository. Where that has moved on meanwhile, it waits to be reviewed. */
int branch_end(struct arena *arena, const char *store_directory, struct captured_tree *kept, struct err *err)
    must_check;

/* "bawn-NAME", git's name for the worktree. */
const char *branch_worktree_name(struct arena *arena, const char *name);
