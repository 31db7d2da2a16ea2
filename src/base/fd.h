/* File descriptors owned by scope. Every descriptor in this program is opened O_CLOEXEC. */
#pragma once

#include <unistd.h>

static inline void fd_close_at_scope_end(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define auto_fd __attribute__((cleanup(fd_close_at_scope_end)))

/* Hands the descriptor to a new owner: the scope no longer closes it. */
static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}
