#include "supervise/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "supervise/terminal.h"

/* Passed on to the command. SIGWINCH and what the terminal sends reach its group by themselves. */
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};

struct supervision {
    const struct launch *launch;
    const struct launched *launched;
    struct tripwires *tripwires;
    int signal_fd, timer_fd;
    struct terminal_order terminal;
    bool terminal_is_given; /* the command has the terminal's foreground */
    bool was_asked;         /* to end, because its time is over */
    int ended_by;           /* the signal that ended the command, or 0 */
    int status;             /* for bawn to end with */
};

static void pass_on(const struct launched *launched, int number, bool with_terminal)
{
    struct order order = {number, with_terminal};
    /* Without waiting: process 1 may be gone, and its last report on the way; or so many signals wait that one more says nothing. */
    if (send(launched->control_fd, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
}

/* Is bawn's job the one that the terminal listens to? */
static bool has_terminal(const struct launch *launch)
{
    return launch->terminal_fd >= 0 && tcgetpgrp(launch->terminal_fd) == getpgrp();
}

/* Takes the terminal back from the command, if it is the command that has it. */
static void take_terminal(struct supervision *supervision)
{
    if (supervision->terminal_is_given)
        tcsetpgrp(supervision->launch->terminal_fd, getpgrp());
    supervision->terminal_is_given = false;
}

/*
 * The command was stopped: bawn stops itself by the same signal, so that the shell sees it. When the shell continues
 * bawn, the command continues, with the terminal if the shell gave it back. In the caller's own group the terminal does
 * all this.
 */
static void stop_along(struct supervision *supervision, int number)
{
    bool from_terminal = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    /*
     * Without a terminal no shell would continue bawn: stopping the command would also stop the watches and the time
     * limit.
     */
    if (supervision->launch->terminal_fd < 0)
        return;
    if (!supervision->launch->own_group && from_terminal)
        return;
    /* The command wants the terminal, which the shell gave to this job without a signal (`fg` of a running job). */
    bool wants_what_we_have = number != SIGTSTP && from_terminal && !supervision->terminal_is_given &&
                              has_terminal(supervision->launch);
    if (!wants_what_we_have) {
        take_terminal(supervision);
        terminal_put_right(&supervision->terminal);
        sigset_t stopping, before;
        sigemptyset(&stopping);
        sigaddset(&stopping, number);
        sigprocmask(SIG_UNBLOCK, &stopping, &before);
        kill(number == SIGTSTP ? 0 : getpid(), number);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    supervision->terminal_is_given = supervision->launch->own_group && has_terminal(supervision->launch);
    pass_on(supervision->launched, SIGCONT, supervision->terminal_is_given);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Reads a report of process 1. Ends the loop when the command has ended. */
static int hear(void *self, short events not_used, struct err *err)
{
    struct supervision *supervision = self;
    struct report report;
    ssize_t got = read(supervision->launched->report_fd, &report, sizeof(report));
    if (got < 0 && errno == EINTR)
        return 0;
    if (got != sizeof(report))
        return err_set(err, "the sandbox was ended from outside");
    switch (report.kind) {
    case REPORT_FAILED:
        supervision->status = report.status;
        *err = report.err;
        return -1;
    case REPORT_STOPPED:
        stop_along(supervision, report.status);
        return 0;
    case REPORT_TOUCHED:
        tripwires_touched(supervision->tripwires, (size_t)report.status, report.is_by_command);
        return 0;
    case REPORT_ENDED:
        supervision->status = status_of(report.status);
        supervision->ended_by = WIFSIGNALED(report.status) ? WTERMSIG(report.status) : 0;
        return 1;
    }
    return err_set(err, "process 1 of the sandbox sent an unknown message");
}

/* Passes signals on. SIGCONT may follow a stop of bawn alone, and then brings the terminal. */
static int hand_on(void *self, short events not_used, struct err *err not_used)
{
    struct supervision *supervision = self;
    struct signalfd_siginfo information;
    while (read(supervision->signal_fd, &information, sizeof(information)) == sizeof(information)) {
        int number = (int)information.ssi_signo;
        bool gets_terminal =
            number == SIGCONT && supervision->launch->own_group && has_terminal(supervision->launch);
        supervision->terminal_is_given |= gets_terminal;
        pass_on(supervision->launched, number, gets_terminal);
    }
    return 0;
}

enum { GRACE_SECONDS = 10 }; /* between asking a command to end and ending it */

/* Asks the command to end; the second time, ends the sandbox. */
static int end_in_time(void *self, short events not_used, struct err *err not_used)
{
    struct supervision *supervision = self;
    uint64_t expirations;
    if (read(supervision->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    if (supervision->was_asked) {
        kill(supervision->launched->pid, SIGKILL);
    } else {
        pass_on(supervision->launched, SIGTERM, false);
        pass_on(supervision->launched, SIGCONT, false); /* one that is stopped would not hear of it */
    }
    supervision->was_asked = true;
    return 0;
}

/* Rings when the time is over, and once more after the grace. *ret_fd is -1 where there is no limit. */
static int make_timer(uint64_t seconds, int *ret_fd, struct err *err)
{
    enum { LONGEST = 1000000000 };
    *ret_fd = -1;
    if (seconds > LONGEST)
        return 0;
    auto_fd int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct itimerspec time = {.it_value = {.tv_sec = (time_t)seconds, .tv_nsec = seconds ? 0 : 1},
                              .it_interval = {.tv_sec = GRACE_SECONDS}};
    if (fd < 0 || timerfd_settime(fd, 0, &time, NULL) < 0)
        return err_sys(err, errno, "the time limit cannot be enforced");
    *ret_fd = fd_take(&fd);
    return 0;
}

int supervise(const struct launch *launch, const struct launched *launched, struct loop *loop,
              struct tripwires *tripwires, struct outcome *ret_outcome, struct err *err)
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
    auto_fd int timer_fd = -1;
    int result = signal_fd < 0 ? err_sys(err, errno, "signals cannot be waited for")
                               : make_timer(launch->seconds, &timer_fd, err);
    struct supervision supervision = {launch,
                                      launched,
                                      tripwires,
                                      .signal_fd = signal_fd,
                                      .timer_fd = timer_fd,
                                      .terminal_is_given = launch->foreground,
                                      .status = STATUS_REFUSED};
    terminal_note(&supervision.terminal, launch->terminal_fd);
    if (signal_fd >= 0)
        loop_add(loop, signal_fd, POLLIN, hand_on, &supervision);
    loop_add(loop, launched->report_fd, POLLIN, hear, &supervision);
    if (timer_fd >= 0)
        loop_add(loop, timer_fd, POLLIN, end_in_time, &supervision);
    if (result == 0)
        result = launch_go(launched, err);
    if (result == 0)
        result = loop_run(loop, err);
    if (result < 0) {
        kill(launched->pid, SIGKILL);
        waitpid(launched->pid, NULL, 0);
    }
    take_terminal(&supervision);
    terminal_put_right(&supervision.terminal);
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    ret_outcome->status = supervision.status;
    ret_outcome->ran_out_of_time = supervision.was_asked;
    ret_outcome->is_interrupted = supervision.ended_by == SIGINT && launch->terminal_fd >= 0;
    return result;
}
