/*
 * Judged signals, on kernels whose Landlock keeps none inside (before version 6). A process is opened before it is judged, and signalled by
 * what was opened: its number may be another's by then. Only a signal to the caller's own process goes on, which keeps its number while
 * the caller waits.
 *
 * Whoever is signalled by another process sees the warden as the sender.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/process.h"
#include "launch/bare.h"

static int signal_one(pid_t process, int number)
{
    auto_fd int fd = process_open(process);
    if (fd < 0)
        return ESRCH;
    if (!bare_is_inside(process))
        return EPERM;
    return process_signal(fd, number) ? 0 : ESRCH;
}

int bare_kill(const struct bare *bare not_used, const struct judged_call *call)
{
    pid_t process = (pid_t)call->arguments[0], own = process_of_thread(call->thread);
    int number = (int)call->arguments[1];
    if (process > 0)
        return process == own ? BARE_CONTINUED : signal_one(process, number);
    pid_t group = process == -1 ? 0 : process == 0 ? getpgid(own) : -process;
    if (number < 0 || number > SIGRTMAX)
        return EINVAL;
    return bare_signal_inside(group, process == -1 ? own : 0, number) ? 0 : ESRCH;
}

/* tkill(): the kernel takes a number of a thread for that alone, so it goes on only for the caller itself. */
int bare_tkill(const struct bare *bare not_used, const struct judged_call *call)
{
    pid_t thread = (pid_t)call->arguments[0];
    if (thread == call->thread)
        return BARE_CONTINUED;
    return syscall(SYS_tgkill, process_of_thread(call->thread), thread, (int)call->arguments[1]) < 0 ? errno
                                                                                                     : 0;
}

/* Calls that name a process first, and perhaps a thread of it then. */
int bare_tgkill(const struct bare *bare not_used, const struct judged_call *call)
{
    pid_t process = (pid_t)call->arguments[0];
    bool names_thread = call->number == SYS_tgkill || call->number == SYS_rt_tgsigqueueinfo;
    if (process > 0 && process == process_of_thread(call->thread))
        return BARE_CONTINUED;
    if (process <= 0)
        return EINVAL;
    return names_thread && (pid_t)call->arguments[1] != process
               ? EPERM
               : signal_one(process, (int)call->arguments[names_thread ? 2 : 1]);
}

int bare_pidfd_send_signal(const struct bare *bare not_used, const struct judged_call *call)
{
    char name[32];
    uint64_t process;
    snprintf(name, sizeof(name), "fdinfo/%d", (int)call->arguments[0]);
    return process_number_in(call->thread, name, "Pid", &process)
               ? signal_one((pid_t)process, (int)call->arguments[1])
               : EBADF;
}

/* Opened by the judge, for whom Landlock decides as for the caller. */
int bare_truncate(const struct bare *bare not_used, const struct judged_call *call)
{
    not_zeroed char path[PATH_MAX];
    struct stat status;
    int errnum = bare_read_path(call, call->arguments[0], path);
    if (errnum)
        return errnum;
    int opened = bare_open_object(call, AT_FDCWD, path, true);
    if (opened < 0)
        return -opened;
    auto_fd int object = opened;
    if (fstat(object, &status) < 0 || !S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    auto_fd int fd = open(fd_path(object).text, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 || ftruncate(fd, (off_t)call->arguments[1]) < 0 ? errno : 0;
}
