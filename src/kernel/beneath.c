#include "kernel/beneath.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/*
 * The same name by name, for bawn inside a sandbox that root started: openat2 does not exist there (seccomp_calls.h). No name is a link, and none
 * leads upwards.
 */
static int open_by_steps(int top_fd, const char *path, int flags, mode_t mode)
{
    enum { STEP = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    auto_fd int at = *path == '/' ? open("/", STEP) : top_fd == AT_FDCWD ? open(".", STEP) : dup(top_fd);
    for (path += strspn(path, "/"); at >= 0; path += strspn(path, "/")) {
        char name[NAME_MAX + 1];
        size_t size = strcspn(path, "/");
        bool is_upwards = size == 2 && strncmp(path, "..", size) == 0;
        if (size > NAME_MAX || is_upwards) {
            errno = is_upwards ? EXDEV : ENAMETOOLONG;
            return -1;
        }
        snprintf(name, sizeof(name), "%.*s", size ? (int)size : 1, size ? path : ".");
        path += size;
        if (!path[strspn(path, "/")])
            return openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
        int next = openat(at, name, STEP);
        close(at);
        at = next;
    }
    return -1;
}

static int open_through_no_link(int top_fd, const char *path, int flags, mode_t mode, uint64_t also)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .mode = mode,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | also,
    };
    int fd = (int)syscall(SYS_openat2, top_fd, path, &how, sizeof(how));
    return fd < 0 && errno == ENOSYS ? open_by_steps(top_fd, path, flags, mode) : fd;
}

int open_beneath(int top_fd, const char *path, int flags, mode_t mode)
{
    return open_through_no_link(top_fd, *path ? path : ".", flags, mode, RESOLVE_BENEATH);
}

int open_parent_beneath(int top_fd, const char *path, const char **ret_name)
{
    not_zeroed char parent[PATH_LONGEST];
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    if (size >= sizeof(parent)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, size);
    parent[size] = '\0';
    *ret_name = slash ? slash + 1 : path;
    return open_beneath(top_fd, parent, O_PATH | O_DIRECTORY, 0);
}

int open_absolute(const char *path, int flags)
{
    return open_through_no_link(AT_FDCWD, path, flags, 0, 0);
}

int open_parent_absolute(const char *path)
{
    const char *name;
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root_fd < 0 ? -1 : open_parent_beneath(root_fd, path + 1, &name);
}

int write_whole(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += written;
        size -= (size_t)written;
    }
    return 0;
}

int replace_file(int folder_fd, const char *name, const struct new_file *file)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    auto_fd int fd = openat(folder_fd, file->temporary, flags, file->mode);
    if (fd < 0 && errno == EEXIST && unlinkat(folder_fd, file->temporary, 0) == 0)
        fd = openat(folder_fd, file->temporary, flags, file->mode);
    if (fd < 0)
        return -1;
    if (write_whole(fd, file->bytes, file->size) == 0 && (!file->waits_for_disk || fsync(fd) == 0) &&
        renameat(folder_fd, file->temporary, folder_fd, name) == 0)
        return 0;
    int why = errno;
    unlinkat(folder_fd, file->temporary, 0);
    errno = why;
    return -1;
}

bool times_tell(int fd)
{
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC;
}
