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

struct watch {
    const struct launch *launch;
    const struct launched *launched;
    bool terminal_is_given; /* the command has the terminal's foreground */
    int ended_by;           /* the signal that ended the command, or 0 */
};

static void pass_on(const struct launched *launched, int number, bool with_terminal)
{
    struct order order = {number, with_terminal};
    if (write(launched->control_fd, &order, sizeof(order)) < 0)
        return; /* process 1 is gone, and its last report is on the way */
}

/* Is bawn's job the one that the terminal listens to? */
static bool has_terminal(const struct launch *launch)
{
    return launch->terminal_fd >= 0 && tcgetpgrp(launch->terminal_fd) == getpgrp();
}

/* Takes the terminal back from the command, if it is the command that has it. */
static void take_terminal(struct watch *watch)
{
    if (watch->terminal_is_given)
        tcsetpgrp(watch->launch->terminal_fd, getpgrp());
    watch->terminal_is_given = false;
}

/*
 * The command was stopped: so is bawn, by the same signal, for the shell to see; and when the shell lets it go on, the
 * command does, with the terminal if the shell gave it back. What a person typed is meant for the whole job, as it would
 * be without bawn. In the caller's own group, the terminal sees to all that by itself.
 */
static void stop_along(struct watch *watch, int number)
{
    bool from_terminal = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    if (!watch->launch->own_group && from_terminal)
        return;
    /* It wants the terminal, and the shell has given it to this job without a word (`fg` of a job that runs). */
    bool wants_what_we_have =
        number != SIGTSTP && from_terminal && !watch->terminal_is_given && has_terminal(watch->launch);
    if (!wants_what_we_have) {
        take_terminal(watch);
        sigset_t stopping, before;
        sigemptyset(&stopping);
        sigaddset(&stopping, number);
        sigprocmask(SIG_UNBLOCK, &stopping, &before);
        kill(number == SIGTSTP ? 0 : getpid(), number);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    watch->terminal_is_given = watch->launch->own_group && has_terminal(watch->launch);
    pass_on(watch->launched, SIGCONT, watch->terminal_is_given);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Returns 1 when the command has ended, 0 to go on, -1 on failure. */
static int hear(struct watch *watch, int *ret_status, struct err *err)
{
    struct report report;
    ssize_t got = read(watch->launched->report_fd, &report, sizeof(report));
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
        stop_along(watch, report.status);
        return 0;
    case REPORT_ENDED:
        *ret_status = status_of(report.status);
        watch->ended_by = WIFSIGNALED(report.status) ? WTERMSIG(report.status) : 0;
        return 1;
    case REPORT_STARTED:
        break;
    }
    return 0;
}

/* A signal that came from outside. SIGCONT may come after a stop that only bawn saw, and then brings the terminal. */
static void hand_on(struct watch *watch, int number)
{
    bool gets_terminal = number == SIGCONT && watch->launch->own_group && has_terminal(watch->launch);
    watch->terminal_is_given |= gets_terminal;
    pass_on(watch->launched, number, gets_terminal);
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
        pass_on(launched, SIGTERM, false);
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
    /* An order to a process 1 that has just ended is no reason to die before its last report is read. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before;
    sigaction(SIGPIPE, &ignore, &pipe_before);
    auto_fd int signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct watch watch = {launch, launched, .terminal_is_given = launch->foreground};
    bool was_asked = false;
    int heard = 0;
    while (heard == 0) {
        struct pollfd ready[] = {{.fd = launched->report_fd, .events = POLLIN},
                                 {.fd = signal_fd, .events = POLLIN}};
        int count = poll(ready, 2, time_left(launch, start.tv_sec, was_asked));
        if (count < 0 && errno != EINTR) {
            heard = err_sys(err, errno, "cannot wait for the command");
            kill(launched->pid, SIGKILL);
        }
        if (count == 0 && time_left(launch, start.tv_sec, was_asked) == 0) {
            end_in_time(launched, was_asked);
            was_asked = true;
        }
        if (count <= 0)
            continue;
        struct signalfd_siginfo information;
        while (ready[1].revents && read(signal_fd, &information, sizeof(information)) == sizeof(information))
            hand_on(&watch, (int)information.ssi_signo);
        if (ready[0].revents)
            heard = hear(&watch, ret_status, err);
    }
    waitpid(launched->pid, NULL, 0);
    take_terminal(&watch);
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (watch.ended_by == SIGINT && launch->terminal_fd >= 0)
        kill(0, SIGINT); /* a person's, and so for the whole job: a shell's loop around bawn ends too */
    return heard < 0 ? -1 : 0;
}
