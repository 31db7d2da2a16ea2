#include "supervise/supervise.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
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

enum { GRACE_SECONDS = 10 }; /* between asking a command to end and ending it */

/* Milliseconds until the time limit, or until its grace is over; -1 for no limit. */
static int time_left(const struct launch *launch, time_t started, bool was_asked)
{
    if (launch->seconds == UINT64_MAX)
        return -1;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t passed = (uint64_t)(now.tv_sec - started),
             most = launch->seconds + (was_asked ? GRACE_SECONDS : 0);
    uint64_t left = passed < most ? most - passed : 0;
    return left > INT_MAX / 1000 ? INT_MAX : (int)left * 1000;
}

/* The time is over: the command is asked to end, and the second time everything is ended. */
static void end_in_time(const struct launched *launched, bool was_asked)
{
    if (was_asked)
        kill(launched->pid, SIGKILL);
    else
        pass_on(launched, SIGTERM);
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
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    bool was_asked = false;
    int heard = 0;
    while (heard == 0) {
        struct pollfd ready[] = {{.fd = launched->report_fd, .events = POLLIN},
                                 {.fd = signal_fd, .events = POLLIN}};
        int count = poll(ready, 2, time_left(launch, start.tv_sec, was_asked));
        if (count < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for the command");
        if (count == 0 && time_left(launch, start.tv_sec, was_asked) == 0) {
            end_in_time(launched, was_asked);
            was_asked = true;
        }
        if (count <= 0)
            continue;
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
