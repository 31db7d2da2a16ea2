#include "hold/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { DEEPEST = 64, MOST_OF_ONE_NAME = 1000, MOST_LISTED = 10000 };

/* Opens a file whose mode keeps its owner from reading it, too. */
static int open_to_read(int parent_fd, const char *name, mode_t mode)
{
    enum { FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    int fd = openat(parent_fd, name, FLAGS);
    if (fd >= 0 || errno != EACCES)
        return fd;
    auto_fd int place = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0 || chmod(fd_path(place).text, (mode & 0777) | S_IRUSR) < 0)
        return -1;
    return openat(parent_fd, name, FLAGS);
}

/* Copies at most the size from `status`: a process that keeps writing cannot keep bawn here. */
static int copy_file(int from_fd, const char *name, int to_fd, const char *new_name,
                     const struct stat *status)
{
    enum { PART = 1 << 20 };
    auto_fd int from = open_to_read(from_fd, name, status->st_mode);
    auto_fd int to = from < 0 ? -1
                              : openat(to_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       status->st_mode & 0777);
    ssize_t copied = to < 0 ? -1 : 1;
    for (off_t left = status->st_size; copied > 0 && left > 0; left -= copied)
        copied = sendfile(to, from, NULL, left < PART ? (size_t)left : PART);
    return copied < 0 ? -1 : 0;
}

static int copy_link(int from_fd, const char *name, int to_fd, const char *new_name)
{
    char target[PATH_LONGEST];
    ssize_t size = readlinkat(from_fd, name, target, sizeof(target) - 1);
    if (size < 0)
        return -1;
    target[size] = '\0';
    return symlinkat(target, to_fd, new_name);
}

static int copy_entry(int from_fd, const char *name, int to_fd, const char *new_name, unsigned depth);

static int copy_directory(int from_fd, const char *name, int to_fd, const char *new_name, unsigned depth)
{
    if (depth > DEEPEST)
        errno = ENAMETOOLONG;
    if (depth > DEEPEST || mkdirat(to_fd, new_name, 0700) < 0)
        return -1;
    auto_fd int inner_to = open_directory_at(to_fd, new_name);
    auto_dir DIR *directory = directories_take(directories_open_up(from_fd, name, S_IRWXU));
    int result = inner_to < 0 || !directory ? -1 : 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));)
        result = copy_entry(dirfd(directory), entry->d_name, inner_to, entry->d_name, depth + 1);
    if (trouble)
        errno = trouble;
    return trouble ? -1 : result;
}

static int copy_entry(int from_fd, const char *name, int to_fd, const char *new_name, unsigned depth)
{
    struct stat status;
    if (fstatat(from_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISDIR(status.st_mode))
        return copy_directory(from_fd, name, to_fd, new_name, depth);
    if (S_ISLNK(status.st_mode))
        return copy_link(from_fd, name, to_fd, new_name);
    return S_ISREG(status.st_mode) ? copy_file(from_fd, name, to_fd, new_name, &status)
                                   : mknodat(to_fd, new_name, status.st_mode, status.st_rdev);
}

/* Moves between file systems: copies all of it, and then removes the original. A copy that is not whole is removed. */
static int move_over(int from_fd, const char *name, int to_fd, const char *new_name)
{
    struct err ignored;
    struct stat status;
    if (fstatat(to_fd, new_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    if (copy_entry(from_fd, name, to_fd, new_name, 0) == 0)
        return remove_tree(from_fd, name, &ignored);
    int why = errno;
    if (why != EEXIST && remove_tree(to_fd, new_name, &ignored) < 0)
        why = ignored.errnum;
    errno = why;
    return -1;
}

/* Moves within a file system. Fails with EXDEV where these are two. */
static int move(int from_fd, const char *name, int to_fd, const char *new_name)
{
    if (renameat2(from_fd, name, to_fd, new_name, RENAME_NOREPLACE) == 0)
        return 0;
    int why = errno;
    if ((why == EACCES || why == EXDEV) && directories_allow_owner(from_fd, S_IRWXU) == 0) {
        /* The directory, or the one that moves, was made unwritable to prevent this. */
        auto_fd int inner = directories_open_up(from_fd, name, S_IRWXU);
        (void)inner;
        if (renameat2(from_fd, name, to_fd, new_name, RENAME_NOREPLACE) == 0)
            return 0;
        why = errno;
    }
    errno = why;
    return -1;
}

/* A name that no program obeys, and that nothing inside can have taken: it is drawn by lot. */
static const char *inert_name(struct arena *arena, const char *name)
{
    unsigned lot = 0;
    return getrandom(&lot, sizeof(lot), 0) < 0 ? NULL
                                               : arena_printf(arena, "%.200s.bawn-held-%08x", name, lot);
}

/* Renames it where it stands: that needs no room and leaves no file system. Returns the new name, or NULL. */
static const char *make_inert(struct arena *arena, int parent_fd, const char *name)
{
    const char *inert = inert_name(arena, name);
    return inert && move(parent_fd, name, parent_fd, inert) == 0 ? inert : NULL;
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

/*
 * Moves it below the session's folder, under the first number that is free. On another file system it loses its name first, so that it is not
 * obeyed while it is copied, nor if that fails.
 */
static int move_to_held(struct arena *arena, int session_fd, const char *path, int parent_fd,
                        const char **name)
{
    int number = first_free(arena, session_fd, path), parent_size = (int)path_parent_size(path, strlen(path));
    for (errno = EEXIST; number <= MOST_OF_ONE_NAME; number++) {
        const char *folder = arena_printf(arena, "%s%.*s", folder_name(arena, number), parent_size, path);
        auto_fd int held_fd = directories_make_beneath(session_fd, folder);
        if (held_fd >= 0 && move(parent_fd, *name, held_fd, path_name(path)) == 0)
            return 0;
        if (held_fd >= 0 && errno == EXDEV) {
            const char *inert = *name == path_name(path) ? make_inert(arena, parent_fd, *name) : NULL;
            *name = inert ? inert : *name;
            if (move_over(parent_fd, *name, held_fd, path_name(path)) == 0)
                return 0;
        }
        /* The place is taken, perhaps by a file where a directory is needed: try the next number. */
        if (errno != EEXIST && errno != ENOTDIR && errno != ELOOP)
            break;
    }
    return -1;
}

int aside_move(struct arena *arena, int session_fd, const char *path, struct err *err)
{
    struct stat status;
    const char *name = path_name(path);
    auto_fd int parent_fd = open_parent_absolute(path);
    if (parent_fd < 0 || fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        bool is_gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return is_gone ? 0 : err_sys(err, errno, "cannot set %s aside", path);
    }
    if (move_to_held(arena, session_fd, path, parent_fd, &name) == 0)
        return 1;
    int why = errno;
    if (why == ENOENT && name == path_name(path))
        return 0;
    const char *inert = name != path_name(path) ? name
                        : why == EEXIST         ? NULL
                                                : make_inert(arena, parent_fd, name);
    if (!inert)
        return err_sys(err, why, "cannot set %s aside", path);
    err_sys(err, why, "cannot set %s aside, so it was renamed to %s", path, inert);
    err_hint(err, "look at it there, and remove it or rename it back");
    return ASIDE_RENAMED;
}

static bool is_object(int directory_fd, const char *name, dev_t device, ino_t inode)
{
    struct stat status;
    return fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino == inode &&
           status.st_dev == device;
}

/* Has nobody written to it since it was read? */
static bool has_bytes(int directory_fd, const char *name, const struct file_content *content)
{
    if (!S_ISREG(content->mode) || !bytes_known(content->bytes))
        return true;
    auto_buf struct buf bytes = {0};
    auto_fd int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && buf_read(&bytes, fd, content->bytes.size + 1) == 0 &&
           bytes_equal(bytes_of(buf_text(&bytes), bytes.size), content->bytes);
}

/* The file that takes the place has the owner of the one that leaves it: where root runs bawn, that may be somebody else. */
static int make_waiting(int waiting_fd, const char *waiting, int parent_fd, const struct file_content *put,
                        struct stat *ret_made)
{
    struct stat there;
    auto_fd int fd = content_make(waiting_fd, waiting, put);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret_made) == 0 &&
        fstatat(parent_fd, path_name(put->path), &there, AT_SYMLINK_NOFOLLOW) == 0) {
        if ((there.st_uid != ret_made->st_uid || there.st_gid != ret_made->st_gid) &&
            fchown(fd, there.st_uid, there.st_gid) < 0)
            (void)!fchown(fd, (uid_t)-1, there.st_gid); /* as far as this user may */
        return 0;
    }
    int why = errno;
    unlinkat(waiting_fd, waiting, 0);
    errno = why;
    return -1;
}

/*
 * Exchanges them, and back if another object came out. Returns whether the expected one is at `from` now.
 */
static bool swap(int from_fd, const char *from, int parent_fd, const struct file_content *expected,
                 const struct stat *made, int *ret_errnum)
{
    /* What comes out after the second was newer than what went back: it goes back for that. */
    enum { MOST = 3 };
    const char *name = path_name(expected->path);
    if (!is_object(parent_fd, name, expected->device, expected->inode))
        return false;
    for (int i = 0; i < MOST; i++) {
        if (renameat2(from_fd, from, parent_fd, name, RENAME_EXCHANGE) < 0) {
            *ret_errnum = errno == ENOENT ? 0 : errno;
            return false;
        }
        if (i == 0 && is_object(from_fd, from, expected->device, expected->inode) &&
            has_bytes(from_fd, from, expected))
            return true;
        if (i > 0 && is_object(from_fd, from, made->st_dev, made->st_ino))
            return false;
    }
    return false;
}

/*
 * Puts the new file in its place under git's own lock: no git begins a change meanwhile, and none is lost. Where somebody has it, who then makes a newer
 * file, it is done without: what the command leaves as a lock keeps nothing from being judged. Returns 1 where `waiting` is the expected one
 * now, 0 where it is gone.
 */
static int exchange(int waiting_fd, const char *waiting, int parent_fd, const struct file_content *expected,
                    const struct file_content *put, const struct stub_lock *lock)
{
    struct stat made;
    int errnum = 0;
    if (make_waiting(waiting_fd, waiting, parent_fd, put, &made) < 0)
        return errno == ENOENT ? 0 : -1;
    stub_lock_take(lock);
    bool is_done = swap(waiting_fd, waiting, parent_fd, expected, &made, &errnum);
    stub_lock_release(lock);
    if (!is_done && is_object(waiting_fd, waiting, made.st_dev, made.st_ino))
        unlinkat(waiting_fd, waiting, 0);
    errno = errnum;
    return is_done ? 1 : errnum ? -1 : 0;
}

int aside_replace(struct arena *arena, int session_fd, const struct file_content *expected,
                  const struct file_content *put, const struct stub_lock *lock, bool holds, struct err *err)
{
    const char *path = expected->path, *waiting = inert_name(arena, path_name(path));
    auto_fd int parent_fd = open_parent_absolute(path);
    if (!waiting || parent_fd < 0 || directories_allow_owner(parent_fd, S_IRWXU) < 0)
        return err_sys(err, errno, "cannot exchange %s for another file", path);
    int waiting_fd = session_fd, result = exchange(waiting_fd, waiting, parent_fd, expected, put, lock);
    if (result < 0 && errno == EXDEV) {
        waiting_fd = parent_fd;
        result = exchange(waiting_fd, waiting, parent_fd, expected, put, lock);
    }
    if (result < 0)
        return err_sys(err, errno, "cannot exchange %s for another file", path);
    if (result == 1 && !holds && unlinkat(waiting_fd, waiting, 0) < 0)
        return result; /* nobody obeys it */
    if (result == 1 && holds && move_to_held(arena, session_fd, path, waiting_fd, &waiting) < 0) {
        err_sys(err, errno, "%s was removed, and is in %s as %s", path,
                waiting_fd == parent_fd ? "its folder" : "the session's folder", waiting);
        return ASIDE_RENAMED;
    }
    return result;
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
        return err_set(err, "no file is set aside for %s", path);
    const char *name, *held = arena_printf(arena, "%s%s", folder_name(arena, number), path);
    auto_fd int held_fd = open_parent_beneath(session_fd, held, &name);
    if (held_fd < 0 || aside_move(arena, session_fd, path, err) < 0)
        return held_fd < 0 ? err_sys(err, errno, "cannot open the file set aside for %s", path) : -1;
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int parent_fd = directories_make_beneath(root_fd, path_parent(arena, path) + 1);
    int result = parent_fd < 0 ? -1 : move(held_fd, name, parent_fd, name);
    if (result < 0 && parent_fd >= 0 && errno == EXDEV)
        result = move_over(held_fd, name, parent_fd, name);
    return result < 0 ? err_sys(err, errno, "cannot put %s back", path) : 0;
}
