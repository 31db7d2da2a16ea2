/*
 * What a git repository looks like on disk, found by looking. git itself is never run, its environment variables are
 * ignored, and nothing that a sandboxed program may have written widens what is found: a `.git` file counts only when
 * the directory that it names points back at it, or lies in the tree itself.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "kernel/fsview.h"

typedef VEC(const char *) git_paths;

struct git_repo {
    VEC(const char *)
    dirs; /* every git directory: the repository's, its submodules', its linked worktrees' */
    VEC(const char *) links; /* every `.git` that is a file or a symbolic link */
    git_paths whole; /* frozen as they are: what could not be looked through, hooks and includes of its own */
    git_paths flagged;   /* tracked files that its configuration leads to: the active hooks, included files */
    const char *outside; /* a git directory that the tree needs and that does not lie in it, or NULL */
    const char *problem; /* why the tree's `.git` leads nowhere, or NULL */
};

/* Is this directory (a path without links) the top of a work tree? Any `.git` says so, whole or not. */
bool git_is_root(struct fsview *fs, const char *directory);

/* Whose git it is that obeys: where their own configuration lies. */
struct git_user {
    const char *home, *config_home;
};

/*
 * All that belongs to the repository whose work tree this is; where it is none, only what the user's configuration leads to in it. No user:
 * nobody's is looked at.
 */
void git_find(struct fsview *fs, const char *root, const struct git_user *user, struct git_repo *ret_repo);

void git_repo_free(struct git_repo *repo);

/* What a control file of this name can hold so that git works as if it were not there. */
const char *git_stub_content(const char *name);
