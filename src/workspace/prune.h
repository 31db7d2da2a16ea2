/*
 * Lets old snapshots go: sessions that are settled, and what workspaces held when they were last looked at (which only saves
 * reading their files again); then the contents that nothing needs any more. What waits, runs or is being settled stays with
 * all that it needs, whatever its age and size.
 *
 * May be called while others work. Whatever ends it in the middle leaves at worst contents that nothing names; the next
 * call removes them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/vec.h"

struct prune_request {
    const char *store; /* the folder of contents, absolute */
    int sessions_fd;
    int64_t oldest_seconds;    /* what ended before that goes … */
    uint64_t most_bytes;       /* … and then the oldest, until contents take no more than that */
    struct progress *progress; /* may be NULL */
    bool is_thorough;          /* free all that can be; otherwise packs with little waste stay as they are */
};

struct pruned {
    VEC(const char *) sessions; /* that were forgotten, the oldest first; names in the arena */
    uint64_t bytes;             /* freed */
    uint64_t left;              /* bytes of contents that are still needed */
};

/* Fails with EBUSY where a snapshot is being taken at this moment. */
int prune(const struct prune_request *request, struct arena *arena, struct pruned *ret_pruned,
          struct err *err) must_check;
void pruned_free(struct pruned *pruned);
