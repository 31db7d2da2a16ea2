#include "kernel/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"

int directories_make(const char *path, struct err *err)
{
    char part[PATH_LONGEST];
    size_t size = strlen(path);
    if (size >= sizeof(part))
        return err_sys(err, ENAMETOOLONG, "cannot make %.60s...", path);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        char next = part[i];
        part[i] = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return err_sys(err, errno, "cannot make %s", part);
        part[i] = next;
    }
    return 0;
}

const char *directories_resolve(struct arena *arena, const char *path)
{
    char *real = realpath(path, NULL);
    const char *found = real ? arena_str(arena, real) : path;
    free(real);
    if (real || errno != ENOENT || strcmp(path, "/") == 0)
        return found;
    return path_join(arena, directories_resolve(arena, path_parent(arena, path)), path_name(path));
}

int directories_open_made(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (directories_make(path, err) < 0)
            return -1;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    return fd < 0 ? err_sys(err, errno, "cannot open %s", path) : fd;
}

void directories_scatter(int directory_fd)
{
    struct statfs system;
    int flags = 0;
    if (fstatfs(directory_fd, &system) < 0 || system.f_type != EXT4_SUPER_MAGIC ||
        ioctl(directory_fd, FS_IOC_GETFLAGS, &flags) < 0 || flags & FS_TOPDIR_FL)
        return;
    flags |= FS_TOPDIR_FL;
    if (ioctl(directory_fd, FS_IOC_SETFLAGS, &flags) < 0)
        return; /* it only takes longer */
}

int directories_make_beneath(int top_fd, const char *path)
{
    auto_fd int above = open_beneath(top_fd, "", O_PATH | O_DIRECTORY, 0);
    while (above >= 0 && *path) {
        char name[NAME_MAX + 1];
        size_t size = strcspn(path, "/");
        if (size >= sizeof(name)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, size);
        name[size] = '\0';
        path += size + (path[size] == '/');
        if (mkdirat(above, name, 0700) < 0 && errno != EEXIST)
            return -1;
        int made = open_beneath(above, name, O_PATH | O_DIRECTORY, 0);
        close(above);
        above = made;
    }
    return fd_take(&above);
}

int directories_allow_owner(int path_fd, mode_t needed)
{
    struct stat status;
    if (fstat(path_fd, &status) < 0)
        return -1;
    bool is_closed = (status.st_mode & needed) != needed && status.st_uid == geteuid();
    return is_closed ? chmod(fd_path(path_fd).text, (status.st_mode & 07777) | S_IRWXU) : 0;
}

bool directories_reopen(const char *path)
{
    struct stat status;
    auto_fd int path_fd = open_absolute(path, O_PATH | O_DIRECTORY);
    return path_fd >= 0 && fstat(path_fd, &status) == 0 &&
           (status.st_mode & DIRECTORY_LOOKS) != DIRECTORY_LOOKS && status.st_uid == geteuid() &&
           directories_allow_owner(path_fd, DIRECTORY_LOOKS) == 0;
}

int directories_open_up(int parent_fd, const char *name, mode_t needed)
{
    auto_fd int path_fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (path_fd < 0 || directories_allow_owner(path_fd, needed) < 0)
        return -1;
    return open_directory_at(path_fd, ".");
}

DIR *directories_list(int directory_fd)
{
    return directories_take(open_directory_at(directory_fd, "."));
}

DIR *directories_take(int directory_fd)
{
    DIR *directory = directory_fd < 0 ? NULL : fdopendir(directory_fd);
    int why = errno;
    if (!directory && directory_fd >= 0)
        close(directory_fd);
    errno = why;
    return directory;
}

const struct dirent *directories_next(DIR *directory, int *trouble)
{
    for (;;) {
        errno = 0; /* readdir reports an error only through errno */
        const struct dirent *entry = readdir(directory);
        if (!entry && errno)
            *trouble = errno;
        if (!entry || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0))
            return entry;
    }
}

bool directories_is_empty(int parent_fd, const char *name)
{
    auto_fd int fd = open_directory_at(parent_fd, name);
    auto_dir DIR *directory = fd < 0 ? NULL : directories_list(fd);
    if (!directory)
        return false;
    int trouble = 0;
    bool is_empty = !directories_next(directory, &trouble) && trouble == 0;
    return is_empty;
}
