/*
 * The supervisor's event loop. Within one round no source changes its place: a removed one is marked, and dropped between rounds.
 */
#include "supervise/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "kernel/process.h"

void loop_add(struct loop *loop, int fd, short events, loop_ready *ready, void *self)
{
    vec_push(&loop->sources, (struct loop_source){fd, events, ready, self});
}

void loop_remove(struct loop *loop, int fd)
{
    for (size_t i = 0; i < loop->sources.count; i++) {
        if (loop->sources.at[i].fd == fd)
            loop->sources.at[i].fd = -1;
    }
}

void loop_ring_at(struct loop *loop, int *timer_fd, int64_t second, loop_ready *ready, void *self)
{
    struct itimerspec time = {.it_value = {.tv_sec = second}};
    if (*timer_fd < 0 && second) {
        *timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (*timer_fd >= 0)
            loop_add(loop, *timer_fd, POLLIN, ready, self);
    }
    if (*timer_fd >= 0)
        timerfd_settime(*timer_fd, TFD_TIMER_ABSTIME, &time, NULL);
}

static void drop_removed(struct loop *loop)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop->sources.count; i++) {
        if (loop->sources.at[i].fd >= 0)
            loop->sources.at[kept++] = loop->sources.at[i];
    }
    loop->sources.count = kept;
}

/* Returns whether it is time to look, and the milliseconds until then. */
static bool is_time_to_look(struct loop_look *look, int *ret_milliseconds)
{
    enum { LOOK_MILLISECONDS = 500, NANOSECONDS = 1000000 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed = timespec_between(look->last, now) / NANOSECONDS;
    bool is_time = passed >= LOOK_MILLISECONDS;
    if (is_time)
        look->last = now;
    *ret_milliseconds = is_time ? LOOK_MILLISECONDS : LOOK_MILLISECONDS - (int)passed;
    return is_time;
}

static bool has_changed(const struct loop_look *look)
{
    return look->look && look->look(look->self);
}

/* As poll(), and looks meanwhile. Returns 0 with *ret_changed as soon as a look says so. A patience of -1 has no end. */
static int poll_looking(struct loop *loop, struct pollfd *ready, size_t count, int patience,
                        const struct loop_look **ret_changed)
{
    struct loop_look *look = &loop->look;
    *ret_changed = NULL;
    if (!look->look)
        return poll(ready, count, patience);
    for (;;) {
        int slice;
        bool is_time = is_time_to_look(look, &slice);
        if (is_time && has_changed(look))
            *ret_changed = look;
        else if (is_time && has_changed(&loop->along))
            *ret_changed = &loop->along;
        if (*ret_changed) {
            int got = poll(ready, count, 0);
            return got < 0 ? 0 : got; /* a signal must not make the caller forget the change */
        }
        bool is_last = patience >= 0 && patience <= slice;
        int got = poll(ready, count, is_last ? patience : slice);
        if (got != 0 || is_last)
            return got;
        patience -= patience < 0 ? 0 : slice;
    }
}

static int wait_for_any(struct loop *loop, struct pollfd *ready, size_t count,
                        const struct loop_look **ret_changed)
{
    int got = poll_looking(loop, ready, count, loop->patience, ret_changed);
    if (got != 0 || *ret_changed)
        return got;
    process_trim();
    loop->patience = -1;
    return 0;
}

static int run_once(struct loop *loop, struct pollfd *ready, struct err *err)
{
    size_t count = loop->sources.count;
    const struct loop_look *changed;
    for (size_t i = 0; i < count; i++)
        ready[i] = (struct pollfd){.fd = loop->sources.at[i].fd, .events = loop->sources.at[i].events};
    if (wait_for_any(loop, ready, count, &changed) < 0)
        return errno == EINTR ? 0 : err_sys(err, errno, "cannot wait for the command");
    int result = changed ? changed->changed(changed->self, 0, err) : 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct loop_source source = loop->sources.at[i];
        if (ready[i].revents && source.fd == ready[i].fd)
            result = source.ready(source.self, ready[i].revents, err);
    }
    return result;
}

int loop_run(struct loop *loop, struct err *err)
{
    enum { PATIENCE_MILLISECONDS = 3000 };
    struct pollfd *ready = NULL;
    int result = 0;
    loop->patience = PATIENCE_MILLISECONDS;
    while (result == 0) {
        drop_removed(loop);
        ready = must_realloc(ready, loop->sources.count + 1, sizeof(*ready));
        result = run_once(loop, ready, err);
    }
    free(ready);
    return result < 0 ? -1 : 0;
}

void loop_free(struct loop *loop)
{
    vec_free(&loop->sources);
}
