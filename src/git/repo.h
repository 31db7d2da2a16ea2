/*
 * What a git repository looks like on disk, found by looking. git itself is never run, its environment variables are
 * ignored, and nothing that a sandboxed program may have written widens what is found: a `.git` file counts only when
 * the directory that it names points back at it, or lies in the tree itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* --- paths --- */

/* Which paths belong to a git repository, judged by their names only. */

/* The size of the part of a path that names a git directory, with its slash; 0 if there is none. */
size_t git_directory_size(const char *path);

/* The same for the repository that the path belongs to: a submodule's repository is inside ".git/modules". */
size_t git_repository_size(const char *path);

/* The name of the submodule whose repository this is ("lib" of ".git/modules/lib"); NULL: it is a linked worktree's directory. */
const char *git_module_name(const char *git_dir, const char *part);

/* Is it one of HEAD, refs, packed-refs and their logs? */
bool git_is_position(const char *path);

/* Does git replace this file through NAME.lock? The process that has created NAME.lock may replace it. */
bool git_has_lock(const char *path);

/* --- indirect --- */

/*
 * Where a git directory's configuration leads: the folder of the active hooks, the program that is asked what changed, and further
 * files of configuration.
 */

struct git_owner {
    const char *git_dir;
    const char *base; /* its work tree, or itself: where programs are run, and paths begin */
    const char *tree; /* what lies elsewhere is none of ours */
    const char *home; /* what ~ stands for; NULL: nothing */
};

/* Adds to the repository what must be frozen or flagged because the configuration of this git directory points at it. */
void git_follow_config(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo);

/* The same for what the user's own and the system's configuration say of every repository. */
void git_follow_user_config(struct fsview *fs, const struct git_owner *owner, const struct git_user *user,
                            struct git_repo *repo);

/* The same for the text of one of its files. */
void git_follow_text(struct fsview *fs, const struct git_owner *owner, const char *config, const char *text,
                     size_t size, struct git_repo *repo);
