#include "kernel/poller.h"

#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    SOON = 50000 /* nanoseconds */,
    LONG = 500000,
    STAYS = 1000 /* rounds */
};

static int64_t now_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int poller_open(struct poller *poller)
{
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    return poller->fd < 0 ? -1 : 0;
}

int poller_add(struct poller *poller, struct watcher *watcher, int fd, uint32_t events, watcher_ready *ready)
{
    *watcher = (struct watcher){.is_open = true, .fd = fd, .events = events, .ready = ready};
    struct epoll_event event = {.events = events, .data.ptr = watcher};
    if (!events || epoll_ctl(poller->fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    poller_close(watcher);
    return -1;
}

void poller_change(struct poller *poller, struct watcher *watcher, uint32_t events)
{
    if (!watcher->is_open || watcher->events == events)
        return;
    /* A watcher without events is removed: epoll would report EPOLLERR and EPOLLHUP all the same. */
    int change = !events ? EPOLL_CTL_DEL : !watcher->events ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    watcher->events = events;
    struct epoll_event event = {.events = events, .data.ptr = watcher};
    epoll_ctl(poller->fd, change, watcher->fd, &event);
}

void poller_close(struct watcher *watcher)
{
    if (watcher->is_open)
        close(watcher->fd);
    watcher->is_open = false;
}

void poller_retire(struct poller *poller, void *memory)
{
    vec_push(&poller->retired, memory);
}

/*
 * Waking up takes as long as moving a small message. So while events follow each other within microseconds, this polls instead of
 * sleeping. With few processors the peer may need this one: sched_yield lets it run. But a busy process would keep the processor
 * for milliseconds; after that there is no sched_yield for STAYS rounds.
 */
static int wait_awake(struct poller *poller, struct epoll_event *ready, int most)
{
    int64_t now = now_nanoseconds(), until = now + SOON;
    bool stays = poller->stays > 0;
    int count;
    poller->stays -= stays;
    while ((count = epoll_wait(poller->fd, ready, most, 0)) == 0 && now < until) {
        int64_t before = now;
        if (!stays)
            sched_yield();
        now = now_nanoseconds();
        if (now - before > LONG)
            poller->stays = STAYS;
    }
    return count;
}

static int wait_asleep(struct poller *poller, struct epoll_event *ready, int most, int milliseconds)
{
    int64_t began = now_nanoseconds();
    int count = epoll_wait(poller->fd, ready, most, milliseconds);
    poller->is_lively = now_nanoseconds() - began < SOON;
    return count;
}

void poller_run_once(struct poller *poller, int milliseconds)
{
    enum { MOST_AT_ONCE = 256 };
    struct epoll_event ready[MOST_AT_ONCE];
    /* After many bytes more will come: let the peers run, so that the next round moves more at once. */
    if (poller->moves_much)
        sched_yield();
    bool is_awake = poller->is_lively && !poller->moves_much && milliseconds != 0;
    poller->moves_much = false;
    poller->ready = is_awake ? wait_awake(poller, ready, MOST_AT_ONCE) : 0;
    if (poller->ready == 0)
        poller->ready = wait_asleep(poller, ready, MOST_AT_ONCE, milliseconds);
    for (int i = 0; i < poller->ready; i++) {
        struct watcher *watcher = ready[i].data.ptr;
        if (watcher->is_open) /* another handler of this round may have closed it */
            watcher->ready(watcher, ready[i].events);
    }
    for (size_t i = 0; i < poller->retired.count; i++)
        free(poller->retired.at[i]);
    poller->retired.count = 0;
}

int poller_move(struct poller *poller, struct watcher *from, struct watcher *to, uint32_t events,
                watcher_ready *ready)
{
    *to = (struct watcher){.is_open = true, .fd = from->fd, .events = events, .ready = ready};
    from->is_open = false;
    struct epoll_event event = {.events = events, .data.ptr = to};
    if (epoll_ctl(poller->fd, from->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, to->fd, &event) == 0)
        return 0;
    poller_close(to);
    return -1;
}
