#include "home/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/timespec.h"
#include "home/files.h"
#include "kernel/beneath.h"

static const char no_regular_file[] = "it is not a regular file", symbolic_link[] = "it is a symbolic link";

static void be_unfit(struct version *version, const char *why)
{
    *version = (struct version){
        .state = VERSION_UNFIT, .why = why, .is_no_file = why == no_regular_file || why == symbolic_link};
}

/*
 * Is the file not open for writing? The kernel refuses a lease if it is, and makes new writers wait until the lease is closed.
 * Without leases, it must be enough that the file does not change while it is read.
 */
static bool has_no_writer(int fd)
{
    /* SIGURG is ignored by default. */
    return fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) == 0 || errno != EAGAIN;
}

static bool is_unchanged(int fd, const struct stat *before)
{
    struct stat now;
    return fstat(fd, &now) == 0 && now.st_size == before->st_size &&
           timespec_is_same(now.st_mtim, before->st_mtim) && timespec_is_same(now.st_ctim, before->st_ctim);
}

static const char *read_whole(int fd, struct version *version)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return no_regular_file;
    if (status.st_size > VERSION_LARGEST)
        return "it is larger than 1 MiB";
    if (!has_no_writer(fd))
        return "it is being written";
    if (fstat(fd, &status) < 0 || status.st_size == 0 || status.st_size > VERSION_LARGEST)
        return "it is empty";
    size_t expected = (size_t)status.st_size, size = 0;
    version->bytes = must_realloc(NULL, expected, 1);
    for (ssize_t got; size < expected && (got = read(fd, version->bytes + size, expected - size)) > 0;)
        size += (size_t)got;
    if (size != expected)
        return "it cannot be read";
    if (!is_unchanged(fd, &status))
        return "it is being written";
    version->state = VERSION_WHOLE;
    version->size = size;
    version->time = status.st_mtim;
    sha256_hex(version->bytes, size, version->hash);
    return NULL;
}

void version_read(int directory_fd, const char *name, struct version *ret_version)
{
    auto_fd int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *ret_version = (struct version){0};
    if (fd < 0 && errno == ENOENT) {
        ret_version->state = VERSION_NONE;
        return;
    }
    const char *why = fd >= 0          ? read_whole(fd, ret_version)
                      : errno == ELOOP ? symbolic_link
                                       : "it cannot be opened";
    if (why) {
        version_free(ret_version);
        be_unfit(ret_version, why);
    }
}

void version_free(struct version *version)
{
    if (version->bytes)
        explicit_bzero(version->bytes, version->size); /* it may be a login */
    free(version->bytes);
    version->bytes = NULL;
}

bool version_equal(const struct version *a, const struct version *b)
{
    return a->state == b->state && a->state != VERSION_UNFIT &&
           (a->state == VERSION_NONE || strcmp(a->hash, b->hash) == 0);
}

/* Gives the new file the owner of the old one. If that fails, the file is not replaced. */
static int keep_owner(int directory_fd, const char *name, int fd, struct err *err)
{
    struct stat before, now;
    if (fstatat(directory_fd, name, &before, AT_SYMLINK_NOFOLLOW) < 0 || fstat(fd, &now) < 0 ||
        (before.st_uid == now.st_uid && before.st_gid == now.st_gid))
        return 0;
    if (fchown(fd, before.st_uid, before.st_gid) < 0 && before.st_uid != now.st_uid)
        return err_sys(err, errno, "cannot replace %s: it belongs to another user", name);
    return 0;
}

/* Writes the new content under a temporary name, with the time of the original. */
static int write_aside(int directory_fd, const char *name, const struct version *wanted,
                       char ret_temporary[TEMPORARY_SIZE], struct err *err)
{
    auto_fd int fd = files_make_temporary(directory_fd, ret_temporary, err);
    if (fd < 0)
        return -1;
    struct timespec times[2] = {wanted->time, wanted->time};
    int result = keep_owner(directory_fd, name, fd, err);
    if (result == 0 &&
        (write_whole(fd, wanted->bytes, wanted->size) < 0 || futimens(fd, times) < 0 || fdatasync(fd) < 0))
        result = err_sys(err, errno, "cannot write %s", name);
    if (result < 0)
        unlinkat(directory_fd, ret_temporary, 0);
    return result;
}

static int exchange(int directory_fd, const char *temporary, const char *name)
{
    return renameat2(directory_fd, temporary, directory_fd, name, RENAME_EXCHANGE);
}

/*
 * Exchanges the two names and reads the old file. If it is not the expected one, another program was faster, and the names are
 * exchanged back, until the file that comes out is the one that was put in.
 */
static int exchange_if_expected(int directory_fd, const char *temporary, const char *name,
                                const struct version *wanted, const struct version *expected, struct err *err)
{
    enum { TRIES = 100 };
    if (exchange(directory_fd, temporary, name) < 0) {
        bool is_unable = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
        if (is_unable) /* some network file systems cannot exchange: then only the rename is atomic */
            return files_place(directory_fd, temporary, name, err) < 0 ? -1 : 1;
        bool is_gone = errno == ENOENT;
        if (!is_gone)
            err_sys(err, errno, "cannot replace %s", name);
        unlinkat(directory_fd, temporary, 0);
        return is_gone ? 0 : -1;
    }
    auto_version struct version out = {0};
    version_read(directory_fd, temporary, &out);
    char should_come_out[SHA256_HEX_SIZE], now_inside[SHA256_HEX_SIZE];
    memcpy(should_come_out, expected->hash, sizeof(should_come_out));
    memcpy(now_inside, wanted->hash, sizeof(now_inside));
    int result = 1;
    for (int i = 0; i < TRIES; i++) {
        if (out.state == VERSION_WHOLE && strcmp(out.hash, should_come_out) == 0)
            break;
        result = 0;
        memcpy(should_come_out, now_inside, sizeof(should_come_out));
        memcpy(now_inside, out.hash, sizeof(now_inside));
        if (exchange(directory_fd, temporary, name) < 0) {
            /* The name is gone: our file is the newest. */
            renameat2(directory_fd, temporary, directory_fd, name, RENAME_NOREPLACE);
            return 0;
        }
        version_free(&out);
        version_read(directory_fd, temporary, &out);
    }
    unlinkat(directory_fd, temporary, 0);
    return result;
}

/* Moves the file away, reads it, and moves it back if it is not the expected one. */
static int remove_if_expected(int directory_fd, const char *name, const struct version *expected,
                              struct err *err)
{
    char temporary[TEMPORARY_SIZE];
    auto_fd int fd = files_make_temporary(directory_fd, temporary, err);
    if (fd < 0)
        return -1;
    if (renameat(directory_fd, name, directory_fd, temporary) < 0) {
        unlinkat(directory_fd, temporary, 0);
        return 0;
    }
    auto_version struct version out = {0};
    version_read(directory_fd, temporary, &out);
    bool is_expected = version_equal(&out, expected);
    if (!is_expected && renameat2(directory_fd, temporary, directory_fd, name, RENAME_NOREPLACE) == 0)
        return 0;
    unlinkat(directory_fd, temporary, 0);
    return is_expected;
}

int version_replace(int directory_fd, const char *name, const struct version *wanted,
                    const struct version *expected, struct err *err)
{
    if (wanted->state == VERSION_NONE)
        return remove_if_expected(directory_fd, name, expected, err);
    char temporary[TEMPORARY_SIZE];
    if (write_aside(directory_fd, name, wanted, temporary, err) < 0)
        return -1;
    if (expected->state != VERSION_NONE)
        return exchange_if_expected(directory_fd, temporary, name, wanted, expected, err);
    if (renameat2(directory_fd, temporary, directory_fd, name, RENAME_NOREPLACE) == 0)
        return 1;
    bool is_there = errno == EEXIST;
    if (!is_there)
        err_sys(err, errno, "cannot write %s", name);
    unlinkat(directory_fd, temporary, 0);
    return is_there ? 0 : -1;
}
