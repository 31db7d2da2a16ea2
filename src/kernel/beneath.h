/*
 * Files of a tree that others can write: every path starts at the descriptor of its top, and no link is followed on the
 * way, not even at the end, so that what is opened lies beneath that top whatever is moved or linked meanwhile.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As openat(), O_CLOEXEC and O_NOFOLLOW always. An empty path is the top itself. Returns -1 with errno. */
int open_beneath(int top_fd, const char *path, int flags, mode_t mode);

/* Opens the directory of this name for reading, without following a link there. Returns -1 with errno. */
static inline int open_directory_at(int parent_fd, const char *name)
{
    return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The directory that holds the path, and the path's last name. Returns -1 with errno. */
int open_parent_beneath(int top_fd, const char *path, const char **ret_name);

/* The same for absolute paths, from the process's own root. */
int open_absolute(const char *path, int flags);
int open_parent_absolute(const char *path);

/* Writes all bytes, however many calls that takes. Returns -1 with errno. */
int write_whole(int fd, const void *bytes, size_t size);

struct new_file {
    const char *temporary; /* its name until it is complete; a file that a crash left there is removed */
    const void *bytes;
    size_t size;
    mode_t mode;
    bool waits_for_disk; /* the bytes are on the disk before the file gets its name */
};

/* Writes a new file and gives it `name`, so that a crash leaves the old file or the new one. Returns -1 with errno. */
int replace_file(int folder_fd, const char *name, const struct new_file *file);

/*
 * Does the modification time of a file change when its bytes change through a mapping? Not in a tmpfs or ramfs: their pages
 * are mapped for writing as soon as they are read, and the kernel never sees the write.
 */
bool times_tell(int fd);
