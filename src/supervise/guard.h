/*
 * Protects frozen paths and decoys while a command runs: stubs, contents, pins that fall, the watch on names, the tripwires.
 *
 * Pins and names are watched only from a moment after the start. Until the walls are up mounts come and go, most commands end
 * soon, and ending a watch costs the kernel milliseconds. Earlier changes are found then, or at the end.
 *
 * The host's sockets are no file that could be watched: twice a second the kernel is asked whether there are others (hold/opened.c).
 */
#pragma once

#include "supervise/execs.h"
#include "supervise/pins.h"
#include "supervise/watch.h"

struct guard {
    struct hold hold;
    struct standstill standstill;
    struct pins pins;
    struct watch watch;
    struct tripwires tripwires;
    const struct execs *execs; /* the caller's, for the tripwires */
    struct loop *loop;
    int timer_fd;
    struct timespec began_at; /* as the kernel dates files */
    uint64_t sockets;         /* the digest of the host's in these trees, when they were looked at last */
    char open_trees[OPEN_TREES_SIZE];
};

/* Before the launch; `launched` is filled in afterwards. The guard must not move until its end. */
int guard_begin(struct guard *guard, const struct launch *launch, struct launched *launched,
                struct loop *loop, struct err *err) must_check;
void guard_end(struct guard *guard);
