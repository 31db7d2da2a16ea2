#include "home/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_NAMES = 20000, DEEPEST = 32 };

struct search {
    struct home_files *files;
    size_t names;
};

/* When the file came into being, where the file system knows; else its last change, which no program can set back. */
static struct timespec time_made(int directory_fd, const char *name, const struct stat *status)
{
    struct statx more;
    if (statx(directory_fd, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &more) == 0 &&
        more.stx_mask & STATX_BTIME)
        return (struct timespec){.tv_sec = more.stx_btime.tv_sec, .tv_nsec = more.stx_btime.tv_nsec};
    return status->st_ctim;
}

static void search_directory(struct search *search, int fd, const char *path, unsigned depth);

static void look_at(struct search *search, int directory_fd, const char *name, const char *path,
                    unsigned depth)
{
    struct home_files *files = search->files;
    struct stat status;
    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISDIR(status.st_mode)) {
        int fd = open_directory_at(directory_fd, name);
        if (fd >= 0)
            search_directory(search, fd, path, depth + 1);
        return;
    }
    struct timespec made = time_made(directory_fd, name, &status);
    if (S_ISREG(status.st_mode) && timespec_order(made, files->since) >= 0)
        vec_push(&files->list, (struct home_file){path, (uint64_t)status.st_size, status.st_mtim});
}

/* Takes the descriptor. */
static void search_directory(struct search *search, int fd, const char *path, unsigned depth)
{
    auto_dir DIR *directory = depth > DEEPEST ? NULL : fdopendir(fd);
    int trouble = 0;
    if (!directory) {
        search->files->is_cut = true;
        close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = directories_next(directory, &trouble));) {
        const char *name = entry->d_name;
        if (*name == '.' && !search->files->hidden_too)
            continue;
        if (++search->names > MOST_NAMES) {
            search->files->is_cut = true;
            break;
        }
        look_at(search, fd, name, path_join(search->files->arena, path, name), depth);
    }
    search->files->is_cut |= trouble != 0;
}

static int newer_first(const void *one, const void *two)
{
    const struct home_file *a = one, *b = two;
    int order = timespec_order(b->changed, a->changed);
    if (order)
        return order;
    return strcmp(a->path, b->path);
}

void home_files_find(int home_fd, struct home_files *files)
{
    struct search search = {.files = files};
    int fd = open_directory_at(home_fd, ".");
    if (fd >= 0)
        search_directory(&search, fd, "/", 0);
    if (files->list.count)
        qsort(files->list.at, files->list.count, sizeof(*files->list.at), newer_first);
}

void home_files_free(struct home_files *files)
{
    vec_free(&files->list);
}

static int copy_out(int from, int to)
{
    char part[65536];
    for (;;) {
        ssize_t got = read(from, part, sizeof(part));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        if (write_whole(to, part, (size_t)got) < 0)
            return -1;
    }
}

int home_files_fetch(int home_fd, const char *path, int directory_fd, const char *name, struct err *err)
{
    auto_fd int from = open_beneath(home_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat status;
    if (from < 0 && errno == ELOOP)
        return err_set(err, "%s is, or lies behind, a symbolic link, and those are not followed", path);
    if (from < 0 || fstat(from, &status) < 0)
        return err_sys(err, errno, "cannot open %s in the private home", path);
    if (!S_ISREG(status.st_mode)) {
        err_set(err, "%s is not a regular file", path);
        return err_hint(err, "`bawn home list --all` lists those");
    }
    auto_fd int to = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (to < 0 && errno == EEXIST) {
        err_set(err, "%s exists already", name);
        return err_hint(err, "use another name: `bawn home fetch PATH DEST`");
    }
    if (to < 0)
        return err_sys(err, errno, "cannot make %s", name);
    if (copy_out(from, to) < 0) {
        err_sys(err, errno, "cannot copy %s", path);
        unlinkat(directory_fd, name, 0);
        return -1;
    }
    return 0;
}
