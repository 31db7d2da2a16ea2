/*
 * Judged opens: pseudo terminals of the command's own, and shared memory. And which job has the terminal.
 *
 * Terminals. The command may open /dev/ptmx. The other end of a pseudo terminal lies in /dev/pts beside all terminals of the user, so only the
 * judge may open there. It opens terminal N for a caller that has the master of N. A terminal that is open keeps its number: the judge looks
 * for the master once more when it has the other end, and so both are of one pair.
 *
 * Shared memory. POSIX keeps shared memory and named semaphores as files of /dev/shm, where those of all programs lie. For the command, names
 * there are names in a directory of the run's own. It can be opened, linked, renamed and removed by such a name; other calls see the host's
 * directory, and none of its contents.
 *
 * Opens that are about neither go on: Landlock decides about them, whatever path the caller then has in its memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/major.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/directories.h"
#include "kernel/memory.h"
#include "kernel/process.h"
#include "launch/bare.h"

#define SHARED    "/dev/shm/"
#define TERMINALS "/dev/pts/"

const char *bare_shared_name(const struct bare *bare, const char *path)
{
    const char *name = path + strlen(SHARED);
    if (bare->shared_fd < 0 || !text_starts_with(path, SHARED) || !*name || strchr(name, '/') ||
        strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return NULL;
    return name;
}

/* --- terminals ------------------------------------------------------------------------------------------------------ */

/* Is it the device that the command may open, in the same mount? Another mount may belong to other terminals. */
static bool is_master(const struct bare *bare, int fd)
{
    struct statx one, other;
    const unsigned wanted = STATX_INO | STATX_MNT_ID;
    return fd >= 0 && bare->master_fd >= 0 && statx(fd, "", AT_EMPTY_PATH, wanted, &one) == 0 &&
           statx(bare->master_fd, "", AT_EMPTY_PATH, wanted, &other) == 0 &&
           (one.stx_mask & other.stx_mask & wanted) == wanted && one.stx_mnt_id == other.stx_mnt_id &&
           one.stx_ino == other.stx_ino && one.stx_dev_major == other.stx_dev_major &&
           one.stx_dev_minor == other.stx_dev_minor;
}

/* The number of the terminal whose master the caller has under this descriptor; -1: it is none. */
static int terminal_of(const struct bare *bare, const struct judged_call *call, int fd)
{
    char name[32];
    auto_fd int master = judged_call_open(call, fd);
    if (!is_master(bare, master))
        return -1;
    uint64_t number;
    snprintf(name, sizeof(name), "fdinfo/%d", fd);
    return process_number_in(call->thread, name, "tty-index", &number) && number <= INT_MAX ? (int)number
                                                                                            : -1;
}

/* Gives the other end of a terminal whose master the caller has under this descriptor. Returns an errno, or BARE_ANSWERED. */
static int give_terminal(const struct bare *bare, const struct judged_call *call, int master, int number,
                         int flags)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), TERMINALS "%d", number);
    auto_fd int fd = open(path, (flags & O_ACCMODE) | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    if (fstat(fd, &status) < 0 || !S_ISCHR(status.st_mode) || terminal_of(bare, call, master) != number)
        return EIO;
    if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, 0) < 0)
        return errno;
    int errnum = judged_call_give(call, fd, flags & O_CLOEXEC);
    return errnum ? errnum : BARE_ANSWERED;
}

/* Is it a group of the run? Its leader may be gone. */
static bool is_group_inside(const struct bare *bare, pid_t group)
{
    return group > 0 &&
           ((getpgid(group) == group && bare_is_inside(group)) || bare_signal_inside(group, bare->killer, 0));
}

/* Both numbers are in registers. Who may be named, the kernel says: the caller and its children. */
int bare_setpgid(const struct bare *bare, const struct judged_call *call)
{
    pid_t process = (pid_t)call->arguments[0], group = (pid_t)call->arguments[1];
    bool is_own = group == (process ? process : process_of_thread(call->thread));
    return group < 0 || is_own || is_group_inside(bare, group) ? BARE_CONTINUED : EPERM;
}

/* Is the caller's descriptor the terminal that the command has from its caller? */
static bool is_terminal_of_caller(const struct bare *bare, const struct judged_call *call, int fd)
{
    struct stat one, other;
    auto_fd int opened = judged_call_open(call, fd);
    return opened >= 0 && bare->launch->terminal_fd >= 0 && fstat(opened, &one) == 0 &&
           fstat(bare->launch->terminal_fd, &other) == 0 && S_ISCHR(one.st_mode) &&
           (one.st_rdev == other.st_rdev || one.st_rdev == makedev(TTYAUX_MAJOR, 0)); /* /dev/tty */
}

/* tcsetpgrp(): the group stands in memory, so the judge does it. A session that was made inside has no group of the host's. */
static int give_foreground(const struct bare *bare, const struct judged_call *call)
{
    pid_t group;
    if (getsid(call->thread) != getsid(0))
        return BARE_CONTINUED;
    if (!is_terminal_of_caller(bare, call, (int)call->arguments[0]))
        return ENOTTY;
    if (memory_read(call->thread, call->arguments[2], &group, sizeof(group)) < 0 || !judged_call_waits(call))
        return EFAULT;
    if (group < 0)
        return EINVAL;
    if (!is_group_inside(bare, group))
        return EPERM;
    return tcsetpgrp(bare->launch->terminal_fd, group) < 0 ? errno : 0;
}

int bare_ioctl(const struct bare *bare, const struct judged_call *call)
{
    if ((uint32_t)call->arguments[1] == TIOCSPGRP)
        return give_foreground(bare, call);
    int master = (int)call->arguments[0], number = terminal_of(bare, call, master);
    return number < 0 ? ENOTTY : give_terminal(bare, call, master, number, (int)call->arguments[2]);
}

/* A program that opens a terminal by its name usually has its master open: looks for that among the caller's descriptors. */
static int open_terminal(const struct bare *bare, const struct judged_call *call, int number, int flags)
{
    enum { MOST_DESCRIPTORS = 1024 };
    char path[64];
    int trouble = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)call->thread);
    auto_dir DIR *directory = directories_take(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (unsigned i = 0; directory && i < MOST_DESCRIPTORS; i++) {
        const struct dirent *entry = directories_next(directory, &trouble);
        const char *name = entry ? entry->d_name : "";
        uint64_t fd;
        if (!text_take_number(&name, &fd))
            break;
        if (terminal_of(bare, call, (int)fd) == number)
            return give_terminal(bare, call, (int)fd, number, flags);
    }
    return BARE_CONTINUED;
}

/* --- shared memory -------------------------------------------------------------------------------------------------- */

static int open_shared(const struct bare *bare, const struct judged_call *call, const char *name, int flags,
                       unsigned mode)
{
    const int kept = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND;
    struct open_how how = {.flags = (unsigned)(flags & kept) | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
                           .mode = (flags & O_CREAT) ? mode & 0777 : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    struct stat status;
    auto_fd int fd = (int)syscall(SYS_openat2, bare->shared_fd, name, &how, sizeof(how));
    if (fd < 0)
        return errno;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return EACCES;
    if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags & O_APPEND) < 0)
        return errno;
    int errnum = judged_call_give(call, fd, flags & O_CLOEXEC);
    return errnum ? errnum : BARE_ANSWERED;
}

/* --- opens ------------------------------------------------------------------------------------------------------------ */

int bare_open(const struct bare *bare, const struct judged_call *call)
{
    size_t at = call->number == SYS_openat;
    int flags = (int)call->arguments[at + 1];
    not_zeroed char path[PATH_MAX];
    uint64_t number;
    if (flags & O_PATH || bare_read_path(call, call->arguments[at], path) != 0)
        return BARE_CONTINUED;
    const char *shared = bare_shared_name(bare, path), *rest = path + strlen(TERMINALS);
    if (shared)
        return open_shared(bare, call, shared, flags, (unsigned)call->arguments[at + 2]);
    if (text_starts_with(path, TERMINALS) && text_take_number(&rest, &number) && !*rest && number <= INT_MAX)
        return open_terminal(bare, call, (int)number, flags);
    return BARE_CONTINUED;
}
