#include "supervise/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"

/* All but SIGTSTP are passed on to the command. SIGWINCH and what the terminal sends reach its group by themselves. */
static const int heard[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};

struct supervision {
    struct foreground *foreground;
    struct standstill *standstill;
    struct tripwires *tripwires;
    struct localhost *localhost;
    int signal_fd, timer_fd;
    int resume_fd;      /* an eventfd: bawn was stopped, and everything inside stands still */
    int rounds_to_wait; /* of the loop, before it goes on */
    struct terminal_order terminal;
    bool was_asked; /* to end, because its time is over */
    uint64_t refused;
    int ended_by;  /* the signal that ended the command, or 0 */
    int passed_on; /* the last signal from outside that asks to end, or 0 */
    int status;    /* for bawn to end with */
};

/*
 * Stops bawn, or its group. Nothing inside runs meanwhile: nobody would watch it. So bawn does not stop, and this returns false, where
 * something inside cannot be stopped.
 */
static bool stop_self(struct supervision *supervision, int number, bool with_group)
{
    enum {
        ROUNDS = 2
    }; /* in the first, the other sources look at what happened outside; a pin may have fallen */
    bool was_still = supervision->rounds_to_wait > 0;
    if (!was_still && !standstill_begin(supervision->standstill)) {
        standstill_end(supervision->standstill);
        return false;
    }
    foreground_take(supervision->foreground);
    terminal_put_right(&supervision->terminal, false);
    sigset_t stopping, before;
    sigemptyset(&stopping);
    sigaddset(&stopping, number);
    sigprocmask(SIG_UNBLOCK, &stopping, &before);
    kill(with_group ? 0 : getpid(), number);
    sigprocmask(SIG_SETMASK, &before, NULL);
    supervision->rounds_to_wait = ROUNDS;
    eventfd_write(supervision->resume_fd, 1);
    return true;
}

static int resume(void *self, short events not_used, struct err *err not_used)
{
    struct supervision *supervision = self;
    eventfd_t ignored;
    if (--supervision->rounds_to_wait > 0 || eventfd_read(supervision->resume_fd, &ignored) < 0)
        return 0;
    foreground_go_on(supervision->foreground);
    standstill_end(supervision->standstill);
    return 0;
}

/*
 * The command was stopped: bawn stops itself by the same signal, so that the shell sees it. When the shell continues
 * bawn, the command continues. In the caller's own group the terminal does all this.
 */
static void stop_along(struct supervision *supervision, int number)
{
    bool from_terminal = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    /*
     * Without a terminal no shell would continue bawn: stopping the command would also stop the watches and the time
     * limit.
     */
    if (supervision->foreground->launch->terminal_fd < 0)
        return;
    if (!supervision->foreground->launch->own_group && from_terminal)
        return;
    bool wants_terminal = from_terminal && number != SIGTSTP;
    if (wants_terminal && foreground_was_wanted(supervision->foreground))
        return;
    /* The command wants the terminal, which the shell gave to this job without a signal (`fg` of a running job). */
    bool wants_what_we_have =
        wants_terminal && !supervision->foreground->is_given && foreground_is_ours(supervision->foreground);
    if (wants_what_we_have || !stop_self(supervision, number, number == SIGTSTP))
        foreground_go_on(supervision->foreground);
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
    ssize_t got = read(supervision->foreground->launched->report_fd, &report, sizeof(report));
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
    case REPORT_SERVES:
    case REPORT_MISSED:
        localhost_hear(supervision->localhost,
                       report.kind == REPORT_SERVES ? LOCALHOST_SERVES : LOCALHOST_REFUSED,
                       (uint16_t)report.status);
        return 0;
    case REPORT_TOUCHED:
        tripwires_touched(supervision->tripwires, (size_t)report.status, report.is_by_command);
        return 0;
    case REPORT_ENDED:
        supervision->status = status_of(report.status);
        supervision->refused = report.refused;
        supervision->ended_by = WIFSIGNALED(report.status) ? WTERMSIG(report.status) : 0;
        return 1;
    }
    return err_set(err, "process 1 of the sandbox sent an unknown message");
}

/* What is stopped hears of nothing: no prompt stays, and nobody answers any more. */
static void end_answers(struct supervision *supervision)
{
    standstill_give_up(supervision->standstill);
    if (!supervision->foreground->prompt)
        return;
    foreground_end(supervision->foreground);
    foreground_go_on(supervision->foreground);
}

/* Passes signals on. SIGCONT may follow a stop of bawn alone, and then brings the terminal; SIGTSTP is such a stop. */
static int hand_on(void *self, short events not_used, struct err *err not_used)
{
    struct supervision *supervision = self;
    struct signalfd_siginfo information;
    while (read(supervision->signal_fd, &information, sizeof(information)) == sizeof(information)) {
        int number = (int)information.ssi_signo;
        if (number == SIGTSTP)
            stop_self(supervision, number, false);
        else if (number == SIGCONT)
            foreground_go_on(supervision->foreground);
        else
            foreground_pass_on(supervision->foreground, number, false);
        if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT) {
            supervision->passed_on = number;
            end_answers(supervision);
        }
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
        launch_kill(supervision->foreground->launched);
    } else {
        end_answers(supervision);
        foreground_pass_on(supervision->foreground, SIGTERM, false);
        foreground_pass_on(supervision->foreground, SIGCONT,
                           false); /* one that is stopped would not hear of it */
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

/* Makes what the loop waits for, and adds it. */
static int add_sources(struct supervision *supervision, const sigset_t *watched, struct loop *loop,
                       struct err *err)
{
    supervision->signal_fd = signalfd(-1, watched, SFD_CLOEXEC | SFD_NONBLOCK);
    supervision->resume_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (supervision->signal_fd < 0 || supervision->resume_fd < 0)
        return err_sys(err, errno, "signals cannot be waited for");
    if (make_timer(supervision->foreground->launch->seconds, &supervision->timer_fd, err) < 0)
        return -1;
    loop_add(loop, supervision->signal_fd, POLLIN, hand_on, supervision);
    loop_add(loop, supervision->resume_fd, POLLIN, resume, supervision);
    loop_add(loop, supervision->foreground->launched->report_fd, POLLIN, hear, supervision);
    if (supervision->timer_fd >= 0)
        loop_add(loop, supervision->timer_fd, POLLIN, end_in_time, supervision);
    return 0;
}

int supervise(struct foreground *foreground, struct standstill *standstill, struct tripwires *tripwires,
              struct localhost *localhost, struct outcome *ret_outcome, struct err *err)
{
    const struct launch *launch = foreground->launch;
    const struct launched *launched = foreground->launched;
    struct loop *loop = foreground->loop;
    sigset_t watched, before;
    sigemptyset(&watched);
    for (size_t i = 0; i < array_len(heard); i++)
        sigaddset(&watched, heard[i]);
    sigset_t blocked = watched;
    sigaddset(&blocked, SIGTTOU); /* taking the terminal back from the background must not stop bawn */
    sigprocmask(SIG_BLOCK, &blocked, &before);
    /* An order to a process 1 that has just ended is no reason to die before its last report is read. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before;
    sigaction(SIGPIPE, &ignore, &pipe_before);
    foreground->is_given = launch->foreground;
    struct supervision supervision = {
        foreground,      standstill,     tripwires,       localhost,
        .signal_fd = -1, .timer_fd = -1, .resume_fd = -1, .status = STATUS_REFUSED};
    terminal_note(&supervision.terminal, launch->terminal_fd);
    int result = add_sources(&supervision, &watched, loop, err);
    if (result == 0)
        result = launch_go(launched, err);
    if (result == 0)
        result = loop_run(loop, err);
    if (result < 0) {
        launch_kill(launched);
        waitpid(launched->pid, NULL, 0);
    }
    fd_close(supervision.signal_fd);
    fd_close(supervision.timer_fd);
    fd_close(supervision.resume_fd);
    foreground_end(foreground);
    foreground_take(foreground);
    terminal_put_right(&supervision.terminal, foreground_is_ours(foreground));
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    ret_outcome->status = supervision.status;
    ret_outcome->ran_out_of_time = supervision.was_asked;
    ret_outcome->refused = supervision.refused;
    ret_outcome->passed_on = supervision.passed_on;
    ret_outcome->is_interrupted = supervision.ended_by == SIGINT && launch->terminal_fd >= 0;
    return result;
}
