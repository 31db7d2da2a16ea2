#include "hold/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { DEEPEST = 64, MOST_OF_ONE_NAME = 1000, MOST_LISTED = 10000 };

static int move_entry(int from_fd, const char *name, int to_fd, const char *new_name, unsigned depth);

static int move_directory(int from_fd, const char *name, int to_fd, const char *new_name, unsigned depth)
{
    if (depth > DEEPEST || mkdirat(to_fd, new_name, 0700) < 0)
        return -1;
    auto_fd int inner_to = openat(to_fd, new_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int inner_from = openat(from_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = inner_from < 0 ? NULL : fdopendir(inner_from);
    int result = inner_to < 0 || !directory ? -1 : 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = move_entry(inner_from, entry->d_name, inner_to, entry->d_name, depth + 1);
    }
    if (directory)
        closedir(directory);
    return result < 0 ? -1 : unlinkat(from_fd, name, AT_REMOVEDIR);
}

static int copy_file(int from_fd, const char *name, int to_fd, const char *new_name, mode_t mode)
{
    auto_fd int from = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    auto_fd int to =
        from < 0 ? -1
                 : openat(to_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
    ssize_t copied = to < 0 ? -1 : 1;
    while (copied > 0)
        copied = sendfile(to, from, NULL, 1 << 20);
    return (int)copied;
}

/* Between file systems: a copy, and then the original goes. */
static int move_entry(int from_fd, const char *name, int to_fd, const char *new_name, unsigned depth)
{
    struct stat status;
    if (fstatat(from_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISDIR(status.st_mode))
        return move_directory(from_fd, name, to_fd, new_name, depth);
    if (S_ISLNK(status.st_mode)) {
        char target[PATH_LONGEST];
        ssize_t size = readlinkat(from_fd, name, target, sizeof(target) - 1);
        if (size < 0)
            return -1;
        target[size] = '\0';
        if (symlinkat(target, to_fd, new_name) < 0)
            return -1;
    } else if (!S_ISREG(status.st_mode) || copy_file(from_fd, name, to_fd, new_name, status.st_mode) < 0) {
        return -1;
    }
    return unlinkat(from_fd, name, 0);
}

static int move(int from_fd, const char *name, int to_fd, const char *new_name)
{
    if (renameat2(from_fd, name, to_fd, new_name, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EXDEV ? move_entry(from_fd, name, to_fd, new_name, 0) : -1;
}

/* The folder below held/ for what lies beside the path, made. */
static int open_held_parent(struct arena *arena, int session_fd, const char *path, struct err *err)
{
    const char *folder =
        arena_printf(arena, "/" ASIDE_FOLDER "%.*s", (int)path_parent_size(path, strlen(path)), path);
    if (directories_make(session_fd, folder, err) < 0)
        return -1;
    int fd = open_beneath(session_fd, folder + 1, O_PATH | O_DIRECTORY, 0);
    return fd < 0 ? err_sys(err, errno, "cannot open %s in the session's folder", folder) : fd;
}

/* The first name that is free: "x", "x~2", "x~3" … Calls `put` until it does not say EEXIST. */
typedef int put_under(void *context, int held_fd, const char *name);

static int put_aside(struct arena *arena, int session_fd, const char *path, put_under *put, void *context,
                     struct err *err)
{
    auto_fd int held_fd = open_held_parent(arena, session_fd, path, err);
    if (held_fd < 0)
        return -1;
    const char *name = path_name(path);
    for (int number = 2; put(context, held_fd, name) < 0; number++) {
        if (errno == ENOENT)
            return 0;
        if (errno != EEXIST || number > MOST_OF_ONE_NAME)
            return err_sys(err, errno, "cannot move %s aside", path);
        name = arena_printf(arena, "%s~%d", path_name(path), number);
    }
    return 1;
}

struct moved {
    int parent_fd;
    const char *name;
};

static int put_moved(void *context, int held_fd, const char *name)
{
    const struct moved *moved = context;
    return move(moved->parent_fd, moved->name, held_fd, name);
}

int aside_move(struct arena *arena, int session_fd, const char *path, struct err *err)
{
    auto_fd int parent_fd = open_parent_absolute(path);
    struct stat status;
    if (parent_fd < 0 || fstatat(parent_fd, path_name(path), &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    struct moved moved = {parent_fd, path_name(path)};
    return put_aside(arena, session_fd, path, put_moved, &moved, err);
}

struct kept {
    const char *bytes;
    size_t size;
};

static int put_kept(void *context, int held_fd, const char *name)
{
    const struct kept *kept = context;
    auto_fd int fd = openat(held_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    return write(fd, kept->bytes, kept->size) == (ssize_t)kept->size ? 0 : -1;
}

int aside_keep(struct arena *arena, int session_fd, const char *path, const char *bytes, size_t size,
               struct err *err)
{
    struct kept kept = {bytes, size};
    return put_aside(arena, session_fd, path, put_kept, &kept, err);
}

static void find_below(struct arena *arena, int directory_fd, const char *path, unsigned depth,
                       fs_names *paths)
{
    DIR *directory = fdopendir(directory_fd);
    for (const struct dirent *entry;
         directory && paths->count < MOST_LISTED && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const char *full = path_join(arena, path, entry->d_name);
        int fd = depth > DEEPEST ? -1
                                 : openat(dirfd(directory), entry->d_name,
                                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            find_below(arena, fd, full, depth + 1, paths);
        else
            vec_push(paths, full);
    }
    if (directory)
        closedir(directory);
    else
        close(directory_fd);
}

void aside_find(struct arena *arena, int session_fd, fs_names *ret_paths)
{
    int fd = openat(session_fd, ASIDE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        find_below(arena, fd, "/", 0, ret_paths);
    fs_sort_names(ret_paths);
}

int aside_return(struct arena *arena, int session_fd, const char *path, struct err *err)
{
    const char *held = arena_printf(arena, "/" ASIDE_FOLDER "%s", path);
    const char *name;
    auto_fd int held_fd = open_parent_beneath(session_fd, held + 1, &name);
    struct stat status;
    if (held_fd < 0 || fstatat(held_fd, path_name(path), &status, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, errno, "nothing is held for %s", path);
    if (aside_move(arena, session_fd, path, err) < 0)
        return -1;
    auto_fd int parent_fd = open_parent_absolute(path);
    if (parent_fd < 0 || move(held_fd, path_name(path), parent_fd, path_name(path)) < 0)
        return err_sys(err, errno, "cannot put %s back", path);
    return 0;
}
