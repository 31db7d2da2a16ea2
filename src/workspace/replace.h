/*
 * Brings files of a workspace from one state to another: applying what a session wrote, undoing it, undoing that.
 *
 * Each file is replaced by a new one that is whole before it takes the old one's name, so that whatever ends this in the
 * middle leaves every file either old or new. Both states lie in bawn's own folder before the first file is touched:
 * calling replace_files once more finishes what was begun.
 *
 * The workspace may change under it and may be hostile. Every open starts at the workspace's descriptor and follows no
 * link; what is not as it was expected at the moment of its replacement is left alone and reported.
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
    VEC(struct left_alone) left_alone; /* left alone; their texts live in the arena of the call */
};

/*
 * `mark` is a word that no other call uses, for the names of files that are not whole yet. `again` says that an earlier
 * call with that mark was ended before its end.
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
