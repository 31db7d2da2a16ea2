#include "supervise/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

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

/* Removed sources are dropped between two rounds only: within one, the places of the others must not move. */
static void drop_removed(struct loop *loop)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop->sources.count; i++) {
        if (loop->sources.at[i].fd >= 0)
            loop->sources.at[kept++] = loop->sources.at[i];
    }
    loop->sources.count = kept;
}

static int run_once(struct loop *loop, struct pollfd *ready, struct err *err)
{
    size_t count = loop->sources.count;
    for (size_t i = 0; i < count; i++)
        ready[i] = (struct pollfd){.fd = loop->sources.at[i].fd, .events = loop->sources.at[i].events};
    if (poll(ready, count, -1) < 0)
        return errno == EINTR ? 0 : err_sys(err, errno, "cannot wait for the command");
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct loop_source source = loop->sources.at[i];
        if (ready[i].revents && source.fd == ready[i].fd)
            result = source.ready(source.self, ready[i].revents, err);
    }
    return result;
}

int loop_run(struct loop *loop, struct err *err)
{
    struct pollfd *ready = NULL;
    int result = 0;
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
