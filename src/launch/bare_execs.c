/*
 * Executions, where --log-exec or guards ask for them. With namespaces the supervisor has a listener for them alone. A process can have one listener, and
 * here that is the judge's: so the judge passes each notice on through a pipe, and goes on. The supervisor has the listener too, and answers it there,
 * whenever it likes. Other calls do not wait for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/notice.h"
#include "kernel/ports.h"
#include "launch/bare.h"

struct told {
    int fd;         /* the pipe, which never makes the judge wait */
    bool has_begun; /* the command's process was seen with another program than bawn */
};

bool bare_tells(const struct bare *bare)
{
    return bare->launch->log_exec || operations_find(bare->launch->operations, OP_GUARD);
}

static int hand_over(const struct bare *bare, char letter, int fd, struct err *err)
{
    return passing_send(bare->control_fd, &letter, 1, fd) < 0
               ? err_sys(err, errno, "the notices of executions cannot be handed over")
               : 0;
}

int bare_begin_telling(struct bare *bare, int listener_fd, struct err *err)
{
    static struct told told; /* the judge's, until the process ends */
    int ends[2];
    if (!bare_tells(bare))
        return 0;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    auto_fd int theirs = ends[0];
    told = (struct told){.fd = ends[1]};
    bare->told = &told;
    return hand_over(bare, 'x', listener_fd, err) < 0 ? -1 : hand_over(bare, 'e', theirs, err);
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

/* The command itself was typed by the user. It is passed on as with namespaces, where its memory is process 1's: there is nothing to read. */
int bare_execute(const struct bare *bare, const struct judged_call *call)
{
    struct notice notice = {.id = call->id, .pid = call->thread, .call = call->number};
    if (!bare->told)
        return ENOSYS;
    if (!is_command(bare, call))
        memcpy(notice.arguments, call->arguments, sizeof(notice.arguments));
    int errnum = notice_tell(bare->told->fd, &notice);
    return errnum ? errnum : BARE_ANSWERED;
}

void bare_end_telling(const struct bare *bare)
{
    if (bare->told)
        close(bare->told->fd);
}
