#include "supervise/loop.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/rest.h"

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

/* All that bawn remembers is laid aside until something happens: here only the stack is there to be used. */
static bool wait_at_rest(const struct loop *loop, struct pollfd *ready, size_t count)
{
    enum { MOST = 64 };
    struct pollfd watched[MOST];
    struct rest rest;
    if (!loop->heap || count > MOST)
        return false;
    memcpy(watched, ready, count * sizeof(*ready));
    if (!rest_begin(&rest, loop->rest_folder_fd, loop->heap, sbrk(0)))
        return false;
    rest_let_stack_go();
    while (poll(watched, count, -1) < 0 && errno == EINTR) {
    }
    rest_end(&rest);
    memcpy(ready, watched, count * sizeof(*ready));
    return true;
}

/*
 * bawn mostly waits, and there may be hundreds of it. It waits twice as long each time before it rests, so that who is woken
 * every few seconds soon stays awake; and where it once could not, it does not try again.
 */
static int wait_for_any(struct loop *loop, struct pollfd *ready, size_t count)
{
    enum { LONGEST_PATIENCE = 1000 * 1000 };
    int got = poll(ready, count, loop->patience);
    if (got != 0)
        return got;
    malloc_trim(0);
    bool may_again = wait_at_rest(loop, ready, count) && loop->patience < LONGEST_PATIENCE;
    loop->patience = may_again ? 2 * loop->patience : -1;
    return 0;
}

static int run_once(struct loop *loop, struct pollfd *ready, struct err *err)
{
    size_t count = loop->sources.count;
    for (size_t i = 0; i < count; i++)
        ready[i] = (struct pollfd){.fd = loop->sources.at[i].fd, .events = loop->sources.at[i].events};
    if (wait_for_any(loop, ready, count) < 0)
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
    loop->patience = REST_AFTER_MILLISECONDS;
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
