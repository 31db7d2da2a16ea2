/*
 * Watches the sandbox's mounts from outside. The one thing that can change them is the host replacing an object that is
 * pinned inside: the pin falls with the old object, and the new one is pinned at once.
 */
#pragma once

#include "hold/hold.h"
#include "launch/launch.h"
#include "supervise/loop.h"

struct pins {
    struct hold *hold;
    const struct launch *launch;
    struct launched *launched;
    int mountinfo_fd, timer_fd;
    unsigned retries;
    enum pin_state *states;
};

/* Once mounting is over inside. */
void pins_begin(struct pins *pins, struct loop *loop);

/* Somebody put something where a frozen path is, or renamed it: a mount goes along with what it lies on. */
void pins_check(struct pins *pins);
void pins_close(struct pins *pins);
