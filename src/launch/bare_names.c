/*
 * Judged calls that change names: all in plans with frozen paths, in others those that may be about shared memory
 * (bare_devices.c). A frozen object keeps its name, gets no other one, and no directory on the way to it is moved.
 * All else is as Landlock and the kernel decide: the judge's own call is confined like the caller's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "launch/bare.h"

/* The directory that the caller's relative paths begin at, opened for the first of them that needs it. */
struct start {
    const struct judged_call *call;
    int directory; /* as the caller names it */
    int fd;        /* -1: not opened yet */
};

static void start_close(const struct start *start)
{
    fd_close(start->fd);
}
#define auto_start __attribute__((cleanup(start_close)))

/* A name in an open directory: what such a call is about. */
struct name {
    int directory_fd;   /* its own one, or where the caller's paths begin; -1: none */
    int own_fd;         /* -1: none */
    struct start start; /* where this path alone begins */
    const struct start *begins_at;
    size_t parent_size; /* of the path's bytes before its last component */
    const char *text;   /* the last component, with the slashes behind it; or the root */
    char path[PATH_MAX];
};

static void name_close(const struct name *name)
{
    start_close(&name->start);
    fd_close(name->own_fd);
}
#define auto_name __attribute__((cleanup(name_close)))

/*
 * Opens a path's directory: where the path begins, with what leads from there to the last component (`size` bytes). If another path of the call leads
 * to the same directory by the same words, that one's is taken. Returns 0 or an errno.
 */
static int open_directory_of(struct name *name, size_t size, struct start *start, const struct name *other)
{
    if (*name->path != '/' && start->fd < 0)
        start->fd = judged_call_open(start->call, start->directory);
    if (*name->path != '/' && start->fd < 0)
        return errno == EBADF && start == &name->start ? ENOENT : errno; /* as a path has it */
    name->directory_fd = start->fd;
    if (!size)
        return 0;
    if (other && other->own_fd >= 0 && other->begins_at == start && other->parent_size == size &&
        memcmp(other->path, name->path, size) == 0) {
        name->directory_fd = other->own_fd;
        return 0;
    }
    char parent[PATH_MAX];
    memcpy(parent, name->path, size);
    parent[size] = '\0';
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    name->own_fd =
        (int)syscall(SYS_openat2, *parent == '/' ? AT_FDCWD : start->fd, parent, &how, sizeof(how));
    name->directory_fd = name->own_fd;
    return name->own_fd < 0 ? errno : 0;
}

/* Opens the directory of a path, which is read once. `other`: NULL, or the call's first path. Returns 0 or an errno. */
static int open_name(const struct bare *bare, struct start *start, uint64_t address, const struct name *other,
                     struct name *ret_name)
{
    ret_name->directory_fd = ret_name->own_fd = -1;
    int errnum = bare_read_path(start->call, address, ret_name->path);
    if (errnum || !*ret_name->path)
        return errnum ? errnum : ENOENT;
    const char *shared = bare_shared_name(bare, ret_name->path);
    if (shared) {
        ret_name->text = shared;
        ret_name->directory_fd = bare->shared_fd;
        return 0;
    }
    int directory = start->directory;
    const char *rest = bare_skip_descriptor(ret_name->path, &directory);
    if (rest != ret_name->path) {
        memmove(ret_name->path, rest, strlen(rest) + 1);
        ret_name->start = (struct start){start->call, directory, -1};
        start = &ret_name->start;
    }
    size_t end = strlen(ret_name->path);
    while (end && ret_name->path[end - 1] == '/')
        end--;
    size_t size = end;
    while (size && ret_name->path[size - 1] != '/')
        size--;
    /* "/" alone stays whole: the kernel says what is wrong with it, and each call has another answer. */
    ret_name->text = ret_name->path + size;
    ret_name->begins_at = start;
    ret_name->parent_size = size ? size : *ret_name->path == '/';
    return open_directory_of(ret_name, ret_name->parent_size, start, other);
}

/* Is the name frozen, or the object that has it now? */
static bool is_frozen(const struct bare *bare, const struct name *name)
{
    struct stat object;
    if (bare_is_frozen_name(bare, name->directory_fd, name->text))
        return true;
    char plain[NAME_MAX + 1];
    size_t size = strcspn(name->text, "/");
    if (size > NAME_MAX)
        return false; /* the kernel knows no such name */
    memcpy(plain, name->text, size);
    plain[size] = '\0';
    if (fstatat(name->directory_fd, plain, &object, AT_SYMLINK_NOFOLLOW) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return bare_is_frozen(bare, &object, true);
}

/*
 * Does Landlock alone decide about this path? Nothing is frozen, and it names no shared memory. Should it become another path meanwhile, Landlock
 * decides about that.
 */
static bool is_landlocks(const struct bare *bare, const struct judged_call *call, uint64_t address)
{
    not_zeroed char path[PATH_MAX];
    return !bare_has_frozen(bare) && bare_read_path(call, address, path) == 0 &&
           !bare_shared_name(bare, path);
}

/* What the call says: its directories, paths and flags, as each spelling has them in other arguments. */
struct pair {
    int from_directory, to_directory;
    uint64_t from, to;
    int flags;
};

static struct pair pair_of(const struct judged_call *call, bool is_at, bool has_flags)
{
    if (!is_at)
        return (struct pair){AT_FDCWD, AT_FDCWD, call->arguments[0], call->arguments[1], 0};
    return (struct pair){(int)call->arguments[0], (int)call->arguments[2], call->arguments[1],
                         call->arguments[3], has_flags ? (int)call->arguments[4] : 0};
}

/* Two names, and where their paths begin. */
struct names {
    struct start first, second;
    struct name from, to;
};

static void names_close(const struct names *names)
{
    name_close(&names->from);
    name_close(&names->to);
    start_close(&names->first);
    start_close(&names->second);
}
#define auto_names __attribute__((cleanup(names_close)))
#define NAMES_NONE                                                                                           \
    ((struct names){.first.fd = -1,                                                                          \
                    .second.fd = -1,                                                                         \
                    .from = {.own_fd = -1, .start.fd = -1},                                                  \
                    .to = {.own_fd = -1, .start.fd = -1}})

/* Opens the directories of both paths, and looks whether one of the names is frozen. Returns 0 or an errno. */
static int open_names(const struct bare *bare, const struct judged_call *call, const struct pair *pair,
                      struct names *ret_names)
{
    struct names *names = ret_names;
    names->first = (struct start){call, pair->from_directory, -1};
    names->second = (struct start){call, pair->to_directory, -1};
    bool is_one = pair->from_directory == pair->to_directory;
    int errnum = open_name(bare, &names->first, pair->from, NULL, &names->from);
    if (errnum == 0)
        errnum = open_name(bare, is_one ? &names->first : &names->second, pair->to, &names->from, &names->to);
    if (errnum == 0 && (is_frozen(bare, &names->from) || is_frozen(bare, &names->to)))
        errnum = EPERM;
    return errnum;
}

int bare_rename(const struct bare *bare, const struct judged_call *call)
{
    bool is_at = true;
#ifdef SYS_rename
    is_at = call->number != SYS_rename;
#endif
    struct pair pair = pair_of(call, is_at, call->number == SYS_renameat2);
    if (pair.flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE))
        return EINVAL;
    if (is_landlocks(bare, call, pair.from) && is_landlocks(bare, call, pair.to))
        return BARE_CONTINUED;
    auto_names struct names names = NAMES_NONE;
    int errnum = open_names(bare, call, &pair, &names);
    if (errnum)
        return errnum;
    return syscall(SYS_renameat2, names.from.directory_fd, names.from.text, names.to.directory_fd,
                   names.to.text, (unsigned)pair.flags) < 0
               ? errno
               : 0;
}

/* A second name for what a symlink leads to: the object is opened, because the name is another's. */
static int link_object(const struct bare *bare, const struct judged_call *call, const struct pair *pair)
{
    not_zeroed char path[PATH_MAX];
    auto_start struct start start = {call, pair->to_directory, -1};
    auto_name struct name to = {.own_fd = -1, .start.fd = -1};
    struct stat object;
    int errnum = bare_read_path(call, pair->from, path);
    if (errnum)
        return errnum;
    const char *shared = bare_shared_name(bare, path);
    int opened = shared ? openat(bare->shared_fd, shared, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                        : bare_open_object(call, pair->from_directory, path, true);
    if (opened < 0)
        return shared ? errno : -opened;
    auto_fd int from = opened;
    errnum = open_name(bare, &start, pair->to, NULL, &to);
    if (errnum)
        return errnum;
    if (fstat(from, &object) < 0 || bare_is_frozen(bare, &object, true) || is_frozen(bare, &to))
        return EPERM;
    return linkat(AT_FDCWD, fd_path(from).text, to.directory_fd, to.text, AT_SYMLINK_FOLLOW) < 0 ? errno : 0;
}

/* A second name of a frozen file would not be frozen. */
int bare_link(const struct bare *bare, const struct judged_call *call)
{
    bool is_at = call->number == SYS_linkat;
    struct pair pair = pair_of(call, is_at, is_at);
    if (pair.flags & ~AT_SYMLINK_FOLLOW)
        return (pair.flags & AT_EMPTY_PATH) ? ENOENT : EINVAL; /* an empty path needs a capability */
    if (is_landlocks(bare, call, pair.from) && is_landlocks(bare, call, pair.to))
        return BARE_CONTINUED;
    if (pair.flags)
        return link_object(bare, call, &pair);
    auto_names struct names names = NAMES_NONE;
    int errnum = open_names(bare, call, &pair, &names);
    if (errnum)
        return errnum;
    return linkat(names.from.directory_fd, names.from.text, names.to.directory_fd, names.to.text, 0) < 0
               ? errno
               : 0;
}

int bare_unlink(const struct bare *bare, const struct judged_call *call)
{
    bool is_at = call->number == SYS_unlinkat;
    if (is_landlocks(bare, call, call->arguments[is_at]))
        return BARE_CONTINUED;
    int flags = is_at ? (int)call->arguments[2] : 0;
#ifdef SYS_rmdir
    flags |= call->number == SYS_rmdir ? AT_REMOVEDIR : 0;
#endif
    auto_start struct start start = {call, is_at ? (int)call->arguments[0] : AT_FDCWD, -1};
    auto_name struct name name = {.own_fd = -1, .start.fd = -1};
    int errnum = open_name(bare, &start, call->arguments[is_at], NULL, &name);
    if (errnum)
        return errnum;
    if (is_frozen(bare, &name))
        return EPERM;
    return unlinkat(name.directory_fd, name.text, flags) < 0 ? errno : 0;
}
