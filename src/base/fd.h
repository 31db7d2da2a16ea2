/* File descriptors and directory streams owned by scope. Every descriptor in this program is opened O_CLOEXEC. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static inline void fd_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

static inline void fd_close_at_scope_end(const int *fd)
{
    fd_close(*fd);
}
#define auto_fd __attribute__((cleanup(fd_close_at_scope_end)))

/* Hands the descriptor to a new owner: the scope no longer closes it. */
static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* A path of /proc that leads to what a descriptor of this process has open, for calls that take paths alone. */
struct fd_path {
    char text[32];
};

static inline struct fd_path fd_path(int fd)
{
    struct fd_path path;
    snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
    return path;
}

static inline void directory_close_at_scope_end(DIR *const *directory)
{
    int before = errno; /* a function that returns with errno set keeps it */
    if (*directory)
        closedir(*directory);
    errno = before;
}
#define auto_dir __attribute__((cleanup(directory_close_at_scope_end)))
