#include "hold/stub.h"

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
#include "git/repo.h"
#include "hold/records.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { RECORD_LONGEST = PATH_LONGEST + 256, CONTENT_LONGEST = 16 };

/* A stub is made under a temporary name: its record is complete before the stub gets its real name. */
struct record {
    char path[PATH_LONGEST];
    char content[CONTENT_LONGEST];
    bool is_directory;
    uint64_t device, inode; /* 0: not known yet */
    bool is_unsure;         /* it or its stub could not be examined: it stays, for the next bawn */
};

static void note_failure(struct record *record)
{
    record->is_unsure |= errno_is_of_machine(errno);
}

static int format_error(struct err *err, const char *path)
{
    return err_set(err, "the stub for %s cannot be recorded: its path is too long", path);
}

/* One write, so that a record is complete or absent. The path comes last, as it may contain anything but NUL. */
static int write_record(int fd, const struct record *record, struct err *err)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "%c %s %" PRIu64 " %" PRIu64 " ", record->is_directory ? 'd' : 'f',
               *record->content ? "." : "-", record->device, record->inode);
    buf_add_str(&text, record->path);
    if (text.size >= RECORD_LONGEST)
        return format_error(err, record->path);
    if (pwrite(fd, text.bytes, text.size, 0) != (ssize_t)text.size || ftruncate(fd, (off_t)text.size) < 0)
        return err_sys(err, errno, "the stub for %s cannot be recorded", record->path);
    return 0;
}

static bool read_record(int fd, struct record *ret_record)
{
    char text[RECORD_LONGEST + 1];
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
    ret_record->is_unsure = false;
    if (size < 0)
        note_failure(ret_record);
    if (size <= 0 || memchr(text, '\0', (size_t)size))
        return false;
    text[size] = '\0';
    const char *stub_content = git_stub_content("commondir");
    const char *at = text + strlen("d . ");
    struct record record = {0};
    if (size < (ssize_t)strlen("d . 1 2 /") || text[1] != ' ' || text[3] != ' ' ||
        !text_take_number(&at, &record.device) || *at++ != ' ' || !text_take_number(&at, &record.inode) ||
        *at++ != ' ' || *at != '/' || strlen(at) >= sizeof(record.path))
        return false;
    record.is_directory = text[0] == 'd';
    snprintf(record.content, sizeof(record.content), "%s", text[2] == '.' ? stub_content : "");
    snprintf(record.path, sizeof(record.path), "%s", at);
    *ret_record = record;
    return true;
}

/* The temporary name of a stub. It follows from the record's name, so that a later bawn can find it. */
static void temporary_name(const char *path, char ret_name[STUB_NAME_SIZE])
{
    char hash[SHA256_HEX_SIZE];
    sha256_hex(path, strlen(path), hash);
    snprintf(ret_name, STUB_NAME_SIZE, "bawn-stub-%.16s", hash);
}

/* Is this still the stub, unchanged? An inode of 0 matches any. */
static bool is_our_stub(int parent_fd, const char *name, struct record *record)
{
    struct stat status;
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        note_failure(record);
        return false;
    }
    if (record->inode && (status.st_ino != record->inode || status.st_dev != record->device))
        return false;
    if (record->is_directory)
        return S_ISDIR(status.st_mode); /* that it is empty, rmdir sees to */
    size_t size = strlen(record->content);
    if (!S_ISREG(status.st_mode) || (size_t)status.st_size != size || status.st_nlink != 1)
        return false;
    char content[CONTENT_LONGEST];
    auto_fd int fd = openat(parent_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof(content));
    if (got < 0)
        note_failure(record);
    return got == (ssize_t)size && memcmp(content, record->content, size) == 0;
}

static bool remove_name(int parent_fd, const char *name, struct record *record)
{
    if (unlinkat(parent_fd, name, record->is_directory ? AT_REMOVEDIR : 0) == 0)
        return true;
    note_failure(record);
    return false;
}

/* Removes the stub under both its names. Returns whether something went. */
static bool remove_stub(struct record *record)
{
    char temporary[STUB_NAME_SIZE];
    temporary_name(record->path, temporary);
    auto_fd int parent_fd = open_parent_absolute(record->path);
    if (parent_fd < 0) {
        note_failure(record);
        return false;
    }
    struct stat status; /* no one else uses that name, but it may not have been written yet */
    bool removed = fstatat(parent_fd, temporary, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   (record->is_directory || status.st_size <= CONTENT_LONGEST) &&
                   remove_name(parent_fd, temporary, record);
    return removed | (record->inode && is_our_stub(parent_fd, path_name(record->path), record) &&
                      remove_name(parent_fd, path_name(record->path), record));
}

static int make_temporary(int parent_fd, const char *name, struct record *record)
{
    struct stat status;
    if (record->is_directory) {
        if (mkdirat(parent_fd, name, 0755) < 0)
            return -1;
    } else {
        size_t size = strlen(record->content);
        auto_fd int fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, record->content, size) != (ssize_t)size)
            return -1;
    }
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    record->device = status.st_dev;
    record->inode = status.st_ino;
    return 0;
}

/* Records the stub and makes it under its temporary name. Returns 1, 0 if this user cannot make anything there. */
static int prepare_stub(int record_fd, int parent_fd, const char *temporary, struct record *record,
                        struct err *err)
{
    record->device = record->inode = 0;
    if (write_record(record_fd, record, err) < 0)
        return -1;
    remove_stub(record); /* a half-made one of a killed session */
    if (make_temporary(parent_fd, temporary, record) < 0) {
        int why = errno;
        remove_stub(record);
        bool is_closed = why == EACCES || why == EPERM || why == EROFS;
        return is_closed ? 0 : err_sys(err, why, "cannot make a stub for %s", record->path);
    }
    if (write_record(record_fd, record, err) < 0) {
        remove_stub(record);
        return -1;
    }
    return 1;
}

/* Returns 1 if the path exists now, 0 if this user cannot make anything there. */
static int make_stub(int record_fd, struct record *record, struct err *err)
{
    auto_fd int parent_fd = open_parent_absolute(record->path);
    char temporary[STUB_NAME_SIZE];
    temporary_name(record->path, temporary);
    if (parent_fd < 0)
        return errno == EACCES ? 0 : err_sys(err, errno, "cannot make a stub for %s", record->path);
    int result = prepare_stub(record_fd, parent_fd, temporary, record, err);
    if (result <= 0)
        return result;
    if (renameat2(parent_fd, temporary, parent_fd, path_name(record->path), RENAME_NOREPLACE) == 0)
        return 1;
    int why = errno;
    remove_stub(record);
    return why == EEXIST ? 1 : err_sys(err, why, "cannot make a stub for %s", record->path);
}

struct stubs stubs_in(struct arena *arena, const char *state_directory)
{
    return (struct stubs){.arena = arena, .folder = arena_printf(arena, "%s/bawn/stubs", state_directory)};
}

int stubs_lock(struct arena *arena, const char *state_directory, struct err *err)
{
    return records_lock(stubs_in(arena, state_directory).folder, err);
}

/* Checks a recorded stub, and makes it again if needed. Returns as stubs_hold; *ret_shared: the record is valid. */
static int hold_recorded(int record_fd, struct record *record, bool *ret_shared, struct err *err)
{
    auto_fd int parent_fd = open_parent_absolute(record->path);
    struct record found;
    struct stat status;
    bool is_there =
        parent_fd >= 0 && fstatat(parent_fd, path_name(record->path), &status, AT_SYMLINK_NOFOLLOW) == 0;
    bool is_recorded = read_record(record_fd, &found) && found.inode;
    *ret_shared = true;
    if (is_there) {
        *ret_shared = is_recorded && is_our_stub(parent_fd, path_name(record->path), &found);
        record->is_unsure = found.is_unsure;
        if (found.is_unsure)
            return err_set(err, "cannot read %s, so bawn cannot tell whether it is a stub", record->path);
        return 1;
    }
    return make_stub(record_fd, record, err);
}

int stubs_hold(struct stubs *stubs, const char *path, bool is_directory, const char *content, struct err *err)
{
    char key[SHA256_HEX_SIZE];
    struct record record = {.is_directory = is_directory};
    if (strlen(path) >= sizeof(record.path) || strlen(content) >= sizeof(record.content))
        return format_error(err, path);
    snprintf(record.path, sizeof(record.path), "%s", path);
    snprintf(record.content, sizeof(record.content), "%s", content);
    sha256_hex(path, strlen(path), key);
    /* The stub is removed before its record, so that a path without a record is never a stub. */
    struct stat status;
    if (stat(arena_printf(stubs->arena, "%s/%s", stubs->folder, key), &status) < 0 && errno == ENOENT &&
        lstat(path, &status) == 0)
        return 1;
    auto_fd int folder_fd = records_lock(stubs->folder, err);
    if (folder_fd < 0)
        return -1;
    auto_fd int fd = openat(folder_fd, key, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_SH) < 0)
        return err_sys(err, errno, "the stub for %s cannot be recorded", path);
    bool is_shared = false;
    int held = hold_recorded(fd, &record, &is_shared, err);
    if (held == 1 && is_shared)
        vec_push(&stubs->held, (struct stub){arena_str(stubs->arena, key), fd_take(&fd)});
    else if (!record.is_unsure && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder_fd, key, 0);
    return held;
}

/* Removes a stub that no other session uses, and its record. Returns whether the stub was removed. */
static bool finish(int folder_fd, const char *key, int record_fd, struct record *ret_record)
{
    if (flock(record_fd, LOCK_EX | LOCK_NB) < 0)
        return false;
    bool removed = read_record(record_fd, ret_record) && remove_stub(ret_record);
    if (!ret_record->is_unsure)
        unlinkat(folder_fd, key, 0);
    return removed;
}

void stubs_release(struct stubs *stubs)
{
    struct err ignored;
    struct record record;
    auto_fd int folder_fd = stubs->held.count ? records_lock(stubs->folder, &ignored) : -1;
    vec_each (const struct stub, stub, &stubs->held) {
        if (folder_fd >= 0)
            finish(folder_fd, stub->key, stub->record_fd, &record);
        close(stub->record_fd);
    }
    vec_free(&stubs->held);
}

struct stub_lock stub_lock_begin(const struct stubs *stubs, const char *path)
{
    struct stub_lock lock = {.path = path, .folder = stubs->folder, .record_fd = -1, .parent_fd = -1};
    struct record record = {0}, earlier;
    struct err ignored;
    sha256_hex(path, strlen(path), lock.key);
    temporary_name(path, lock.temporary);
    auto_fd int folder_fd = strlen(path) < sizeof(record.path) ? records_lock(stubs->folder, &ignored) : -1;
    if (folder_fd < 0)
        return lock;
    snprintf(record.path, sizeof(record.path), "%s", path);
    snprintf(record.content, sizeof(record.content), "%s", git_stub_content("commondir"));
    auto_fd int parent_fd = open_parent_absolute(path);
    auto_fd int fd = openat(folder_fd, lock.key, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || parent_fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return lock; /* another session has it for a moment */
    if (read_record(fd, &earlier))
        remove_stub(&earlier); /* that of a killed session */
    if (prepare_stub(fd, parent_fd, lock.temporary, &record, &ignored) <= 0) {
        unlinkat(folder_fd, lock.key, 0);
        return lock;
    }
    lock.device = record.device;
    lock.inode = record.inode;
    lock.parent_fd = fd_take(&parent_fd);
    lock.record_fd = fd_take(&fd);
    return lock;
}

void stub_lock_take(const struct stub_lock *lock)
{
    if (lock->parent_fd >= 0)
        (void)!renameat2(lock->parent_fd, lock->temporary, lock->parent_fd, path_name(lock->path),
                         RENAME_NOREPLACE);
}

void stub_lock_release(const struct stub_lock *lock)
{
    struct stat status;
    const char *name = path_name(lock->path);
    if (lock->parent_fd >= 0 && fstatat(lock->parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_ino == lock->inode && status.st_dev == lock->device)
        unlinkat(lock->parent_fd, name, 0);
}

void stub_lock_end(struct stub_lock *lock)
{
    struct err ignored;
    struct record record;
    auto_fd int folder_fd = lock->record_fd >= 0 ? records_lock(lock->folder, &ignored) : -1;
    if (folder_fd >= 0)
        finish(folder_fd, lock->key, lock->record_fd, &record);
    fd_close(lock->record_fd);
    fd_close(lock->parent_fd);
}

void stubs_each(const char *folder, stubs_seen *seen, void *context)
{
    auto_dir DIR *records = opendir(folder);
    for (struct dirent *entry; records && (entry = readdir(records));) {
        char temporary[STUB_NAME_SIZE], path[PATH_LONGEST + STUB_NAME_SIZE];
        struct record record;
        if (*entry->d_name == '.')
            continue;
        auto_fd int fd =
            openat(dirfd(records), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || !read_record(fd, &record))
            continue;
        temporary_name(record.path, temporary);
        snprintf(path, sizeof(path), "%.*s/%s", (int)path_parent_size(record.path, strlen(record.path)),
                 record.path, temporary);
        seen(context, path, 0, 0);
        if (record.inode)
            seen(context, record.path, record.device, record.inode);
    }
}

int stubs_tidy(struct arena *arena, const char *state_directory, stubs_removed *removed, void *context,
               struct err *err)
{
    struct stubs stubs = stubs_in(arena, state_directory);
    auto_dir DIR *folder = opendir(stubs.folder);
    if (!folder)
        return errno == ENOENT || errno == ENOTDIR ? 0
                                                   : err_sys(err, errno, "cannot look into %s", stubs.folder);
    auto_fd int folder_fd = -1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct record record;
        if (*entry->d_name == '.')
            continue;
        if (folder_fd < 0 && (folder_fd = records_lock(stubs.folder, err)) < 0)
            break;
        auto_fd int fd = openat(folder_fd, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && finish(folder_fd, entry->d_name, fd, &record))
            removed(context, record.path);
    }
    return folder_fd < 0 && err->errnum ? -1 : 0;
}
