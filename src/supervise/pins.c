#include "supervise/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { RETRY_MILLISECONDS = 20, MOST_RETRIES = 50 };

static void retry_soon(const struct pins *pins)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = RETRY_MILLISECONDS * 1000000L}};
    timerfd_settime(pins->timer_fd, 0, &soon, NULL);
}

/* Where something is gone for good, what cannot be held by a stub is said and left: nothing is there to be changed. */
static bool take_stock(struct pins *pins)
{
    bool is_whole = true;
    bool is_last = pins->retries + 1 >= MOST_RETRIES;
    for (size_t i = 0; i < pins->hold->plan->operations.count; i++) {
        const char *path = pins->hold->plan->operations.at[i].path;
        if (pins->states[i] == PIN_AGAIN)
            hold_fell(pins->hold, i);
        if (pins->states[i] != PIN_MISSING && pins->states[i] != PIN_LOST)
            continue;
        is_whole = false;
        if (pins->states[i] == PIN_MISSING && pins->retries > 0)
            hold_stand_in(pins->hold, i);
        if (is_last)
            hold_note(pins->hold, "pin-lost", path,
                      arena_printf(pins->hold->arena,
                                   "%s was replaced or removed on the host while the command ran, and could "
                                   "not be frozen again",
                                   path));
    }
    return is_whole || is_last;
}

static void pin_again(struct pins *pins)
{
    struct err err = {0};
    bool is_done = launch_repin(pins->launch, pins->launched, pins->states, &err) == 0 && take_stock(pins);
    pins->retries = is_done ? 0 : pins->retries + 1;
    if (!is_done && pins->retries < MOST_RETRIES)
        retry_soon(pins);
}

void pins_check(struct pins *pins)
{
    if (pins->mountinfo_fd >= 0)
        pin_again(pins);
}

static int mounts_changed(void *self, short events, struct err *err)
{
    (void)err;
    struct pins *pins = self;
    if (events & (POLLPRI | POLLERR))
        pin_again(pins);
    return 0;
}

static int time_is_over(void *self, short events, struct err *err)
{
    (void)events;
    (void)err;
    struct pins *pins = self;
    uint64_t expirations;
    if (read(pins->timer_fd, &expirations, sizeof(expirations)) > 0)
        pin_again(pins);
    return 0;
}

void pins_begin(struct pins *pins, struct loop *loop)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", pins->launched->pid);
    pins->states = arena_alloc(pins->hold->arena, pins->hold->plan->operations.count * sizeof(*pins->states));
    pins->mountinfo_fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_over =
        pins->mountinfo_fd < 0 && errno != EMFILE && errno != ENFILE && errno != EACCES && errno != EPERM;
    if (is_over)
        return; /* the command has ended this very moment, and process 1 with it */
    pins->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (pins->mountinfo_fd < 0 || pins->timer_fd < 0) {
        hold_note(
            pins->hold, "pins-unwatched", path,
            "frozen paths that the host replaces during this run are noticed at its end only: the sandbox's "
            "mounts cannot be watched");
        return;
    }
    loop_add(loop, pins->mountinfo_fd, POLLPRI, mounts_changed, pins);
    loop_add(loop, pins->timer_fd, POLLIN, time_is_over, pins);
    /* What fell before is told by the objects themselves: they are no longer those that were looked at. */
    if (hold_was_replaced(pins->hold))
        pin_again(pins);
}

void pins_close(struct pins *pins)
{
    if (!pins->launched)
        return; /* they were never opened */
    /* At once: whoever holds the mount namespace last has to wait for the kernel to take it down. */
    launch_forget_namespaces(pins->launched);
    if (pins->mountinfo_fd >= 0)
        close(pins->mountinfo_fd);
    if (pins->timer_fd >= 0)
        close(pins->timer_fd);
}
