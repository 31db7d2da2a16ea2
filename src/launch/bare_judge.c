/* The judge: a thread of the warden that answers the system calls which the command's seccomp program passes on. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/path_notice.h"
#include "launch/bare_sockets.h"

struct judge {
    const struct bare *bare;
    int listener_fd;
    struct callers callers;
};

static const struct {
    int number;
    bare_act *act;
} acts[] = {
    {SYS_ioctl, bare_ioctl},
    {SYS_setpgid, bare_setpgid},
    {SYS_clone, bare_clone},
#ifdef SYS_fork
    {SYS_fork, bare_fork},
    {SYS_vfork, bare_fork},
#endif
    {SYS_execve, bare_execute},
    {SYS_execveat, bare_execute},
    {SYS_kill, bare_kill},
    {SYS_tkill, bare_tkill},
    {SYS_tgkill, bare_tgkill},
    {SYS_rt_sigqueueinfo, bare_tgkill},
    {SYS_rt_tgsigqueueinfo, bare_tgkill},
    {SYS_pidfd_send_signal, bare_pidfd_send_signal},
    {SYS_truncate, bare_truncate},
    {SYS_openat, bare_open},
#ifdef SYS_chmod
    {SYS_open, bare_open},
    {SYS_chmod, bare_chmod},
    {SYS_chown, bare_chown},
    {SYS_lchown, bare_chown},
    {SYS_utime, bare_utime},
    {SYS_utimes, bare_utimes},
    {SYS_futimesat, bare_futimesat},
    {SYS_rename, bare_rename},
    {SYS_link, bare_link},
    {SYS_unlink, bare_unlink},
    {SYS_rmdir, bare_unlink},
#endif
#ifdef SYS_renameat
    {SYS_renameat, bare_rename},
#endif
    {SYS_renameat2, bare_rename},
    {SYS_linkat, bare_link},
    {SYS_unlinkat, bare_unlink},
    {SYS_fchmod, bare_fchmod},
    {SYS_fchmodat, bare_fchmodat},
    {452, bare_fchmodat}, /* fchmodat2, which the headers of some distributions lack */
    {SYS_fchown, bare_fchown},
    {SYS_fchownat, bare_fchownat},
    {SYS_utimensat, bare_utimensat},
    {SYS_setxattr, bare_setxattr},
    {SYS_lsetxattr, bare_setxattr},
    {SYS_fsetxattr, bare_fsetxattr},
    {SYS_removexattr, bare_removexattr},
    {SYS_lremovexattr, bare_removexattr},
    {SYS_fremovexattr, bare_fremovexattr},
    {SYS_socket, bare_socket},
    {SYS_connect, bare_connect},
    {SYS_bind, bare_bind},
    {SYS_listen, bare_listen},
    {SYS_getsockname, bare_getsockname},
    {SYS_getpeername, bare_getpeername},
    {SYS_sendto, bare_sendto},
    {SYS_recvfrom, bare_recvfrom},
    {SYS_recvmsg, bare_recvmsg},
    {SYS_setsockopt, bare_setsockopt},
};

/* The argument that names a process; -1: the call names none. */
static int process_argument(int number)
{
    switch (number) {
    case SYS_prlimit64:
    case SYS_sched_setaffinity:
    case SYS_sched_setattr:
    case SYS_sched_setparam:
    case SYS_sched_setscheduler:
        return 0;
    case SYS_setpriority:
    case SYS_ioprio_set:
        return 1;
    default:
        return -1;
    }
}

/*
 * The number of the process stands in a register, so the caller cannot change it: the kernel carries the call out. prlimit64 that sets
 * nothing is no exception, because a filter cannot be asked twice.
 */
static void judge_process(const struct bare *bare, const struct judged_call *call, int argument)
{
    pid_t process = (pid_t)call->arguments[argument];
    if (process != bare->killer && bare_is_inside(process))
        judged_call_let(call);
    else
        judged_call_answer(call, EPERM);
}

static void judge(const struct bare *bare, const struct judged_call *call)
{
    int argument = process_argument(call->number);
    if (argument >= 0) {
        judge_process(bare, call, argument);
        return;
    }
    for (size_t i = 0; i < array_len(acts); i++) {
        if (acts[i].number != call->number)
            continue;
        int answer = acts[i].act(bare, call);
        if (answer == BARE_CONTINUED)
            judged_call_let(call);
        else if (answer != BARE_ANSWERED)
            judged_call_answer(call, answer);
        return;
    }
    if (bare->launch->learns && path_notice_knows(call->number))
        judged_call_let(call); /* it was only to be told */
    else
        judged_call_answer(call, ENOSYS);
}

static void *run_judge(void *self)
{
    const struct judge *judging = self;
    const struct bare *bare = judging->bare;
    struct judged_call call;
    bare_use_all_processors(bare);
    for (int taken = 0; taken >= 0;) {
        struct pollfd ready[2 + NETWORK_AWAITED] = {{.fd = judging->listener_fd, .events = POLLIN},
                                                    {.fd = bare_told_fd(bare), .events = POLLIN}};
        int patience = bare_network_await(bare->network, ready + 2);
        bool has_others = patience >= 0 || ready[1].fd >= 0 || ready[2].fd >= 0 || ready[3].fd >= 0;
        if (has_others && poll(ready, array_len(ready), patience) < 0 && errno != EINTR)
            break;
        if (!has_others || ready[0].revents)
            taken = judged_call_take(judging->listener_fd, &call);
        if (taken > 0 && !bare_tell_path(bare, &call))
            judge(bare, &call);
        call.listener_fd = judging->listener_fd;
        if (ready[1].revents && bare_take_told(bare, &call))
            judge(bare, &call);
        if (patience >= 0 || ready[2].revents || ready[3].revents)
            bare_network_attend(bare);
        taken = taken > 0 ? 0 : taken;
    }
    close(judging->listener_fd); /* whoever still waits gets ENOSYS */
    bare_end_telling(bare);
    return NULL;
}

int bare_begin_judge(struct bare *bare, int listener_fd, struct err *err)
{
    static struct judge judging; /* the thread's, until the process ends */
    pthread_t thread;
    judging = (struct judge){.bare = bare, .listener_fd = listener_fd};
    bare->callers = &judging.callers;
    int errnum = pthread_create(&thread, NULL, run_judge, &judging);
    if (errnum) {
        close(listener_fd);
        return err_sys(err, errnum, "cannot start a thread that judges system calls");
    }
    pthread_detach(thread);
    return 0;
}
