/*
 * Brings files of a workspace from one state to another: applying what a session wrote, undoing it, undoing that.
 *
 * Each file is replaced by a new one that is whole before it takes the old one's name, so that whatever ends this in the
 * middle leaves every file either old or new. Both states lie in bawn's own folder before the first file is touched:
 * calling settle_execute once more finishes what was begun.
 *
 * The workspace may change under it and may be hostile. Every open starts at the workspace's descriptor and follows no
 * link; what is not as it was expected at the moment of its replacement is left alone and reported.
 */
#pragma once

#include "base/progress.h"
#include "content/store.h"
#include "workspace/compare.h"

enum standing {
    STANDING_CONFLICT, /* it is neither as it was nor as it shall be */
    STANDING_READY,    /* it is as it was */
    STANDING_RESTATED, /* the same: an index in which git has only noted anew how the files look */
    STANDING_DONE,     /* it is as it shall be */
};

struct judged {
    struct change change;
    enum standing standing;
    struct entry now; /* path NULL: there is nothing */
};

typedef VEC(struct judged) judged_list;

struct kept {
    const char *path, *why;
};

struct settled {
    size_t done;
    VEC(struct kept) kept; /* left alone; their texts live in the arena of the call */
};

/*
 * `mark` is a word that no other call uses, for the names of files that are not whole yet. `again` says that an earlier
 * call with that mark was ended before its end.
 */
struct settlement {
    int top_fd;
    struct store *store;
    struct arena *arena;
    const struct tree *from, *to;
    const char *mark;
    bool again;
    struct progress *progress; /* may be NULL */
};

/* How the workspace stands to each change. Reads contents where times say that a file has changed. Needs no mark. */
int settle_judge(const struct settlement *settlement, judged_list *ret_judged, struct err *err) must_check;

int settle_execute(const struct settlement *settlement, struct settled *ret_settled, struct err *err)
    must_check;
