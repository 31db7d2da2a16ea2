#include "workspace/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

/* A tree can be deeper than there are descriptors: what lies this deep is first moved up. */
enum { DEEPEST = 64 };

struct removal {
    int top_fd; /* where directories that lie too deep are moved to */
    unsigned long moved;
};

static int empty_directory(struct removal *removal, int fd, unsigned depth, struct err *err);

static int remove_directory(struct removal *removal, int parent_fd, const char *name, unsigned depth,
                            struct err *err)
{
    if (depth > DEEPEST) {
        char aside[32];
        snprintf(aside, sizeof(aside), ".deep-%lu", removal->moved++);
        if (renameat(parent_fd, name, removal->top_fd, aside) < 0)
            return err_sys(err, errno, "cannot remove a deep tree");
        return 0;
    }
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(parent_fd, name, 0700, 0) == 0)
        fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot remove %s", name);
    fchmod(fd, 0700); /* a directory that is not ours to change may be writable all the same */
    if (empty_directory(removal, fd, depth, err) < 0)
        return -1;
    return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? err_sys(err, errno, "cannot remove %s", name) : 0;
}

/* Takes the descriptor over. */
static int empty_directory(struct removal *removal, int fd, unsigned depth, struct err *err)
{
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return err_sys(err, errno, "cannot look through a tree");
    }
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(directory), entry->d_name, 0) == 0)
            continue;
        result = errno == EISDIR || errno == EPERM
                     ? remove_directory(removal, dirfd(directory), entry->d_name, depth + 1, err)
                     : err_sys(err, errno, "cannot remove %s", entry->d_name);
    }
    closedir(directory);
    return result;
}

int remove_tree(int parent_fd, const char *name, struct err *err)
{
    struct stat status;
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "cannot remove %s", name);
    if (!S_ISDIR(status.st_mode))
        return unlinkat(parent_fd, name, 0) < 0 ? err_sys(err, errno, "cannot remove %s", name) : 0;
    struct removal removal = {.top_fd = parent_fd};
    if (remove_directory(&removal, parent_fd, name, 0, err) < 0)
        return -1;
    /* What was moved up is a tree like the first, and may move up more. */
    for (unsigned long i = 0; i < removal.moved; i++) {
        char aside[32];
        snprintf(aside, sizeof(aside), ".deep-%lu", i);
        if (remove_directory(&removal, parent_fd, aside, 0, err) < 0)
            return -1;
    }
    return 0;
}
