#include "hold/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
    auto_fd int inner_to = open_directory_at(to_fd, new_name);
    auto_dir DIR *directory = directories_take(open_directory_at(from_fd, name));
    int result = inner_to < 0 || !directory ? -1 : 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));)
        result = move_entry(dirfd(directory), entry->d_name, inner_to, entry->d_name, depth + 1);
    if (trouble)
        errno = trouble;
    return result < 0 || trouble ? -1 : unlinkat(from_fd, name, AT_REMOVEDIR);
}

/* Copies at most the size from `status`: a process that keeps writing cannot keep bawn here. */
static int copy_file(int from_fd, const char *name, int to_fd, const char *new_name,
                     const struct stat *status)
{
    enum { PART = 1 << 20 };
    auto_fd int from = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    auto_fd int to = from < 0 ? -1
                              : openat(to_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       status->st_mode & 0777);
    ssize_t copied = to < 0 ? -1 : 1;
    for (off_t left = status->st_size; copied > 0 && left > 0; left -= copied)
        copied = sendfile(to, from, NULL, left < PART ? (size_t)left : PART);
    return copied < 0 ? -1 : 0;
}

/* Moves between file systems: copies, then removes the original. */
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
    } else if (S_ISREG(status.st_mode) ? copy_file(from_fd, name, to_fd, new_name, &status) < 0
                                       : mknodat(to_fd, new_name, status.st_mode, status.st_rdev) < 0) {
        return -1;
    }
    return unlinkat(from_fd, name, 0);
}

static int move(int from_fd, const char *name, int to_fd, const char *new_name)
{
    if (renameat2(from_fd, name, to_fd, new_name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EACCES && directories_allow_owner(from_fd, S_IRWXU) == 0) {
        /* The directory, or the one that moves, was made unwritable to prevent this. */
        auto_fd int inner = directories_open_up(from_fd, name, S_IRWXU);
        (void)inner;
        if (renameat2(from_fd, name, to_fd, new_name, RENAME_NOREPLACE) == 0)
            return 0;
    }
    return errno == EXDEV ? move_entry(from_fd, name, to_fd, new_name, 0) : -1;
}

static const char *folder_name(struct arena *arena, int number)
{
    return number == 1 ? "held" : arena_printf(arena, "held-%d", number);
}

/* Is this path, or a file above it, already held under this number? */
static bool is_taken(struct arena *arena, int session_fd, int number, const char *path)
{
    const char *place = arena_printf(arena, "%s%s", folder_name(arena, number), path);
    auto_fd int fd = open_beneath(session_fd, place, O_PATH, 0);
    return fd >= 0 || errno == ENOTDIR || errno == ELOOP;
}

/* Numbers are used in order, so a binary search finds the first free one among a thousand in about twenty steps. */
static int first_free(struct arena *arena, int session_fd, const char *path)
{
    int taken = 0, found = 1;
    while (found <= MOST_OF_ONE_NAME && is_taken(arena, session_fd, found, path)) {
        taken = found;
        found *= 2;
    }
    while (found - taken > 1) {
        int between = (taken + found) / 2;
        if (between <= MOST_OF_ONE_NAME && is_taken(arena, session_fd, between, path))
            taken = between;
        else
            found = between;
    }
    return found;
}

int aside_move(struct arena *arena, int session_fd, const char *path, struct err *err)
{
    struct stat status;
    const char *name = path_name(path);
    int parent_size = (int)path_parent_size(path, strlen(path));
    auto_fd int parent_fd = open_parent_absolute(path);
    if (parent_fd < 0 || fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        bool is_gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return is_gone ? 0 : err_sys(err, errno, "cannot move %s aside", path);
    }
    int number = first_free(arena, session_fd, path);
    for (errno = EEXIST; number <= MOST_OF_ONE_NAME; number++) {
        const char *folder = arena_printf(arena, "%s%.*s", folder_name(arena, number), parent_size, path);
        auto_fd int held_fd = directories_make_beneath(session_fd, folder);
        if (held_fd >= 0 && move(parent_fd, name, held_fd, name) == 0)
            return 1;
        if (held_fd >= 0 && errno == ENOENT)
            return 0;
        /* The place is taken, perhaps by a file where a directory is needed: try the next number. */
        if (errno != EEXIST && errno != ENOTDIR && errno != ELOOP)
            break;
    }
    return err_sys(err, errno, "cannot move %s aside", path);
}

static void find_below(struct arena *arena, int directory_fd, const struct held *above, unsigned depth,
                       held_list *held)
{
    auto_dir DIR *directory = directories_take(directory_fd);
    int ignored = 0;
    for (const struct dirent *entry;
         directory && held->count < MOST_LISTED && (entry = directories_next(directory, &ignored));) {
        struct held found = *above;
        found.path = path_join(arena, above->path, entry->d_name);
        int fd = depth > DEEPEST ? -1 : open_directory_at(dirfd(directory), entry->d_name);
        if (fd >= 0)
            find_below(arena, fd, &found, depth + 1, held);
        else
            vec_push(held, found);
    }
}

static int by_path_and_number(const void *a, const void *b)
{
    const struct held *left = a, *right = b;
    int order = strcmp(left->path, right->path);
    return order ? order : left->number - right->number;
}

void aside_find(struct arena *arena, int session_fd, held_list *ret_held)
{
    for (int number = 1; number <= MOST_OF_ONE_NAME; number++) {
        struct held top = {.path = "/", .folder = folder_name(arena, number), .number = number};
        int fd = open_beneath(session_fd, top.folder, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
            break;
        find_below(arena, fd, &top, 0, ret_held);
    }
    if (ret_held->count)
        qsort(ret_held->at, ret_held->count, sizeof(*ret_held->at), by_path_and_number);
}

void aside_keep_newest(held_list *held)
{
    size_t kept = 0;
    for (size_t i = 0; i < held->count; i++) {
        if (i + 1 == held->count || strcmp(held->at[i].path, held->at[i + 1].path) != 0)
            held->at[kept++] = held->at[i];
    }
    held->count = kept;
}

/* The highest number under which the path is held, or 0. */
static int newest_of(struct arena *arena, int session_fd, const char *path)
{
    int newest = 0;
    for (int number = 1; number <= MOST_OF_ONE_NAME; number++) {
        auto_fd int top = open_beneath(session_fd, folder_name(arena, number), O_PATH | O_DIRECTORY, 0);
        if (top < 0)
            break;
        auto_fd int fd = open_beneath(top, path + 1, O_PATH, 0);
        if (fd >= 0)
            newest = number;
    }
    return newest;
}

int aside_return(struct arena *arena, int session_fd, const char *path, struct err *err)
{
    int number = newest_of(arena, session_fd, path);
    if (!number)
        return err_set(err, "nothing is held for %s", path);
    const char *name, *held = arena_printf(arena, "%s%s", folder_name(arena, number), path);
    auto_fd int held_fd = open_parent_beneath(session_fd, held, &name);
    if (held_fd < 0 || aside_move(arena, session_fd, path, err) < 0)
        return held_fd < 0 ? err_sys(err, errno, "cannot open what is held for %s", path) : -1;
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int parent_fd = directories_make_beneath(root_fd, path_parent(arena, path) + 1);
    if (parent_fd < 0 || move(held_fd, name, parent_fd, name) < 0)
        return err_sys(err, errno, "cannot put %s back", path);
    return 0;
}
