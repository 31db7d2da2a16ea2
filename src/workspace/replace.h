/*
 * Carries out the changes from one tree to another in a workspace: an apply, an undo, or the undo of an undo.
 *
 * Each file is replaced by a new file that is complete before it takes the old one's name. So every file is old or
 * new, whenever this is interrupted. Both trees are saved in the session's folder before the first file is touched.
 * Calling replace_files again, with `again`, finishes what was begun.
 *
 * The workspace may change meanwhile, and it may be hostile. Every open starts at the workspace's descriptor and
 * follows no symlink. A file that is not as expected at the moment of its replacement is left alone and reported.
 */
#pragma once

#include "base/progress.h"
#include "content/store.h"
#include "workspace/compare.h"

struct left_alone {
    const char *path, *why;
};

struct replaced {
    size_t done;
    VEC(struct left_alone) left_alone; /* files that were not replaced; their strings are in the arena */
};

/*
 * `mark` is part of the names of temporary files, and no other call uses it. `again`: an earlier call with this mark
 * was interrupted.
 */
struct replacement {
    int top_fd;
    struct store *store;
    struct arena *arena;
    const struct tree *from, *to;
    const char *mark;
    bool again;
    struct progress *progress; /* may be NULL */
};

int replace_files(const struct replacement *replacement, struct replaced *ret_replaced, struct err *err)
    must_check;
