#include "egress/poller.h"

#include <sys/epoll.h>
#include <unistd.h>

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
    /* Who waits for nothing is taken out: the kernel reports a broken connection to whoever is in. */
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

void poller_run_once(struct poller *poller, int milliseconds)
{
    enum { MOST_AT_ONCE = 256 };
    struct epoll_event ready[MOST_AT_ONCE];
    int count = epoll_wait(poller->fd, ready, MOST_AT_ONCE, milliseconds);
    for (int i = 0; i < count; i++) {
        struct watcher *watcher = ready[i].data.ptr;
        if (watcher->is_open) /* another one of this round may have closed it */
            watcher->ready(watcher, ready[i].events);
    }
    for (size_t i = 0; i < poller->retired.count; i++)
        free(poller->retired.at[i]);
    poller->retired.count = 0;
}

void poller_move(struct poller *poller, struct watcher *from, struct watcher *to, uint32_t events,
                 watcher_ready *ready)
{
    *to = (struct watcher){.is_open = true, .fd = from->fd, .events = events, .ready = ready};
    from->is_open = false;
    struct epoll_event event = {.events = events, .data.ptr = to};
    epoll_ctl(poller->fd, EPOLL_CTL_MOD, to->fd, &event);
}
