/*
 * Judged calls on files. Each reads its path once, opens the object without an effect (O_PATH), judges the object that it has opened,
 * and carries the call out on that descriptor. Runs in the judge, whose domain of Landlock is one that the caller's lies in.
 *
 * A call that names its object by a descriptor goes on where that descriptor cannot become another one (kernel/callers.h): tar and cp
 * make several such calls for each file, and the kernel carries them out in half the time.
 *
 * Times, modes, owners and attributes may be changed where the plan lets files be written, and not of frozen objects. Names may be
 * changed as Landlock allows, but for frozen ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/memory.h"
#include "launch/bare.h"

int bare_read_path(const struct judged_call *call, uint64_t address, char ret_path[PATH_MAX])
{
    bool is_whole;
    size_t size = memory_read_text(call->thread, address, ret_path, PATH_MAX, &is_whole);
    if (!judged_call_waits(call))
        return ESRCH;
    return is_whole ? 0 : size == PATH_MAX - 1 ? ENAMETOOLONG : EFAULT;
}

/* "/proc/self/fd/7" is meant by the caller as its own: the number, or -1. *ret_rest is what follows it. */
static int own_descriptor(const char *path, const char **ret_rest)
{
    static const char *const starts[] = {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"};
    for (size_t i = 0; i < array_len(starts); i++) {
        const char *rest = path + strlen(starts[i]);
        uint64_t number;
        if (!text_starts_with(path, starts[i]) || !text_take_number(&rest, &number) || number > INT_MAX)
            continue;
        *ret_rest = rest;
        return (int)number;
    }
    return -1;
}

const char *bare_skip_descriptor(const char *path, int *directory)
{
    const char *rest = path;
    int own = own_descriptor(path, &rest);
    const char *relative = rest + strspn(rest, "/");
    if (own < 0 || *rest != '/' || !*relative)
        return path;
    *directory = own;
    return relative;
}

int bare_open_object(const struct judged_call *call, int directory, const char *path, bool follows)
{
    const char *rest = "", *whole = path;
    path = bare_skip_descriptor(path, &directory);
    int own = follows ? own_descriptor(path, &rest) : -1;
    if (own >= 0 && !*rest) {
        int fd = judged_call_open(call, own);
        return fd < 0 ? -errno : fd;
    }
    auto_fd int base = *path == '/' ? AT_FDCWD : judged_call_open(call, directory);
    if (base == -1)
        return errno == EBADF && path != whole ? -ENOENT : -errno;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW),
                           .resolve = RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

/* --- times, modes, owners, attributes ----------------------------------------------------------------------------- */

/* Pipes and sockets have no place, and a file without a name is nobody else's. */
static bool has_no_place(const struct stat *status, const char *place)
{
    bool is_nameless = S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode);
    return (status->st_nlink == 0 && text_ends_with(place, " (deleted)")) ||
           (is_nameless && (text_starts_with(place, "pipe:[") || text_starts_with(place, "socket:[")));
}

/* Is it a path, as the kernel spells that of an object with a name? */
static bool is_plain(const char *place)
{
    return *place == '/' && !text_ends_with(place, " (deleted)");
}

bool bare_is_written(const struct bare *bare, const char *place)
{
    for (size_t i = 0; i < bare->written.count; i++) {
        if (path_is_beneath(place, bare->written.at[i]))
            return true;
    }
    return false;
}

/* May objects at this place be changed, if they are not frozen? Returns 0 or an errno. */
static int judge_place(const struct bare *bare, const char *place)
{
    for (size_t i = 0; i < bare->paths.count; i++) {
        if (path_is_beneath(place, bare->paths.at[i]))
            return EPERM;
    }
    return bare_is_written(bare, place) ? 0 : EPERM;
}

/* May the caller change what is known of this object? Returns 0 or an errno. */
static int judge_object(const struct bare *bare, int fd)
{
    not_zeroed char place[PATH_MAX];
    struct stat status;
    ssize_t size = readlink(fd_path(fd).text, place, sizeof(place));
    if (size <= 0 || (size_t)size >= sizeof(place))
        return EPERM;
    place[size] = '\0';
    if (is_plain(place) && !bare_has_frozen(bare))
        return judge_place(bare, place);
    if (fstat(fd, &status) < 0)
        return EPERM;
    if (has_no_place(&status, place))
        return 0;
    return bare_is_frozen(bare, &status, false) ? EPERM : judge_place(bare, place);
}

/* May a call on a descriptor of the caller's go on? It is judged by nothing that could change meanwhile. In doubt it may not. */
static bool may_go_on(const struct bare *bare, const struct judged_call *call)
{
    not_zeroed char place[PATH_MAX];
    struct stat status;
    bool has_frozen = bare_has_frozen(bare);
    return callers_settled_place(bare->callers, call, (int)call->arguments[0], place, sizeof(place),
                                 has_frozen ? &status : NULL) &&
           is_plain(place) && !(has_frozen && bare_is_frozen(bare, &status, false)) &&
           judge_place(bare, place) == 0;
}

/* The object of a judged call, opened and judged. Returns a descriptor, or the negative errno. */
static int open_judged(const struct bare *bare, const struct judged_call *call, int directory,
                       uint64_t address, bool follows)
{
    not_zeroed char path[PATH_MAX];
    int errnum = bare_read_path(call, address, path);
    if (errnum)
        return -errnum;
    auto_fd int fd = bare_open_object(call, directory, path, follows);
    if (fd < 0)
        return fd_take(&fd);
    errnum = judge_object(bare, fd);
    return errnum ? -errnum : fd_take(&fd);
}

/* The same by descriptor. */
static int open_judged_number(const struct bare *bare, const struct judged_call *call, int number)
{
    auto_fd int fd = number == AT_FDCWD ? -1 : judged_call_open(call, number);
    if (fd < 0)
        return number == AT_FDCWD ? -EBADF : -errno;
    int errnum = judge_object(bare, fd);
    return errnum ? -errnum : fd_take(&fd);
}

/* The same, as fchmod() names it: the descriptor must be able to read or write. */
static int open_judged_fd(const struct bare *bare, const struct judged_call *call, int number)
{
    return judged_call_has_path_only(call, number) ? -EBADF : open_judged_number(bare, call, number);
}

/* A path, or the descriptor itself where the flags allow an empty path. */
static int open_judged_at(const struct bare *bare, const struct judged_call *call, uint64_t address,
                          int flags)
{
    not_zeroed char path[PATH_MAX];
    int directory = (int)call->arguments[0], errnum = bare_read_path(call, address, path);
    if (errnum)
        return -errnum;
    if (!*path && flags & AT_EMPTY_PATH && directory != AT_FDCWD)
        return open_judged_number(bare, call, directory);
    auto_fd int fd = bare_open_object(call, directory, !*path && flags & AT_EMPTY_PATH ? "." : path,
                                      !(flags & AT_SYMLINK_NOFOLLOW));
    if (fd < 0)
        return fd_take(&fd);
    errnum = judge_object(bare, fd);
    return errnum ? -errnum : fd_take(&fd);
}

enum { SET_ID_MODES = S_ISUID | S_ISGID };

static int errno_of(int result)
{
    return result < 0 ? errno : 0;
}

/* Owns the descriptor, or is the negative errno. */
static int change_mode(int opened, uint64_t mode)
{
    auto_fd int fd = opened;
    if (fd < 0)
        return -opened;
    /* On the host such a program would make its owner of whoever runs it. */
    if (mode & SET_ID_MODES)
        return EPERM;
    return errno_of(chmod(fd_path(fd).text, (mode_t)mode & 07777));
}

int bare_chmod(const struct bare *bare, const struct judged_call *call)
{
    return change_mode(open_judged(bare, call, AT_FDCWD, call->arguments[0], true), call->arguments[1]);
}

int bare_fchmod(const struct bare *bare, const struct judged_call *call)
{
    if (!(call->arguments[1] & SET_ID_MODES) && may_go_on(bare, call))
        return BARE_CONTINUED;
    return change_mode(open_judged_fd(bare, call, (int)call->arguments[0]), call->arguments[1]);
}

/* fchmodat() has no flags: the fourth argument is whatever the register held. */
int bare_fchmodat(const struct bare *bare, const struct judged_call *call)
{
    int flags = call->number == SYS_fchmodat ? 0 : (int)call->arguments[3];
    if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return EINVAL;
    return change_mode(open_judged_at(bare, call, call->arguments[1], flags), call->arguments[2]);
}

static int change_owner(int opened, uint64_t user, uint64_t group)
{
    auto_fd int fd = opened;
    return fd < 0 ? -opened : errno_of(fchownat(fd, "", (uid_t)user, (gid_t)group, AT_EMPTY_PATH));
}

int bare_chown(const struct bare *bare, const struct judged_call *call)
{
    bool follows = true;
#ifdef SYS_lchown
    follows = call->number != SYS_lchown;
#endif
    return change_owner(open_judged(bare, call, AT_FDCWD, call->arguments[0], follows), call->arguments[1],
                        call->arguments[2]);
}

int bare_fchown(const struct bare *bare, const struct judged_call *call)
{
    if (may_go_on(bare, call))
        return BARE_CONTINUED;
    return change_owner(open_judged_fd(bare, call, (int)call->arguments[0]), call->arguments[1],
                        call->arguments[2]);
}

int bare_fchownat(const struct bare *bare, const struct judged_call *call)
{
    int flags = (int)call->arguments[4];
    if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return EINVAL;
    return change_owner(open_judged_at(bare, call, call->arguments[1], flags), call->arguments[2],
                        call->arguments[3]);
}

static int change_times(int opened, const struct timespec *times)
{
    auto_fd int fd = opened;
    return fd < 0 ? -opened : errno_of(utimensat(fd, "", times, AT_EMPTY_PATH));
}

/* Two times in microseconds. */
static int change_times_by(int opened, const struct judged_call *call, uint64_t address)
{
    auto_fd int fd = opened;
    struct timeval given[2] = {0};
    if (fd < 0)
        return -opened;
    if (!address)
        return change_times(fd_take(&fd), NULL);
    if (memory_read(call->thread, address, given, sizeof(given)) < 0)
        return EFAULT;
    struct timespec times[2] = {0};
    for (size_t i = 0; i < array_len(times); i++) {
        if (given[i].tv_usec < 0 || given[i].tv_usec >= 1000000)
            return EINVAL;
        times[i] = (struct timespec){given[i].tv_sec, given[i].tv_usec * 1000};
    }
    return change_times(fd_take(&fd), times);
}

int bare_utimes(const struct bare *bare, const struct judged_call *call)
{
    return change_times_by(open_judged(bare, call, AT_FDCWD, call->arguments[0], true), call,
                           call->arguments[1]);
}

int bare_futimesat(const struct bare *bare, const struct judged_call *call)
{
    int directory = (int)call->arguments[0];
    int fd = call->arguments[1] ? open_judged(bare, call, directory, call->arguments[1], true)
                                : open_judged_fd(bare, call, directory);
    return change_times_by(fd, call, call->arguments[2]);
}

int bare_utime(const struct bare *bare, const struct judged_call *call)
{
    struct utimbuf given = {0};
    if (call->arguments[1] && memory_read(call->thread, call->arguments[1], &given, sizeof(given)) < 0)
        return EFAULT;
    int fd = open_judged(bare, call, AT_FDCWD, call->arguments[0], true);
    const struct timespec times[2] = {{.tv_sec = call->arguments[1] ? given.actime : 0},
                                      {.tv_sec = call->arguments[1] ? given.modtime : 0}};
    return change_times(fd, call->arguments[1] ? times : NULL);
}

int bare_utimensat(const struct bare *bare, const struct judged_call *call)
{
    struct timespec times[2] = {0};
    int flags = (int)call->arguments[3];
    if (!call->arguments[1] && !flags && may_go_on(bare, call))
        return BARE_CONTINUED;
    if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return EINVAL;
    if (call->arguments[2] && memory_read(call->thread, call->arguments[2], times, sizeof(times)) < 0)
        return EFAULT;
    if (!call->arguments[1] && (int)call->arguments[0] == AT_FDCWD)
        return EFAULT;
    int fd = call->arguments[1] ? open_judged_at(bare, call, call->arguments[1], flags)
                                : open_judged_fd(bare, call, (int)call->arguments[0]);
    return change_times(fd, call->arguments[2] ? times : NULL);
}

/* An attribute's name, as the kernel bounds it. Returns 0 or an errno. */
static int read_name(const struct judged_call *call, uint64_t address, char ret_name[XATTR_NAME_MAX + 1])
{
    bool is_whole;
    size_t size = memory_read_text(call->thread, address, ret_name, XATTR_NAME_MAX + 1, &is_whole);
    return is_whole && size ? 0 : is_whole || size == XATTR_NAME_MAX ? ERANGE : EFAULT;
}

static int set_attribute(int opened, const struct judged_call *call)
{
    auto_fd int fd = opened;
    char name[XATTR_NAME_MAX + 1];
    size_t size = call->arguments[3];
    if (fd < 0)
        return -opened;
    int errnum = read_name(call, call->arguments[1], name);
    if (errnum)
        return errnum;
    if (size > XATTR_SIZE_MAX)
        return E2BIG;
    char *value = malloc(size + 1);
    if (!value)
        return ENOMEM;
    errnum = size && memory_read(call->thread, call->arguments[2], value, size) < 0
                 ? EFAULT
                 : errno_of(setxattr(fd_path(fd).text, name, value, size, (int)call->arguments[4]));
    free(value);
    return errnum;
}

int bare_setxattr(const struct bare *bare, const struct judged_call *call)
{
    return set_attribute(open_judged(bare, call, AT_FDCWD, call->arguments[0], call->number == SYS_setxattr),
                         call);
}

int bare_fsetxattr(const struct bare *bare, const struct judged_call *call)
{
    if (may_go_on(bare, call))
        return BARE_CONTINUED;
    return set_attribute(open_judged_fd(bare, call, (int)call->arguments[0]), call);
}

static int remove_attribute(int opened, const struct judged_call *call)
{
    auto_fd int fd = opened;
    char name[XATTR_NAME_MAX + 1];
    int errnum = fd < 0 ? -opened : read_name(call, call->arguments[1], name);
    return errnum ? errnum : errno_of(removexattr(fd_path(fd).text, name));
}

int bare_removexattr(const struct bare *bare, const struct judged_call *call)
{
    return remove_attribute(
        open_judged(bare, call, AT_FDCWD, call->arguments[0], call->number == SYS_removexattr), call);
}

int bare_fremovexattr(const struct bare *bare, const struct judged_call *call)
{
    if (may_go_on(bare, call))
        return BARE_CONTINUED;
    return remove_attribute(open_judged_fd(bare, call, (int)call->arguments[0]), call);
}
