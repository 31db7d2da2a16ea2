/*
 * A control group (version 2) for one sandbox, below or beside the caller's group, if the kernel allows it. Its name is the
 * number of the process that made it, so that a later bawn can find the groups of killed ones. It is removed when it is empty.
 * Writes only below /sys/fs/cgroup.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* Where a group can be made. Zeroed: nowhere. */
struct cgroup_place {
    char path[4096];
    bool holds_memory,
        holds_pids; /* the controllers can limit these; without either, the group can be frozen */
    bool must_move; /* the caller has to move first: a group has processes or groups, not both */
};

/* Changes nothing. Opens two or three files; one if there are no control groups. */
struct cgroup_place cgroup_find(void);

struct cgroup {
    int parent_fd, fd; /* process_fork takes `fd`; both are -1 if there is no group */
    char name[32];
    bool holds_memory, holds_pids;
};

#define CGROUP_NONE ((struct cgroup){.parent_fd = -1, .fd = -1})

/* Removes the groups of dead makers at the place, and makes a group. */
int cgroup_make(const struct cgroup_place *place, struct cgroup *ret_cgroup, struct err *err) must_check;

/* Sets the limits that its controllers support. UINT64_MAX: no limit. */
int cgroup_limit(const struct cgroup *cgroup, uint64_t memory, uint64_t pids, struct err *err) must_check;

/* How often the limits were reached. Zero if there is no group. */
struct cgroup_hits {
    uint64_t killed, forks_refused;
};
struct cgroup_hits cgroup_read_hits(const struct cgroup *cgroup);

/*
 * Stops all that is in it, or lets it go on. Returns whether that was ordered; false where there is no group. The last process stands
 * still a moment later, and then the group is frozen.
 */
bool cgroup_freeze(const struct cgroup *cgroup, bool is_frozen);
bool cgroup_is_frozen(const struct cgroup *cgroup);

/* Removes an empty group. If that fails, the next start removes it. */
void cgroup_remove(struct cgroup *cgroup);
