#include "supervise/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

/* Passed on to the command. SIGWINCH and what the terminal sends reach its group by themselves. */
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};

static void pass_on(const struct launched *launched, int number)
{
    if (write(launched->control_fd, &number, sizeof(number)) < 0)
        return; /* process 1 is gone, and its last report is on the way */
}

static void take_terminal(const struct launch *launch)
{
    if (launch->foreground)
        tcsetpgrp(launch->terminal_fd, getpgrp());
}

/* The command was stopped: so is bawn, for the shell to see; and when the shell lets it go on, the command does. */
static void stop_along(const struct launch *launch, const struct launched *launched)
{
    take_terminal(launch);
    kill(getpid(), SIGSTOP);
    pass_on(launched, SIGCONT);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Returns 1 when the command has ended, 0 to go on, -1 on failure. */
static int hear(const struct launch *launch, const struct launched *launched, int *ret_status,
                struct err *err)
{
    struct report report;
    ssize_t got = read(launched->report_fd, &report, sizeof(report));
    if (got < 0 && errno == EINTR)
        return 0;
    *ret_status = STATUS_REFUSED;
    if (got != sizeof(report))
        return err_set(err, "the sandbox was ended from outside");
    switch (report.kind) {
    case REPORT_FAILED:
        *ret_status = report.status;
        *err = report.err;
        return -1;
    case REPORT_STOPPED:
        stop_along(launch, launched);
        return 0;
    case REPORT_ENDED:
        *ret_status = status_of(report.status);
        return 1;
    case REPORT_STARTED:
        break;
    }
    return 0;
}

int supervise(const struct launch *launch, const struct launched *launched, int *ret_status, struct err *err)
{
    sigset_t watched, before;
    sigemptyset(&watched);
    for (size_t i = 0; i < array_len(passed_on); i++)
        sigaddset(&watched, passed_on[i]);
    sigset_t blocked = watched;
    sigaddset(&blocked, SIGTTOU); /* taking the terminal back from the background must not stop bawn */
    sigprocmask(SIG_BLOCK, &blocked, &before);
    auto_fd int signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    int heard = 0;
    while (heard == 0) {
        struct pollfd ready[] = {{.fd = launched->report_fd, .events = POLLIN},
                                 {.fd = signal_fd, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for the command");
        struct signalfd_siginfo information;
        while (ready[1].revents && read(signal_fd, &information, sizeof(information)) == sizeof(information))
            pass_on(launched, (int)information.ssi_signo);
        if (ready[0].revents)
            heard = hear(launch, launched, ret_status, err);
    }
    waitpid(launched->pid, NULL, 0);
    take_terminal(launch);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return heard < 0 ? -1 : 0;
}
