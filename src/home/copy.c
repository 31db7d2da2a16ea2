#include "home/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/pattern.h"
#include "home/files.h"
#include "home/memory.h"
#include "home/sift.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum {
    FILE_LARGEST = 64 * 1024 * 1024,
    TOTAL_LARGEST = 512 * 1024 * 1024,
    MOST_ENTRIES = 20000,
    DEEPEST = 24,
};

struct copying {
    struct arena *arena;
    const struct plan *plan;
    const struct operation *operation; /* the operation that is carried out */
    int root_fd, home_fd;
    struct memory before, now;
    struct map named;  /* host paths that operations name */
    fs_names patterns; /* patterns that hide something below the operation's source */
    uint64_t bytes;
    size_t entries;
    bool failed;
    struct err first; /* the first failure */
};

/* Remembers the first failure; the other files are still copied. */
static void note_failure(struct copying *copying, const struct err *err)
{
    if (!copying->failed)
        copying->first = *err;
    copying->failed = true;
}

/* Is the path left out: hidden, or named by another operation? */
static bool is_left_out(const struct copying *copying, const char *path)
{
    if (map_get(&copying->named, path, strlen(path)))
        return true;
    for (size_t i = 0; i < copying->patterns.count; i++) {
        if (pattern_matches_path(copying->patterns.at[i], path, strlen(path)))
            return true;
    }
    return false;
}

/* Copies a file's content. Returns 0 or -1. */
static int copy_bytes(int from_fd, int to_fd, off_t size)
{
    char part[65536];
    for (off_t left = size; left > 0;) {
        ssize_t got = read(from_fd, part, left < (off_t)sizeof(part) ? (size_t)left : sizeof(part));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || write_whole(to_fd, part, (size_t)got) < 0)
            return -1;
        if (got == 0)
            return 0; /* the file has shrunk, and will be copied again */
        left -= got;
    }
    return 0;
}

static int open_destination(struct copying *copying, const char *destination, struct err *err)
{
    return files_make_directory(copying->home_fd, path_parent(copying->arena, destination) + 1, true, err);
}

/* Writes the settings that may pass into the file. Returns 1 if none may. */
static int sift_bytes(const struct operation *operation, int from_fd, int to_fd)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf kept = {0};
    if (buf_read(&text, from_fd, SIFT_LARGEST) < 0)
        return -1;
    if (text.size < SIFT_LARGEST)
        sift_text(sifted_file(operation->path), text.bytes, text.size, &kept);
    return kept.size ? write_whole(to_fd, kept.bytes, kept.size) : 1;
}

/* Returns 1 if there was nothing to copy and the destination must go. */
static int copy_file(struct copying *copying, int parent_fd, const char *source, const char *destination,
                     struct stat *status, struct err *err)
{
    bool is_sifted = copying->operation->kind == OP_SIFT;
    auto_fd int from =
        openat(parent_fd, path_name(source), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0 || fstat(from, status) < 0)
        return err_sys(err, errno, "cannot copy %s into the private home", source);
    if (!S_ISREG(status->st_mode))
        return 0;
    copying->bytes += (uint64_t)status->st_size;
    if (status->st_size > FILE_LARGEST || copying->bytes > TOTAL_LARGEST) {
        err_set(err, "%s is not copied into the private home: %s", source,
                status->st_size > FILE_LARGEST ? "it is larger than 64 MiB"
                                               : "all copies together would exceed 512 MiB");
        return err_hint(err, "use `read` to show it without a copy, or `hide` to leave it out");
    }
    auto_fd int directory = open_destination(copying, destination, err);
    char temporary[TEMPORARY_SIZE];
    auto_fd int to = directory < 0 ? -1 : files_make_temporary(directory, temporary, err);
    if (to < 0)
        return -1;
    int filled = is_sifted ? sift_bytes(copying->operation, from, to) : copy_bytes(from, to, status->st_size);
    if (filled < 0 || fchmod(to, (status->st_mode & 0777) | S_IRUSR | S_IWUSR) < 0) {
        err_sys(err, errno, "cannot copy %s into the private home", source);
        unlinkat(directory, temporary, 0);
        return -1;
    }
    if (filled > 0)
        return unlinkat(directory, temporary, 0) < 0 ? -1 : 1;
    return files_place(directory, temporary, path_name(destination), err);
}

/* Copies a symlink as a symlink. */
static int copy_link(struct copying *copying, int parent_fd, const char *source, const char *destination,
                     struct err *err)
{
    char target[PATH_LONGEST];
    ssize_t size = readlinkat(parent_fd, path_name(source), target, sizeof(target));
    if (size <= 0 || (size_t)size == sizeof(target))
        return err_sys(err, size < 0 ? errno : ENAMETOOLONG, "cannot copy %s into the private home", source);
    target[size] = '\0';
    auto_fd int directory = open_destination(copying, destination, err);
    char temporary[TEMPORARY_SIZE];
    auto_fd int named = directory < 0 ? -1 : files_make_temporary(directory, temporary, err);
    if (named < 0)
        return -1;
    if (unlinkat(directory, temporary, 0) < 0 || symlinkat(target, directory, temporary) < 0)
        return err_sys(err, errno, "cannot copy %s into the private home", source);
    return files_place(directory, temporary, path_name(destination), err);
}

static void copy_entry(struct copying *copying, int parent_fd, const char *source, const char *destination,
                       unsigned depth);

static void copy_directory(struct copying *copying, int parent_fd, const char *source,
                           const char *destination, unsigned depth)
{
    struct err err = {0};
    auto_fd int fd = open_directory_at(parent_fd, path_name(source));
    auto_dir DIR *directory = fd < 0 || depth >= DEEPEST ? NULL : fdopendir(fd);
    int trouble = directory ? 0 : fd >= 0 && depth >= DEEPEST ? ELOOP : errno;
    if (directory)
        fd_take(&fd); /* the stream owns it now */
    for (const struct dirent *entry; directory && (entry = directories_next(directory, &trouble));) {
        const char *path = path_join(copying->arena, source, entry->d_name);
        if (!is_left_out(copying, path))
            copy_entry(copying, dirfd(directory), path, path_join(copying->arena, destination, entry->d_name),
                       depth + 1);
    }
    if (trouble) {
        err_sys(&err, trouble, "cannot copy %s into the private home", source);
        note_failure(copying, &err);
    }
}

/* `parent_fd` is the directory that has the source. */
static void copy_entry(struct copying *copying, int parent_fd, const char *source, const char *destination,
                       unsigned depth)
{
    struct err err = {0};
    struct stat status;
    if (++copying->entries > MOST_ENTRIES) {
        err_set(
            &err,
            "the limit of %d files to copy is reached: the rest of %s is not copied into the private home",
            MOST_ENTRIES, copying->operation->source);
        err_hint(&err, "`hide` leaves a directory out");
        note_failure(copying, &err);
        return;
    }
    if (memory_find(&copying->now, destination) ||
        fstatat(parent_fd, path_name(source), &status, AT_SYMLINK_NOFOLLOW) < 0)
        return; /* already made, or gone */
    if (S_ISDIR(status.st_mode)) {
        copy_directory(copying, parent_fd, source, destination, depth);
        return;
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return;
    int result = 0;
    unsigned sifted = copying->operation->kind == OP_SIFT ? SIFT_VERSION : 0;
    /* A file that the command continues to write is made only once. */
    bool once = sifted && sifted_is_made_once(sifted_file(copying->operation->path));
    auto_fd int made = once ? open_beneath(copying->home_fd, destination + 1, O_PATH, 0) : -1;
    if (made < 0 && !memory_has(&copying->before, destination, &status, sifted))
        result = S_ISREG(status.st_mode) ? copy_file(copying, parent_fd, source, destination, &status, &err)
                                         : copy_link(copying, parent_fd, source, destination, &err);
    if (result == 0)
        memory_add(&copying->now, destination, &status, sifted);
    else if (result < 0)
        note_failure(copying, &err);
}

static void carry_out(struct copying *copying, const struct operation *operation)
{
    const char *destination = operations_destination(&copying->plan->operations, operation), *name;
    auto_fd int parent_fd = open_parent_beneath(copying->root_fd, operation->source + 1, &name);
    if (!destination || parent_fd < 0)
        return;
    copying->operation = operation;
    copying->patterns.count = 0;
    vec_each (const struct operation, other, &copying->plan->operations) {
        if (other->kind == OP_HIDE && other->is_pattern &&
            pattern_may_match_beneath(other->path, operation->source))
            vec_push(&copying->patterns, other->path);
    }
    copy_entry(copying, parent_fd, operation->source, destination, 0);
}

/* Removes former copies: the host's file is gone, or the rule is. */
static void remove_former(struct copying *copying)
{
    for (size_t i = 0; i < copying->before.entries.count; i++) {
        const char *destination = copying->before.entries.at[i].path, *name;
        if (memory_find(&copying->now, destination))
            continue;
        auto_fd int parent_fd = open_parent_beneath(copying->home_fd, destination + 1, &name);
        struct stat status;
        if (parent_fd >= 0 && fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            !S_ISDIR(status.st_mode))
            unlinkat(parent_fd, name, 0);
    }
}

/* Only one bawn copies into a home at a time; others wait. */
static int lock(int state_fd, struct err *err)
{
    auto_fd int fd = openat(state_fd, "copying", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot lock the private home");
    return fd_take(&fd);
}

int home_copy(struct arena *arena, const struct plan *plan, int home_fd, int state_fd, struct err *err)
{
    if (!operations_find(&plan->operations, OP_COPY) && !operations_find(&plan->operations, OP_SIFT) &&
        faccessat(state_fd, MEMORY_NAME, F_OK, 0) < 0)
        return 0;
    auto_fd int lock_fd = lock(state_fd, err);
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (lock_fd < 0 || root_fd < 0)
        return lock_fd < 0 ? -1 : err_sys(err, errno, "cannot open /");
    struct copying copying = {
        .arena = arena, .plan = plan, .root_fd = root_fd, .home_fd = home_fd, .now = {.arena = arena}};
    memory_load(&copying.before, arena, state_fd);
    vec_each (const struct operation, operation, &plan->operations) {
        bool is_elsewhere =
            operation->kind == OP_COPY || operation->kind == OP_SIFT || operation->kind == OP_SYNC;
        const char *path = is_elsewhere ? operation->source : operation->path;
        if (path && !operation->is_pattern && operation->kind != OP_LINK)
            *map_at(&copying.named, path, strlen(path)) = (void *)operation;
    }
    /* Backwards: of two operations with the same destination (settings of the machine and of the user), the last counts. */
    for (size_t i = plan->operations.count; i-- > 0;) {
        const struct operation *operation = &plan->operations.at[i];
        if ((operation->kind == OP_COPY && !operation->is_login) || operation->kind == OP_SIFT)
            carry_out(&copying, operation);
    }
    remove_former(&copying);
    if (memory_save(&copying.now, &copying.before, state_fd, err) < 0)
        note_failure(&copying, err);
    memory_free(&copying.before);
    memory_free(&copying.now);
    map_free(&copying.named);
    vec_free(&copying.patterns);
    if (copying.failed)
        *err = copying.first;
    return copying.failed ? -1 : 0;
}
