/*
 * A control group (version 2) for one sandbox, where the kernel lets the caller make one: below or beside its own. It is
 * named after the process that made it, so that whoever comes later can tell what a killed one left, and is removed when
 * nothing is in it any more. May write below /sys/fs/cgroup, and nowhere else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* Where one can be made. Zeroed: nowhere. */
struct cgroup_place {
    char path[4096];
    bool holds_memory, holds_pids; /* what the controllers there can limit */
    bool must_move; /* the caller has to step aside first: no group has both processes and groups */
};

/* Looks, and changes nothing. Costs two or three opened files, one where there are no control groups. */
struct cgroup_place cgroup_find(void);

struct cgroup {
    int parent_fd, fd; /* `fd` is what process_fork takes; both are -1 where there is none */
    char name[32];
    bool holds_memory, holds_pids;
};

#define CGROUP_NONE ((struct cgroup){.parent_fd = -1, .fd = -1})

/* Removes what dead makers left at the place, and makes one. */
int cgroup_make(const struct cgroup_place *place, struct cgroup *ret_cgroup, struct err *err) must_check;

/* What may be used in it, of what its controllers hold. UINT64_MAX: no limit. */
int cgroup_limit(const struct cgroup *cgroup, uint64_t memory, uint64_t pids, struct err *err) must_check;

/* How often its limits were met. Zero where there is none. */
struct cgroup_hits {
    uint64_t killed, forks_refused;
};
struct cgroup_hits cgroup_read_hits(const struct cgroup *cgroup);

/* Stops all that is in it, or lets it go on. Returns whether that is done; false where there is no group. */
bool cgroup_freeze(const struct cgroup *cgroup, bool is_frozen);

/* Once nothing runs in it. What cannot be removed now is at the next start. */
void cgroup_remove(struct cgroup *cgroup);
