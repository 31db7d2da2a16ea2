#include "supervise/guard.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "kernel/unix_sockets.h"

enum { BEGIN_MILLISECONDS = 50 };

/* Is called while the heap is on the disk: the guard lies on the stack. A kernel that does not answer may have others. */
static bool has_other_sockets(void *self)
{
    struct guard *guard = self;
    uint64_t digest;
    if (!unix_sockets_digest(guard->open_trees, &digest))
        return true;
    bool are_others = digest != guard->sockets;
    guard->sockets = digest;
    return are_others;
}

static int hide_sockets(void *self, short events not_used, struct err *err)
{
    struct guard *guard = self;
    if (pins_can_hide(&guard->pins))
        return hold_hide_opened(&guard->hold, guard->began_at) ? pins_check(&guard->pins, err) : 0;
    hold_name_opened(&guard->hold, guard->began_at);
    return 0;
}

static int time_has_come(void *self, short events not_used, struct err *err)
{
    struct guard *guard = self;
    uint64_t expirations;
    if (read(guard->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    int taken = launch_take_handed(guard->pins.launched, false, err);
    if (taken <= 0)
        return taken;
    loop_remove(guard->loop, guard->timer_fd);
    if (pins_begin(&guard->pins, guard->loop, err) < 0)
        return -1;
    if (hold_can_tell_opened(&guard->hold)) {
        hold_list_open_trees(&guard->hold, guard->open_trees, sizeof(guard->open_trees));
        guard->loop->look = (struct loop_look){has_other_sockets, hide_sockets, guard};
    }
    return watch_begin(&guard->watch, guard->loop, err);
}

int guard_begin(struct guard *guard, const struct launch *launch, struct launched *launched,
                struct loop *loop, struct err *err)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = BEGIN_MILLISECONDS * 1000000L},
                              .it_interval = {.tv_nsec = BEGIN_MILLISECONDS * 1000000L}};
    guard->loop = loop;
    clock_gettime(CLOCK_REALTIME_COARSE, &guard->began_at);
    guard->standstill = (struct standstill){.launched = launched};
    guard->pins = (struct pins){&guard->hold,
                                launch,
                                launched,
                                .mountinfo_fd = -1,
                                .timer_fd = -1,
                                .repin = REPIN_NONE,
                                .standstill = &guard->standstill};
    guard->watch =
        (struct watch){&guard->hold, &guard->pins, &guard->tripwires, .inotify_fd = -1, .timer_fd = -1};
    guard->tripwires = TRIPWIRES_NONE;
    guard->tripwires.launched = launched;
    guard->tripwires.command = launch->command;
    guard->tripwires.execs = guard->execs;
    guard->tripwires.arena = guard->hold.arena;
    guard->tripwires.journal = &guard->hold.session->journal;
    tripwires_set(&guard->tripwires, launch->operations);
    guard->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (guard->timer_fd < 0 || timerfd_settime(guard->timer_fd, 0, &soon, NULL) < 0)
        return err_sys(err, errno, "cannot watch the frozen paths");
    loop_add(loop, guard->timer_fd, POLLIN, time_has_come, guard);
    return hold_begin(&guard->hold, err);
}

/* Long enough for a program outside to have opened something? Most commands are over sooner, and need not pay for the question. */
static bool has_lasted(const struct guard *guard)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    int64_t nanoseconds = timespec_between(guard->began_at, now);
    return nanoseconds < 0 ||
           nanoseconds >= BEGIN_MILLISECONDS * INT64_C(1000000); /* the clock may have been set back */
}

void guard_end(struct guard *guard)
{
    if (!guard->pins.launched)
        return; /* the run was refused before there was anything to guard */
    if (has_lasted(guard) && hold_can_tell_opened(&guard->hold))
        hold_name_opened(&guard->hold, guard->began_at);
    pins_close(&guard->pins);
    vec_free(&guard->standstill.stopped);
    watch_close(&guard->watch);
    fd_close(guard->timer_fd);
    hold_end(&guard->hold);
}
