#include "supervise/guard.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"

enum { BEGIN_MILLISECONDS = 50 };

/*
 * A kernel that does not answer may have others. Where another run has just looked, and found the same sockets as this one did, this one asks
 * nobody.
 */
static bool has_other_sockets(void *self)
{
    struct guard *guard = self;
    uint64_t all;
    int64_t began = now_milliseconds();
    struct socket_digest digest;
    if (shared_look_read(&guard->shared_look, &all) && all == guard->sockets.all)
        return false;
    if (!unix_sockets_digest(guard->open_trees, &digest))
        return true;
    shared_look_write(&guard->shared_look, began, digest.all);
    bool are_others = digest.in_trees != guard->sockets.in_trees;
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

static int a_second_has_passed(void *self, short events not_used, struct err *err)
{
    struct guard *guard = self;
    loop_remove(guard->loop, guard->timer_fd);
    return watch_names(&guard->watch, err);
}

static int begin_watch(struct guard *guard, struct err *err)
{
    const struct itimerspec later = {.it_value = {.tv_sec = 1}};
    if (watch_begin(&guard->watch, guard->loop, err) < 0)
        return -1;
    if (timerfd_settime(guard->timer_fd, 0, &later, NULL) < 0)
        return watch_names(&guard->watch, err);
    loop_add(guard->loop, guard->timer_fd, POLLIN, a_second_has_passed, guard);
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
    /* Without namespaces there are no mounts that could fall, and no socket of the host can be reached. */
    if (guard->pins.launch->operations->on == ON_LANDLOCK)
        return begin_watch(guard, err);
    if (pins_begin(&guard->pins, guard->loop, err) < 0)
        return -1;
    if (hold_can_tell_opened(&guard->hold)) {
        hold_list_open_trees(&guard->hold, guard->open_trees, sizeof(guard->open_trees));
        shared_look_open(&guard->shared_look, guard->hold.session->running_fd);
        guard->loop->look = (struct loop_look){has_other_sockets, hide_sockets, guard};
    }
    return begin_watch(guard, err);
}

int guard_begin(struct guard *guard, const struct launch *launch, struct launched *launched,
                struct loop *loop, struct err *err)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = BEGIN_MILLISECONDS * 1000000L},
                              .it_interval = {.tv_nsec = BEGIN_MILLISECONDS * 1000000L}};
    guard->loop = loop;
    clock_gettime(CLOCK_REALTIME_COARSE, &guard->began_at);
    guard->standstill = (struct standstill){.launched = launched};
    guard->shared_look = SHARED_LOOK_NONE;
    guard->pins = (struct pins){&guard->hold,
                                launch,
                                launched,
                                .mountinfo_fd = -1,
                                .timer_fd = -1,
                                .repin = REPIN_NONE,
                                .standstill = &guard->standstill};
    guard->watch = (struct watch){
        &guard->hold,  &guard->pins, &guard->tripwires, .inotify_fd = -1, .notices = NOTICES_NONE,
        .timer_fd = -1};
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

int guard_give(struct guard *guard, const struct given_tree *given, const given_places *places,
               struct err *err)
{
    hold_give(&guard->hold, given);
    vec_each (const struct given_place, place, places) {
        if (place->is_hidden)
            hold_give_hidden(&guard->hold, place->path);
        else
            hold_give_kept(&guard->hold, &(struct kept_place){place->path, place->device, place->inode});
    }
    hold_list_open_trees(&guard->hold, guard->open_trees, sizeof(guard->open_trees));
    guard->sockets.all = 0; /* those of the tree were there before: they are looked for now */
    return pins_check(&guard->pins, err);
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
    shared_look_close(&guard->shared_look);
    hold_end(&guard->hold);
}
