#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/mounts.h"
#include "launch/inside.h"

int place_open(const struct root *root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_PATH | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
}

int place_find(const struct root *root, const char *path)
{
    return place_open(root, path, O_NOFOLLOW);
}

static bool is_same_mount(int a, int b)
{
    struct statx one, other;
    return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &one) == 0 &&
           statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &other) == 0 &&
           one.stx_mask & other.stx_mask & STATX_MNT_ID && one.stx_mnt_id == other.stx_mnt_id;
}

static bool is_in_private_home(const struct root *root, int fd)
{
    vec_each (const struct operation, operation, root->launch->operations) {
        auto_fd int home = operation->kind == OP_HOME ? place_open(root, operation->path, O_DIRECTORY) : -1;
        if (home >= 0)
            return is_same_mount(fd, home);
    }
    return false;
}

/* Makes an empty file or directory as a mount point, unless there is one. */
static int make_entry(const struct root *root, int parent_fd, const char *path, bool is_directory,
                      struct err *err)
{
    enum { TRIES = 2 };
    const char *name = path_name(path);
    for (int i = 0; i < TRIES; i++) {
        if ((is_directory ? mkdirat(parent_fd, name, 0755) : mknodat(parent_fd, name, S_IFREG | 0644, 0)) ==
            0)
            return 0;
        struct stat status;
        if (errno != EEXIST || fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        if (!S_ISLNK(status.st_mode))
            return 0;
        /* In the private home, a link at a mount point was planted by an earlier run: it is removed. */
        if (!is_in_private_home(root, parent_fd))
            return err_set(err, "%s has become a symbolic link, and nothing can be shown there", path);
        if (unlinkat(parent_fd, name, 0) < 0)
            return err_sys(err, errno, "cannot remove the link at %s in the private home", path);
    }
    return err_sys(err, errno, "cannot make %s", path);
}

static int open_directory(int parent_fd, const char *name)
{
    return openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The plan goes through a tree entry by entry: recently used directories stay open. */
static int directory_at(struct root *root, const char *path, size_t size, struct err *err)
{
    if (size <= 1)
        return root->fd;
    for (size_t i = 0; i < array_len(root->open); i++) {
        const char *other = root->open[i].path;
        if (other && strncmp(other, path, size) == 0 && !other[size])
            return root->open[i].fd;
    }
    int parent = directory_at(root, path, path_parent_size(path, size), err);
    if (parent < 0)
        return -1;
    const char *own = arena_copy(&root->arena, path, size), *name = path_name(own);
    int fd = open_directory(parent, name);
    if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)) {
        if (make_entry(root, parent, own, true, err) < 0)
            return -1;
        fd = open_directory(parent, name);
    }
    if (fd < 0)
        return err_sys(err, errno, "cannot make a place for %s", own);
    struct open_place *oldest = &root->open[root->opened++ % array_len(root->open)];
    if (oldest->path)
        close(oldest->fd);
    *oldest = (struct open_place){own, fd};
    return fd;
}

int place_directory(struct root *root, const char *path, struct err *err)
{
    return directory_at(root, path, strlen(path), err);
}

int place_open_parent(struct root *root, const char *path, struct err *err)
{
    return directory_at(root, path, path_parent_size(path, strlen(path)), err);
}

/* A mount covers directories below its path that may still be open. */
static void forget_beneath(struct root *root, const char *path)
{
    for (size_t i = 0; i < array_len(root->open); i++) {
        struct open_place *open = &root->open[i];
        if (!open->path || !path_is_beneath(open->path, path))
            continue;
        close(open->fd);
        open->path = NULL;
    }
}

int place_attach(struct root *root, int tree_fd, const char *path, bool is_directory, struct err *err)
{
    int parent = place_open_parent(root, path, err);
    if (parent < 0 || make_entry(root, parent, path, is_directory, err) < 0)
        return -1;
    forget_beneath(root, path);
    return mount_attach_at(tree_fd, parent, path_name(path), path, err);
}

int place_attach_over_name(struct root *root, int tree_fd, const char *path, struct err *err)
{
    int parent = place_open_parent(root, path, err);
    if (parent < 0)
        return -1;
    forget_beneath(root, path);
    return mount_attach_at(tree_fd, parent, path_name(path), path, err);
}

int place_attach_over(struct root *root, int tree_fd, int place_fd, const char *path, struct err *err)
{
    forget_beneath(root, path);
    return mount_attach(tree_fd, place_fd, path, err);
}

int place_copy(int from_fd, int to_fd, off_t largest, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(from_fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > largest)
        return err_sys(err, ENOENT, "cannot show %s in the sandbox", path);
    for (off_t left = status.st_size; left > 0;) {
        ssize_t copied = sendfile(to_fd, from_fd, NULL, (size_t)left);
        if (copied <= 0)
            return err_sys(err, copied < 0 ? errno : ESTALE, "cannot copy %s", path);
        left -= copied;
    }
    return 0;
}

int place_attach_copy(struct root *root, int tree_fd, const char *path, struct err *err)
{
    enum { LARGEST = 1024 * 1024 };
    auto_fd int from = open(fd_path(tree_fd).text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int parent = place_open_parent(root, path, err);
    if (parent < 0)
        return -1;
    auto_fd int to = openat(parent, path_name(path), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || to < 0)
        return err_sys(err, ENOENT, "cannot show %s in the sandbox", path);
    if (place_copy(from, to, LARGEST, path, err) < 0)
        return -1;
    auto_fd int place = place_find(root, path);
    auto_fd int copy = place < 0 ? err_sys(err, errno, "cannot find %s", path)
                                 : mount_open_restricted(place, "", true, false, err);
    return copy < 0 ? -1 : place_attach_over(root, copy, place, path, err);
}
