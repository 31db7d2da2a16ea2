/*
 * Watches the sandbox's mounts from outside. They change only when the host replaces an object that is pinned inside: the pin
 * falls with the old object, and the new one is pinned at once. hold/hold.c describes the states of a frozen path.
 */
#pragma once

#include "hold/hold.h"
#include "launch/launch.h"
#include "supervise/loop.h"
#include "supervise/standstill.h"

struct pins {
    struct hold *hold;
    const struct launch *launch;
    struct launched *launched;
    int mountinfo_fd, timer_fd;
    struct repin repin;
    bool is_wanted_again; /* something happened since the look that is under way began */
    bool is_down;         /* since `fell` */
    bool is_said;         /* that it is */
    unsigned tries;       /* looks that found it down */
    unsigned waits;       /* looks that found a file that is being changed */
    struct timespec fell;
    struct standstill *standstill; /* the guard's; while it is down */
    void (*pinned_again)(
        void *context); /* called after some were, before anything inside goes on; may be NULL */
    void *context;
};

/* Once mounting is over inside, and what process 1 hands over is there. */
int pins_begin(struct pins *pins, struct loop *loop, struct err *err) must_check;

/* Something was created or renamed at a frozen path: a mount moves with the object below it. */
int pins_check(struct pins *pins, struct err *err) must_check;

/* A frozen file whose pin once fell was written to: compares it while everything inside stands still, and looks at the pins before it goes on. */
int pins_compare(struct pins *pins, struct err *err) must_check;

/* A person wants settings that were taken out of a frozen file: adds them, in the same way. Fails, with *ret_why, where they cannot be added. */
int pins_add_settings(struct pins *pins, size_t addition, struct err *ret_why) must_check;

/* Does pins_check() also hide paths that were amended since? Not where the sandbox's mounts cannot be watched. */
bool pins_can_hide(const struct pins *pins);
void pins_close(struct pins *pins);
