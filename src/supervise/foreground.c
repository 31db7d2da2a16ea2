#include "supervise/foreground.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/own_program.h"
#include "kernel/process.h"

void foreground_pass_on(const struct foreground *foreground, int number, bool with_terminal)
{
    /* An order that process 1 does not take needs no report: it has ended and its last report is on the way, or many signals wait. */
    if (!launch_pass_on(foreground->launched, number, with_terminal))
        return;
}

bool foreground_is_ours(const struct foreground *foreground)
{
    int fd = foreground->launch->terminal_fd;
    return fd >= 0 && tcgetpgrp(fd) == getpgrp();
}

void foreground_take(struct foreground *foreground)
{
    if (foreground->is_given)
        tcsetpgrp(foreground->launch->terminal_fd, getpgrp());
    foreground->is_given = false;
}

void foreground_go_on(struct foreground *foreground)
{
    bool gets_it = foreground->launch->own_group && !foreground->prompt && foreground_is_ours(foreground);
    foreground->is_given |= gets_it;
    foreground_pass_on(foreground, SIGCONT, gets_it);
}

bool foreground_was_wanted(struct foreground *foreground)
{
    bool *reason = foreground->prompt ? &foreground->was_nudged : &foreground->was_prompted;
    bool is_first = *reason;
    *reason = false;
    if (is_first)
        foreground_go_on(foreground);
    return is_first || foreground->prompt;
}

bool foreground_is_drawn_on(const struct foreground *foreground)
{
    struct termios mode;
    return tcgetattr(foreground->launch->terminal_fd, &mode) == 0 && !(mode.c_lflag & ICANON);
}

static _Noreturn void become_prompt(int terminal_fd, const char *const *program,
                                    const char *const *environment)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGPIPE, &usual, NULL);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fd != terminal_fd && dup2(terminal_fd, fd) < 0)
            _exit(127);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    own_program_become(*program, program, environment);
    _exit(127);
}

/* Waits for the prompt. One that was killed has left the terminal in a mode of its own. */
static void bury(struct foreground *foreground)
{
    if (process_wait(foreground->prompt) >= 128)
        tcsetattr(foreground->launch->terminal_fd, TCSANOW, &foreground->before);
    loop_remove(foreground->loop, foreground->prompt_fd);
    fd_close(foreground->prompt_fd);
    foreground->prompt_fd = -1;
    foreground->prompt = 0;
}

static int prompt_ended(void *self, short events not_used, struct err *err not_used)
{
    struct foreground *foreground = self;
    bury(foreground);
    foreground->was_prompted = true;
    foreground->was_nudged = false;
    foreground_go_on(foreground);
    if (foreground->prompted)
        foreground->prompted(foreground->context);
    return 0;
}

/*
 * Has the command's own group the terminal? A shell inside gives it to its jobs, and would take it back from a prompt as soon as one of them is
 * stopped.
 */
static bool is_with_command(const struct foreground *foreground)
{
    pid_t group = tcgetpgrp(foreground->launch->terminal_fd);
    return foreground->is_given && group > 1 && group != getpgrp() &&
           process_parent(group) == foreground->launched->pid && process_may_be_stopped_by(group, SIGTTIN);
}

bool foreground_prompt(struct foreground *foreground, const char *const *program,
                       const char *const *environment)
{
    int terminal_fd = foreground->launch->terminal_fd;
    if (foreground->prompt || !is_with_command(foreground) || foreground_is_drawn_on(foreground) ||
        tcgetattr(terminal_fd, &foreground->before) < 0)
        return false;
    foreground_take(foreground);
    pid_t child = fork();
    if (child == 0)
        become_prompt(terminal_fd, program, environment);
    foreground->prompt_fd = child < 0 ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
    foreground->prompt = child < 0 ? 0 : child;
    foreground->was_nudged = true;
    foreground_pass_on(foreground, SIGTTIN, false);
    if (foreground->prompt_fd >= 0) {
        loop_add(foreground->loop, foreground->prompt_fd, POLLIN, prompt_ended, foreground);
        return true;
    }
    foreground_end(foreground);
    foreground_go_on(foreground);
    return false;
}

void foreground_end(struct foreground *foreground)
{
    if (!foreground->prompt)
        return;
    kill(foreground->prompt, SIGKILL);
    bury(foreground);
}
