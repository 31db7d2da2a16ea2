#include "hold/modes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/text.h"
#include "hold/records.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { WRITE_BITS = S_IWUSR | S_IWGRP | S_IWOTH, RECORD_LARGEST = 16 * 1024 * 1024, DEEPEST = 64 };

/* One entry of a record: "MODE DEVICE INODE PATH" and a NUL. A path may hold any other byte. */
static void add_entry(struct buf *record, const char *path, const struct stat *status)
{
    buf_printf(record, "%u %" PRIu64 " %" PRIu64 " %s", status->st_mode & 07777, (uint64_t)status->st_dev,
               (uint64_t)status->st_ino, path);
    buf_add_char(record, '\0');
}

static int change(int fd, mode_t mode)
{
    return chmod(fd_path(fd).text, mode & 07777);
}

struct lowering {
    struct arena *arena;
    struct buf entries; /* of what can be written now */
};

static int collect(struct lowering *lowering, int fd, const char *path, unsigned depth, struct err *err);

static int collect_below(struct lowering *lowering, int fd, const char *path, unsigned depth, struct err *err)
{
    if (depth == DEEPEST)
        return err_set(err, "%s is frozen and too deep", path);
    auto_dir DIR *directory = directories_take(open_directory_at(fd, "."));
    if (!directory)
        return err_sys(err, errno, "cannot list %s, which is frozen", path);
    int result = 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));) {
        const char *child = path_join(lowering->arena, path, entry->d_name);
        auto_fd int child_fd = openat(dirfd(directory), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        result = child_fd < 0 ? err_sys(err, errno, "cannot open %s, which is frozen", child)
                              : collect(lowering, child_fd, child, depth + 1, err);
    }
    return result == 0 && trouble ? err_sys(err, trouble, "cannot list %s, which is frozen", path) : result;
}

static int collect(struct lowering *lowering, int fd, const char *path, unsigned depth, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return err_sys(err, errno, "cannot look at %s, which is frozen", path);
    if (status.st_mode & WRITE_BITS && !S_ISLNK(status.st_mode))
        add_entry(&lowering->entries, path, &status);
    return S_ISDIR(status.st_mode) ? collect_below(lowering, fd, path, depth, err) : 0;
}

/* What an entry says. False at the end, and where the record is damaged. */
struct entry {
    uint64_t mode, device, inode;
    const char *path;
};

static bool next_entry(const char **at, const char *end, struct entry *ret_entry)
{
    const char *start = *at, *over = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;
    if (!over)
        return false;
    *at = over + 1;
    return text_take_number(&start, &ret_entry->mode) && *start++ == ' ' &&
           text_take_number(&start, &ret_entry->device) && *start++ == ' ' &&
           text_take_number(&start, &ret_entry->inode) && *start++ == ' ' &&
           *(ret_entry->path = start) == '/';
}

/* Opens the object of an entry, through no link. -1: it is another one now, or gone. */
static int open_entry(const struct entry *entry, struct stat *ret_status)
{
    auto_fd int fd = open_absolute(entry->path, O_PATH);
    if (fd < 0 || fstat(fd, ret_status) < 0 || ret_status->st_dev != entry->device ||
        ret_status->st_ino != entry->inode)
        return -1;
    return fd_take(&fd);
}

static int lower_all(const struct buf *entries, struct err *err)
{
    const char *at = entries->bytes, *end = at + entries->size;
    for (struct entry entry; next_entry(&at, end, &entry);) {
        struct stat status;
        auto_fd int fd = open_entry(&entry, &status);
        if (fd < 0)
            return err_set(err, "%s was replaced while bawn froze it", entry.path);
        /* Another user's file that this one cannot write needs no other mode. */
        if (change(fd, status.st_mode & ~(mode_t)WRITE_BITS) < 0 &&
            faccessat(AT_FDCWD, entry.path, W_OK, AT_EACCESS) == 0) {
            err_sys(err, errno, "cannot freeze %s without namespaces: its mode cannot be changed",
                    entry.path);
            return err_hint(err, "`chown` it, or use --read-only");
        }
    }
    return 0;
}

struct modes modes_in(struct arena *arena, const char *state_directory)
{
    return (struct modes){.arena = arena, .folder = arena_printf(arena, "%s/bawn/modes", state_directory)};
}

/* The record's lock: the session's own from an earlier call, or a new one. */
static int open_record(struct modes *modes, int folder_fd, const char *key, struct err *err)
{
    vec_each (const struct lowered, lowered, &modes->held) {
        if (strcmp(lowered->key, key) == 0)
            return lowered->record_fd;
    }
    auto_fd int fd = openat(folder_fd, key, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_SH) < 0)
        return err_sys(err, errno, "cannot record the modes of frozen files");
    vec_push(&modes->held, (struct lowered){arena_str(modes->arena, key), fd});
    return fd_take(&fd);
}

int modes_lower(struct modes *modes, const char *path, struct err *err)
{
    char key[SHA256_HEX_SIZE];
    sha256_hex(path, strlen(path), key);
    struct lowering lowering = {.arena = modes->arena};
    auto_fd int fd = open_absolute(path, O_PATH);
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s, which is frozen", path);
    auto_fd int folder_fd = records_lock(modes->folder, err);
    int record_fd = folder_fd < 0 ? -1 : open_record(modes, folder_fd, key, err);
    int result = record_fd < 0 ? -1 : collect(&lowering, fd, path, 0, err);
    off_t end = result < 0 ? 0 : lseek(record_fd, 0, SEEK_END);
    if (result == 0 && end + (off_t)lowering.entries.size > RECORD_LARGEST)
        result = err_set(err, "%s has too many files to be frozen", path);
    if (result == 0 && write_whole(record_fd, lowering.entries.bytes, lowering.entries.size) < 0)
        result = err_sys(err, errno, "cannot record the modes of %s", path);
    if (result == 0)
        result = lower_all(&lowering.entries, err);
    buf_free(&lowering.entries);
    return result;
}

/* Gives all modes of a record back, the first that was recorded of each object, and removes the record. */
static void finish(int folder_fd, const char *key, int record_fd)
{
    auto_buf struct buf record = {0};
    if (flock(record_fd, LOCK_EX | LOCK_NB) < 0 || lseek(record_fd, 0, SEEK_SET) < 0 ||
        buf_read(&record, record_fd, RECORD_LARGEST) < 0)
        return;
    const char *at = record.bytes, *end = at + record.size;
    for (struct entry entry; next_entry(&at, end, &entry);) {
        struct stat status;
        auto_fd int fd = open_entry(&entry, &status);
        if (fd >= 0 && (status.st_mode & 07777) == (entry.mode & ~(mode_t)WRITE_BITS) &&
            change(fd, (mode_t)entry.mode) < 0 && errno_is_of_machine(errno))
            return; /* the next bawn tries again */
    }
    unlinkat(folder_fd, key, 0);
}

void modes_release(struct modes *modes)
{
    struct err ignored;
    auto_fd int folder_fd = modes->held.count ? records_lock(modes->folder, &ignored) : -1;
    vec_each (const struct lowered, lowered, &modes->held) {
        if (folder_fd >= 0)
            finish(folder_fd, lowered->key, lowered->record_fd);
        close(lowered->record_fd);
    }
    vec_free(&modes->held);
}

int modes_tidy(struct arena *arena, const char *state_directory, struct err *err)
{
    struct modes modes = modes_in(arena, state_directory);
    auto_dir DIR *folder = opendir(modes.folder);
    if (!folder)
        return errno == ENOENT || errno == ENOTDIR ? 0
                                                   : err_sys(err, errno, "cannot look into %s", modes.folder);
    auto_fd int folder_fd = -1;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (*entry->d_name == '.')
            continue;
        if (folder_fd < 0 && (folder_fd = records_lock(modes.folder, err)) < 0)
            return -1;
        auto_fd int fd = openat(folder_fd, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            finish(folder_fd, entry->d_name, fd);
    }
    return 0;
}
