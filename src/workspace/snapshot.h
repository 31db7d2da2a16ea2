/*
 * A snapshot: what a workspace holds, with its contents in the store. The last one of each workspace is kept as the
 * cache for the next, so that a file which did not change is never read twice.
 *
 *   DIRECTORY/trees/HASH   the last tree of the workspace whose path has that hash
 */
#pragma once

#include "content/store.h"
#include "workspace/scan.h"

struct snapshot_request {
    const char *directory; /* of the store, absolute */
    const char *workspace; /* absolute, without links */
    const struct skips *skips;
    uint64_t most_bytes;        /* that may be added; what is too large is left out, largest first */
    uint64_t most_milliseconds; /* 0: as long as it takes */
    size_t most_entries;        /* 0: two millions */
    const struct tree *start;   /* of this session, where it has begun already; NULL: it begins */
    int folder_fd;              /* where the tree is kept for the session, or -1 … */
    const char *name;           /* … and under which name */
    struct progress *progress;  /* may be NULL */
};

/*
 * Fails with errnum ETIME or E2BIG where the workspace is too large for the budget. With a start, what that has is then looked
 * at alone, and the tree says so.
 */
int snapshot_take(const struct snapshot_request *request, struct tree *ret_tree, struct err *err) must_check;

/* Contents and attributes of the fresh entries of a walk that was made at that request. Nothing counts before store_flush. */
int snapshot_contents(struct store *store, int top_fd, const struct scan_request *request, struct scan *scan,
                      uint64_t most_bytes, struct err *err) must_check;

/* Content and attributes of one file. */
int snapshot_one(struct store *store, int top_fd, struct arena *arena, struct entry *entry, bool *was_denied,
                 struct err *err) must_check;

/* The folder of the last trees, made where it is missing, and the name of a workspace's in it. */
enum { SNAPSHOT_NAME_SIZE = 2 * BLAKE2B_SIZE + 1 };
int snapshot_open_trees(const struct store *store, struct err *err) must_check;
void snapshot_name(const char *workspace, char ret_name[SNAPSHOT_NAME_SIZE]);
