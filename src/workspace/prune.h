/*
 * Removes old snapshots: sessions that are over, and the last trees of workspaces, which only save reading files
 * again. Then removes the contents that no tree needs. A session that waits, runs or is being carried out stays with
 * all its contents, whatever its age and size.
 *
 * Other processes may work meanwhile. If this is interrupted, it leaves at worst contents that nothing names; the
 * next call removes them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/vec.h"
#include "workspace/record.h"

struct prune_request {
    const char *store; /* directory of the content store, absolute */
    int sessions_fd;
    int64_t oldest_seconds;    /* what ended before that is removed … */
    uint64_t most_bytes;       /* … and then the oldest, until the contents take no more than that */
    struct progress *progress; /* may be NULL */
    bool is_thorough;          /* rewrite every pack with waste; otherwise a little waste stays */
};

struct pruned {
    name_list sessions; /* that were forgotten, oldest first; names in the arena */
    uint64_t bytes;     /* freed */
    uint64_t left;      /* bytes of contents that are still needed */
};

/* Fails with EBUSY while a snapshot is being taken. */
int prune(const struct prune_request *request, struct arena *arena, struct pruned *ret_pruned,
          struct err *err) must_check;
void pruned_free(struct pruned *pruned);
