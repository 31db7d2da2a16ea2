/*
 * Watches the sandbox's mounts from outside. They change only when the host replaces an object that is pinned inside: the pin
 * falls with the old object, and the new one is pinned at once. hold/hold.c describes the states of a frozen path.
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

/* Something was created or renamed at a frozen path: a mount moves with the object below it. */
void pins_check(struct pins *pins);
void pins_close(struct pins *pins);
