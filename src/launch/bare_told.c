/*
 * What the supervisor is told of: executions, where --log-exec or guards ask for them, and all calls that name a path, for `bawn learn`. With namespaces the
 * supervisor has a listener for these alone. A process can have one listener, and here that is the judge's: so the judge passes each notice on and goes on.
 *
 * Executions go through a pipe. The supervisor has the listener too, and answers there, whenever it likes. Other calls do not wait for that.
 *
 * Calls that name a path go through a socket, and come back when the supervisor has noted them: some of them are for the judge to carry out. The others go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/notice.h"
#include "kernel/path_notice.h"
#include "launch/bare.h"

struct told {
    int fd;         /* the pipe or the socket, which never makes the judge wait */
    bool has_begun; /* the command's process was seen with another program than bawn */
};

bool bare_tells(const struct bare *bare)
{
    return bare->launch->log_exec || operations_find(bare->launch->operations, OP_GUARD);
}

/* Makes what the supervisor is told by: its end, and the judge's. */
static int make_channel(const struct bare *bare, int ret_ends[2])
{
    return bare->launch->learns
               ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_ends)
               : pipe2(ret_ends, O_CLOEXEC | O_NONBLOCK);
}

/* The supervisor gets a descriptor of it, too. */
static int share_listener(const struct bare *bare, int listener_fd, struct err *err)
{
    int copy = fcntl(listener_fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? err_sys(err, errno, "the listener of system calls cannot be handed over")
                    : hand_over(bare->control_fd, 'x', copy, err);
}

int bare_begin_telling(struct bare *bare, int listener_fd, struct err *err)
{
    static struct told told; /* the judge's, until the process ends */
    int ends[2];
    if (!bare_tells(bare) && !bare->launch->learns)
        return 0;
    if (make_channel(bare, ends) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    auto_fd int theirs = ends[0];
    told = (struct told){.fd = ends[1]};
    bare->told = &told;
    if (bare_tells(bare) && share_listener(bare, listener_fd, err) < 0)
        return -1;
    return hand_over(bare->control_fd, 'e', fd_take(&theirs), err);
}

/* Is it the command's process, before it has executed anything? */
static bool is_command(const struct bare *bare, const struct judged_call *call)
{
    char path[64];
    struct stat own, theirs;
    if (bare->told->has_begun || call->thread != bare->command)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)call->thread);
    bare->told->has_begun = stat(path, &theirs) < 0 || stat("/proc/self/exe", &own) < 0 ||
                            own.st_dev != theirs.st_dev || own.st_ino != theirs.st_ino;
    return !bare->told->has_begun;
}

static struct notice notice_of(const struct judged_call *call)
{
    struct notice notice = {.id = call->id, .pid = call->thread, .call = call->number};
    memcpy(notice.arguments, call->arguments, sizeof(notice.arguments));
    return notice;
}

/* The command itself was typed by the user. It is passed on as with namespaces, where its memory is process 1's: there is nothing to read. */
int bare_execute(const struct bare *bare, const struct judged_call *call)
{
    struct notice notice = notice_of(call);
    if (!bare_tells(bare))
        return bare->launch->learns ? BARE_CONTINUED : ENOSYS;
    if (is_command(bare, call))
        memset(notice.arguments, 0, sizeof(notice.arguments));
    int errnum = notice_tell(bare->told->fd, &notice);
    return errnum ? errnum : BARE_ANSWERED;
}

/* Calls that try the walls are not reported: the supervisor waits until that is over. Nor are calls for which there is no room. */
bool bare_tell_path(const struct bare *bare, const struct judged_call *call)
{
    if (!bare->launch->learns || !path_notice_knows(call->number) || is_command(bare, call))
        return false;
    const struct notice notice = notice_of(call);
    return notice_tell(bare->told->fd, &notice) == 0;
}

int bare_told_fd(const struct bare *bare)
{
    return bare->launch->learns ? bare->told->fd : -1;
}

bool bare_take_told(const struct bare *bare, struct judged_call *call)
{
    struct notice notice;
    if (notice_take_told(bare->told->fd, &notice) <= 0)
        return false;
    call->thread = notice.pid;
    call->number = notice.call;
    call->id = notice.id;
    memcpy(call->arguments, notice.arguments, sizeof(call->arguments));
    return true;
}

void bare_end_telling(const struct bare *bare)
{
    if (bare->told)
        close(bare->told->fd);
}
