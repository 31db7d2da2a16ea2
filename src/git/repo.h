/*
 * What a git repository looks like on disk, found by looking. git itself is never run, its environment variables are
 * ignored, and nothing that a sandboxed program may have written widens what is found: a `.git` file counts only when
 * the directory that it names points back at it, or lies in the tree itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/vec.h"
#include "kernel/fsview.h"

typedef VEC(const char *) git_paths;

/* Something that git on the host runs or obeys because something else leads there. */
struct git_obeyed {
    const char *path;
    const char *
        because; /* what leads there: ".git/hooks/pre-commit", "filter.x.clean in .git/config"; NULL: not known */
    bool is_link;      /* the link at this path is meant, and not what it leads to */
    bool is_directory; /* with all that is in it */
};

typedef VEC(struct git_obeyed) git_obeyed_list;

/* Directories in `modules` and `worktrees` that git_find looks at. A command could plant any number. */
enum { GIT_MOST_PARTS = 1000 };

struct git_repo {
    VEC(const char *)
    dirs; /* every git directory: the repository's, its submodules', its linked worktrees' */
    VEC(const char *) links; /* every `.git` that is a file or a symbolic link */
    git_obeyed_list
        whole; /* frozen as they are: what could not be looked through, and what git runs without tracking it */
    git_obeyed_list
        flagged; /* what git runs and tracks, and what is not there yet: hooks, programs, further settings */
    git_paths unfollowed; /* settings that lead where bawn cannot follow: "core.hookspath in .git/config" */
    struct map indexes;   /* by path: the text of an index, read once */
    struct map known;     /* what `whole` and `flagged` have */
    size_t parts;         /* directories in `modules` and `worktrees` that were looked at */
    const char *
        unsearched; /* the first directory that is frozen as a whole because not all of it was looked at, or NULL */
    const char *outside; /* a git directory that the tree needs and that does not lie in it, or NULL */
    const char *problem; /* why the tree's `.git` leads nowhere, or NULL */
};

/* Is this directory (a path without links) the top of a work tree? Any `.git` says so, whole or not. */
bool git_is_root(struct fsview *fs, const char *directory);

/*
 * Is this what git takes for a repository, and not just a directory with some of its names in it? git does not ask whether
 * `objects` and `refs` are directories: a file that may be executed will do, or a link to anything.
 */
bool git_is_whole(struct fsview *fs, const char *directory);

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
 * What git on the host runs or obeys because of a git directory, besides the files in it: programs to which its hooks lead as links, and
 * what its configuration names. Each path is followed through all links (git/trail.h), and each link on the way counts as well.
 * All this may lie anywhere: the caller knows what a command may write.
 */

struct git_owner {
    const char *git_dir; /* whose configuration and hooks count */
    const char *base;    /* its work tree, or itself: where programs are run, and paths begin */
    const char *tree;    /* the work tree of the repository around it, or all that is looked at */
    const char *home;    /* what ~ stands for; NULL: nothing */
};

/* Adds to the repository what must be frozen or flagged because of this git directory: its configuration and its hooks. */
void git_follow_config(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo);

/* The same for its hooks alone. */
void git_follow_own_hooks(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo);

/* The same for what the user's own and the system's configuration say of every repository. */
void git_follow_user_config(struct fsview *fs, const struct git_owner *owners, size_t count,
                            const struct git_user *user, struct git_repo *repo);

/* The same for the text of one of its files. */
void git_follow_text(struct fsview *fs, const struct git_owner *owner, const char *config, const char *text,
                     size_t size, struct git_repo *repo);
