#include "supervise/checkpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

struct outcome {
    int result;
    struct err err;
};

/* The child must not outlive the supervisor, whose session it uses, nor slow the command down. */
static _Noreturn void take_as_child(const struct checkpoints *checkpoints, pid_t parent, int outcome_fd)
{
    enum { PATIENT = 10 };
    struct outcome outcome = {.result = -1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setpriority(PRIO_PROCESS, 0, PATIENT);
    outcome.result = checkpoints->take(checkpoints->context, &outcome.err);
    _exit(write(outcome_fd, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
}

static void failed(struct checkpoints *checkpoints, const struct err *err)
{
    checkpoints->failures++;
    checkpoints->failure = *err;
    journal_event(checkpoints->journal, "checkpoint", "why", err->message);
}

static void let_go(struct checkpoints *checkpoints)
{
    loop_remove(checkpoints->loop, checkpoints->outcome_fd);
    close(checkpoints->outcome_fd);
    checkpoints->outcome_fd = -1;
    waitpid(checkpoints->child, NULL, 0);
}

static int is_done(void *self, short events not_used, struct err *err not_used)
{
    struct checkpoints *checkpoints = self;
    struct outcome outcome;
    ssize_t got = read(checkpoints->outcome_fd, &outcome, sizeof(outcome));
    if (got < 0 && errno == EINTR)
        return 0;
    if (got != sizeof(outcome)) {
        outcome.result = -1;
        err_set(&outcome.err, "the process that took it was ended");
    }
    let_go(checkpoints);
    if (outcome.result < 0)
        failed(checkpoints, &outcome.err);
    else if (outcome.result > 0)
        journal_event(checkpoints->journal, "checkpoint");
    checkpoints->has_any |= outcome.result > 0;
    return 0;
}

/* Skipped while the previous checkpoint is still being taken. */
static int is_due(void *self, short events not_used, struct err *err not_used)
{
    struct checkpoints *checkpoints = self;
    uint64_t expirations;
    int ends[2];
    struct err why = {0};
    if (read(checkpoints->timer_fd, &expirations, sizeof(expirations)) < 0 || checkpoints->outcome_fd >= 0)
        return 0;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_sys(&why, errno, "cannot make a pipe");
        failed(checkpoints, &why);
        return 0;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        take_as_child(checkpoints, parent, ends[1]);
    close(ends[1]);
    if (child < 0) {
        err_sys(&why, errno, "cannot make a process");
        close(ends[0]);
        failed(checkpoints, &why);
        return 0;
    }
    checkpoints->child = child;
    checkpoints->outcome_fd = ends[0];
    loop_add(checkpoints->loop, ends[0], POLLIN, is_done, checkpoints);
    return 0;
}

int checkpoints_begin(struct checkpoints *checkpoints, uint64_t seconds, struct err *err)
{
    struct itimerspec time = {.it_value.tv_sec = (time_t)seconds, .it_interval.tv_sec = (time_t)seconds};
    checkpoints->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (checkpoints->timer_fd < 0 || timerfd_settime(checkpoints->timer_fd, 0, &time, NULL) < 0)
        return err_sys(err, errno, "cannot make a timer for checkpoints");
    loop_add(checkpoints->loop, checkpoints->timer_fd, POLLIN, is_due, checkpoints);
    return 0;
}

void checkpoints_end(struct checkpoints *checkpoints)
{
    if (checkpoints->outcome_fd >= 0) {
        kill(checkpoints->child, SIGKILL);
        let_go(checkpoints);
    }
    fd_close(checkpoints->timer_fd);
    checkpoints->timer_fd = -1;
}
