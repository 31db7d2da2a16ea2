/*
 * All that stands by for frozen paths and decoys while a command runs, as one: stubs and contents, pins that fall, the
 * watch, the tripwires.
 *
 * Until the walls are up mounts come and go, and most commands are over soon, while the end of a watch costs the kernel
 * milliseconds: so pins and names are watched from a moment after the start. What happened before is seen then, or at
 * the end.
 */
#pragma once

#include "supervise/execs.h"
#include "supervise/pins.h"
#include "supervise/watch.h"

struct guard {
    struct hold hold;
    struct pins pins;
    struct watch watch;
    struct tripwires tripwires;
    const struct execs
        *execs; /* the caller's; of them the guard only wants to know whether the command began */
    struct loop *loop;
    int timer_fd;
    struct timespec began_at; /* as the kernel dates files */
};

/* Before the launch; `launched` is filled in afterwards. The guard must stay where it is until its end. */
int guard_begin(struct guard *guard, const struct launch *launch, struct launched *launched,
                struct loop *loop, struct err *err) must_check;
void guard_end(struct guard *guard);
