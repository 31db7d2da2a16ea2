#include "egress/listeners.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "kernel/ports.h"

int listeners_add(struct listeners *listeners, int fd, uint16_t published)
{
    struct listener *listener = must_realloc(NULL, 1, sizeof(*listener));
    *listener = (struct listener){.all = listeners, .next = listeners->first, .published = published};
    port_prepare(fd);
    if (poller_add(listeners->poller, &listener->watcher, fd, EPOLLIN, listeners->ready) < 0) {
        free(listener);
        return -1;
    }
    listeners->first = listener;
    listeners->count++;
    return 0;
}

void listener_pause(struct listener *listener)
{
    listener->all->are_paused = true;
    poller_change(listener->all->poller, &listener->watcher, 0);
}

void listeners_pause_names(struct listeners *listeners)
{
    listeners->are_paused = true;
    poller_change(listeners->poller, listeners->name_streams, 0);
}

void listeners_resume(struct listeners *listeners)
{
    if (!listeners->are_paused)
        return;
    listeners->are_paused = false;
    for (struct listener *at = listeners->first; at; at = at->next)
        poller_change(listeners->poller, &at->watcher, EPOLLIN);
    poller_change(listeners->poller, listeners->name_streams, EPOLLIN);
}

bool listeners_lack_room(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOBUFS || errnum == ENOMEM;
}
