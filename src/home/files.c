#include "home/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/* Moves aside a file that has the wrong type. Its content is not lost. */
static int move_aside(int directory_fd, const char *name)
{
    enum { MOST = 1000 };
    char aside[256];
    for (int i = 1; i <= MOST; i++) {
        snprintf(aside, sizeof(aside), "%.200s.aside-%d", name, i);
        if (renameat2(directory_fd, name, directory_fd, aside, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return -1;
}

/* A directory of the home must be open to the command; root would not notice a closed one. */
static int open_up(int fd, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) == 0 &&
        ((status.st_mode & S_IRWXU) == S_IRWXU || fchmod(fd, (status.st_mode & 07777) | S_IRWXU) == 0))
        return fd;
    err_sys(err, errno, "cannot open %s", path);
    close(fd);
    return -1;
}

int files_make_directory(int top_fd, const char *path, bool moves_aside, struct err *err)
{
    int fd = open_beneath(top_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0)
        return moves_aside ? open_up(fd, path, err) : fd;
    char parent[PATH_LONGEST];
    const char *slash = strrchr(path, '/');
    if (!*path || strlen(path) >= sizeof(parent))
        return err_sys(err, errno, "cannot open %.60s", *path ? path : "the private home");
    snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 0, path);
    auto_fd int parent_fd = files_make_directory(top_fd, parent, moves_aside, err);
    if (parent_fd < 0)
        return -1;
    const char *name = slash ? slash + 1 : path;
    fd = open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && errno != ENOENT && (!moves_aside || move_aside(parent_fd, name) < 0))
        return err_sys(err, errno, "cannot open %s", path);
    if (fd < 0 && mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make %s", path);
    if (fd < 0)
        fd = open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? err_sys(err, errno, "cannot open %s", path) : fd;
}

int files_make_temporary(int directory_fd, char ret_name[TEMPORARY_SIZE], struct err *err)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return err_sys(err, errno, "cannot name a temporary file");
    snprintf(ret_name, TEMPORARY_SIZE, TEMPORARY_PREFIX "%016" PRIx64, number);
    int fd = openat(directory_fd, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? err_sys(err, errno, "cannot make a temporary file") : fd;
}

int files_place(int directory_fd, const char *temporary, const char *name, struct err *err)
{
    if (renameat(directory_fd, temporary, directory_fd, name) == 0)
        return 0;
    if (errno == EISDIR && move_aside(directory_fd, name) == 0 &&
        renameat(directory_fd, temporary, directory_fd, name) == 0)
        return 0;
    err_sys(err, errno, "cannot replace %s", name);
    unlinkat(directory_fd, temporary, 0);
    return -1;
}

static bool is_temporary(const char *name)
{
    size_t prefix = strlen(TEMPORARY_PREFIX);
    return strncmp(name, TEMPORARY_PREFIX, prefix) == 0 && strlen(name) == TEMPORARY_SIZE - 1 &&
           strspn(name + prefix, "0123456789abcdef") == 16;
}

void files_sweep(int directory_fd)
{
    enum { MOST_NAMES = 10000 };
    auto_dir DIR *directory = directories_list(directory_fd);
    int names = 0;
    for (const struct dirent *entry; directory && names++ < MOST_NAMES && (entry = readdir(directory));) {
        if (is_temporary(entry->d_name))
            unlinkat(directory_fd, entry->d_name, 0);
    }
}

int files_replace(int directory_fd, const char *name, const void *bytes, size_t size, struct err *err)
{
    char temporary[TEMPORARY_SIZE];
    auto_fd int fd = files_make_temporary(directory_fd, temporary, err);
    if (fd < 0)
        return -1;
    if (write_whole(fd, bytes, size) < 0) {
        err_sys(err, errno, "cannot write %s", name);
        unlinkat(directory_fd, temporary, 0);
        return -1;
    }
    return files_place(directory_fd, temporary, name, err);
}
