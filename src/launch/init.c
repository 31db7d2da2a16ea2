#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "launch/inside.h"

/* The supervisor waits for nothing else: what cannot be reported ends the sandbox, which it notices. */
static void tell(int report_fd, struct report report)
{
    while (write(report_fd, &report, sizeof(report)) < 0) {
        if (errno != EINTR)
            _exit(STATUS_REFUSED);
    }
}

/* Gives the terminal to a process group of this session. The kernel permits it because signals are blocked here. */
static void give_terminal(const struct launch *launch, pid_t group)
{
    if (launch->terminal_fd >= 0)
        tcsetpgrp(launch->terminal_fd, group);
}

struct init {
    const struct launch *launch;
    int report_fd, control_fd, signal_fd;
    const struct kept *kept;
    pid_t command;
    bool all_are_stopped;
};

/* Self-check: a descriptor that was open must be closed. */
static int check_closed(int fd, struct err *err)
{
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
        return 0;
    err_set(err, "self-check failed: a descriptor of bawn is still open inside");
    return err_hint(err, "nothing was run; please report this with the output of `uname -a`");
}

static int limit_descriptors(const struct init *init, struct err *err)
{
    return setrlimit(RLIMIT_NOFILE, &init->kept->descriptors) < 0 ? err_sys(err, errno, "cannot set a limit")
                                                                  : 0;
}

void report_not_executed(const struct launch *launch, int errnum, struct report *report)
{
    bool is_missing = errnum == ENOENT || errnum == ENOTDIR;
    report->status = is_missing ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    err_sys(&report->err, errnum, "cannot run %s", launch->command[0]);
    if (is_missing)
        err_hint(
            &report->err,
            "check that it is installed, and in a directory that the sandbox may read (`bawn why PATH`)");
}

/* Runs in the child, which shares the memory of process 1: changes there persist. */
static int become_command(void *self)
{
    const struct init *init = self;
    const struct launch *launch = init->launch;
    if (launch->own_group)
        setpgid(0, 0);
    if (launch->foreground)
        give_terminal(launch, getpid());
    struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (process_close_descriptors(init->report_fd, &report.err) == 0 &&
        check_closed(init->control_fd, &report.err) == 0 && limit_descriptors(init, &report.err) == 0) {
        environ = (char **)launch->environment;
        execvp(launch->command[0], (char *const *)launch->command);
        report_not_executed(launch, errno, &report);
    }
    tell(init->report_fd, report);
    return report.status; /* which ends it: on a stack of its own, the sanitizers cannot follow _exit() */
}

/* Was no process started after the command? Then every act inside is its own. The last field is the newest pid. */
static bool is_command_alone(const struct init *init)
{
    char text[128] = "";
    auto_fd int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *last = size > 0 ? strrchr(text, ' ') : NULL;
    uint64_t newest;
    return last && ++last && text_take_number(&last, &newest) && newest == (uint64_t)init->command;
}

/* Reads all queued signals. waitpid() reports children; only the signal reports a decoy. */
static void hear_signals(const struct init *init)
{
    struct signalfd_siginfo information;
    while (read(init->signal_fd, &information, sizeof(information)) > 0) {
        size_t decoy = decoys_touched(&init->kept->decoys, &information);
        if (decoy < DECOY_COUNT)
            tell(init->report_fd, (struct report){.kind = REPORT_TOUCHED,
                                                  .status = (int)decoy,
                                                  .is_by_command = is_command_alone(init)});
    }
}

/*
 * The command has ended. The remaining processes are killed and reaped here, so that the supervisor need not wait until
 * the kernel has removed the namespaces.
 */
static _Noreturn void end(const struct init *init, int status)
{
    /* Orphans become children of process 1: without children it is alone. */
    bool is_alone = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
    if (!is_alone)
        kill(-1, SIGKILL);
    while (!is_alone && (waitpid(-1, NULL, 0) > 0 || errno == EINTR)) {
    }
    hear_signals(init);
    tell(init->report_fd, (struct report){.kind = REPORT_ENDED, .status = status});
    /*
     * Whoever closes the mount namespace last waits until the kernel has taken it down. That is for this process to do, so it
     * waits until the supervisor has closed it.
     */
    struct order ignored;
    while (read(init->control_fd, &ignored, sizeof(ignored)) > 0) {
    }
    _exit(0);
}

/* Reaps whatever ended. */
static void reap(struct init *init)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (pid != init->command)
            continue;
        if (WIFSTOPPED(status)) {
            /* A process that left the group would go on, and could take the terminal and read what is typed there. */
            init->all_are_stopped = init->launch->terminal_fd >= 0 && kill(-1, SIGSTOP) == 0;
            tell(init->report_fd, (struct report){.kind = REPORT_STOPPED, .status = WSTOPSIG(status)});
            continue;
        }
        end(init, status);
    }
}

/* Reads an order. The end of the socket means that the supervisor is dead: the sandbox ends with it. */
static void obey(struct init *init)
{
    struct order order;
    ssize_t got = read(init->control_fd, &order, sizeof(order));
    if (got == 0)
        _exit(0);
    if (got != sizeof(order))
        return;
    if (order.with_terminal)
        give_terminal(init->launch, init->command);
    bool is_for_all = order.signal == SIGCONT && init->all_are_stopped;
    init->all_are_stopped &= !is_for_all;
    kill(is_for_all ? -1 : init->launch->own_group ? -init->command : init->command, order.signal);
}

/* Releases memory while nothing happens: hundreds of process 1 may be waiting. */
static void let_memory_go(struct kept *kept)
{
    arena_free(&kept->arena);
    process_trim();
}

_Noreturn void init_run(const struct launch *launch, int report_fd, int control_fd, int port_fd,
                        struct kept *kept)
{
    struct init init = {.launch = launch, .report_fd = report_fd, .control_fd = control_fd, .kept = kept};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    init.signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    decoys_arm(&kept->decoys);
    /* With the supervisor, also while this process is stopped (supervise/standstill.c) and hears of nothing. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        _exit(0);
    /* The first order is to begin: until then the supervisor may still be reading the state before the command. */
    struct order begin;
    if (read(control_fd, &begin, sizeof(begin)) != sizeof(begin))
        _exit(0);
    init.command = process_start(become_command, &init);
    if (init.command < 0) {
        struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
        err_sys(&report.err, errno, "cannot make a process for the command");
        tell(report_fd, report);
        _exit(STATUS_REFUSED);
    }
    environ = NULL;
    enum { PATIENCE_MILLISECONDS = 3000 };
    for (int patience = PATIENCE_MILLISECONDS;;) {
        struct pollfd ready[] = {{.fd = init.signal_fd, .events = POLLIN},
                                 {.fd = control_fd, .events = POLLIN},
                                 {.fd = port_fd, .events = POLLIN}}; /* -1 is passed over */
        if (poll(ready, array_len(ready), patience) == 0) {
            let_memory_go(kept);
            patience = -1;
        }
        hear_signals(&init);
        reap(&init);
        if (ready[1].revents)
            obey(&init);
        /* A socket of this network for the other side, which alone can use it to reach the host's. */
        if (ready[2].revents && (port_serve(port_fd) == 0 || ready[2].revents & POLLERR))
            port_fd = -1;
    }
}
