/*
 * Opens files of a tree that others can write. Paths start at a descriptor of the tree's top, and no symlink is followed, not
 * even at the end. So the opened file lies in the tree, whatever is moved or linked meanwhile.
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

/* The same for absolute paths, from the process's root. */
int open_absolute(const char *path, int flags);
int open_parent_absolute(const char *path);

/* Writes all bytes, however many calls that takes. Returns -1 with errno. */
int write_whole(int fd, const void *bytes, size_t size);

struct new_file {
    const char *temporary; /* its name until it is complete; a file left there by a crash is removed */
    const void *bytes;
    size_t size;
    mode_t mode;
    bool waits_for_disk; /* the bytes are on the disk before the file gets its name */
};

/* Writes a new file and gives it `name`, so that a crash leaves the old file or the new one. Returns -1 with errno. */
int replace_file(int folder_fd, const char *name, const struct new_file *file);

/*
 * Does a file's modification time change when it is written through a mapping? Not on tmpfs and ramfs: their pages are mapped
 * writable when they are read, so the kernel does not see the write.
 */
bool times_tell(int fd);
