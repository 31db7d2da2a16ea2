/* The warden's loop: it stands where process 1 stands in a sandbox with namespaces. bare.h has the theory of operation. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "launch/bare.h"

enum { MOST_PROCESSES = 65536, DEEPEST = 4096 };

static void tell(const struct bare *bare, struct report report)
{
    while (write(bare->report_fd, &report, sizeof(report)) < 0 && errno == EINTR) {
    }
}

bool bare_is_inside(pid_t process)
{
    for (unsigned depth = 0; process > 1 && depth < DEEPEST; depth++) {
        auto_fd int fd = process_open(process);
        process = process_look(fd).parent;
        if (process == getpid())
            return true;
    }
    return false;
}

/* Who is signalled, and how. */
struct signalling {
    pid_t group, spared; /* 0: all; nobody */
    int number;
    unsigned count;
};

/*
 * Sends a signal to a child and to everything below it. A child of this process keeps its number until it is waited for here. Below that, a process is
 * signalled by its directory in /proc, after a look at its parent: the number may be another's by then.
 */
static void signal_below(struct signalling *signalling, pid_t parent, unsigned depth)
{
    auto_vec process_list children = {0};
    if (depth == DEEPEST)
        return;
    children_add(&children, parent, MOST_PROCESSES);
    vec_each (const pid_t, child, &children) {
        auto_fd int fd = process_open(*child);
        pid_t now = process_look(fd).parent;
        if (now != parent && now != getpid())
            continue;
        bool is_meant =
            *child != signalling->spared && (!signalling->group || getpgid(*child) == signalling->group);
        if (is_meant && process_signal(fd, signalling->number))
            signalling->count++;
        signal_below(signalling, *child, depth + 1);
    }
}

unsigned bare_signal_inside(pid_t group, pid_t spared, int number)
{
    struct signalling signalling = {group, spared, number, 0};
    signal_below(&signalling, getpid(), 0);
    return signalling.count;
}

/* --- the killer ------------------------------------------------------------------------------------------------------- */

/*
 * Waits for a word of the warden's, or its end. kill(-1) passes Landlock's scope only to what the command has started, and the kernel makes no process
 * while it sends, nor one of a process that it has sent to: so no chain of processes gets away, however fast it goes on.
 */
static _Noreturn void be_killer(int end)
{
    struct err ignored;
    pid_t self = getpid();
    char word;
    /* Without the scope kill(-1) would end all that this user has: the warden, which is outside of it, must be out of reach. */
    if (kill(getppid(), 0) == 0 || errno != EPERM)
        _exit(STATUS_REFUSED);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || process_close_descriptors(end, &ignored) < 0)
        _exit(STATUS_REFUSED);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close(fd);
    if (write(end, &self, sizeof(self)) != sizeof(self))
        _exit(STATUS_REFUSED);
    while (read(end, &word, 1) < 0 && errno == EINTR) {
    }
    kill(-1, SIGKILL);
    _exit(0);
}

int bare_start_killer(int *killer_end, struct err *err)
{
    auto_fd int link_fd = fd_take(killer_end);
    if (link_fd < 0)
        return 0;
    long killer = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (killer == 0)
        be_killer(link_fd);
    return killer < 0 ? err_sys(err, errno, "cannot make the process that ends the run") : 0;
}

int bare_meet_killer(struct bare *bare, struct err *err)
{
    if (bare->killer_fd < 0 ||
        read(bare->killer_fd, &bare->killer, sizeof(bare->killer)) == sizeof(bare->killer))
        return 0;
    bare->killer = 0;
    return err_set(err, "the process that ends the run did not start");
}

/*
 * Every process that is killed leaves its children to this one. So there are none left when there are no children: also none of a process that was
 * started while others were killed.
 */
void bare_end_all(struct bare *bare)
{
    auto_fd int killer_fd = fd_take(&bare->killer_fd);
    bool has_killer = bare->killer > 0;
    if (killer_fd >= 0)
        shutdown(killer_fd, SHUT_RDWR);
    while (has_killer && waitpid(bare->killer, NULL, 0) < 0 && errno == EINTR) {
    }
    for (;;) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (ended < 0 && errno == ECHILD)
            return;
        bare_signal_inside(0, 0, SIGKILL);
        waitpid(-1, NULL, 0);
    }
}

/* The supervisor is dead: nobody reads a report. */
static _Noreturn void end_alone(struct bare *bare)
{
    bare_end_all(bare);
    _exit(0);
}

static _Noreturn void end(struct bare *bare, int status)
{
    bare_end_all(bare);
    if (bare->scratch_fd >= 0)
        flock(bare->scratch_fd, LOCK_UN);
    tell(bare,
         (struct report){.kind = REPORT_ENDED, .status = status, .refused = bare_refused_processes(bare)});
    /*
     * The supervisor now removes the directory of temporary files. Whoever closes the last descriptor of a removed directory waits until the kernel
     * has freed its blocks. That is for this process to do, so it waits until the supervisor has hung up.
     */
    struct pollfd hung_up = {.fd = bare->control_fd}; /* what was left here is not read (launch_leave) */
    while (poll(&hung_up, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(0);
}

struct loop_state {
    struct bare *bare;
    bool all_are_stopped;
};

static void reap(struct loop_state *state)
{
    struct bare *bare = state->bare;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (pid != bare->command)
            continue;
        if (!WIFSTOPPED(status))
            end(bare, status);
        /* A process that left the group would go on, and could take the terminal and read what is typed there. */
        state->all_are_stopped = bare->launch->terminal_fd >= 0;
        if (state->all_are_stopped)
            bare_signal_inside(0, bare->killer, SIGSTOP);
        tell(bare, (struct report){.kind = REPORT_STOPPED, .status = WSTOPSIG(status)});
    }
}

static void obey(struct loop_state *state)
{
    struct bare *bare = state->bare;
    struct order order;
    ssize_t got = read(bare->control_fd, &order, sizeof(order));
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        end_alone(bare);
    if (got != sizeof(order))
        return;
    if (order.with_terminal && bare->launch->terminal_fd >= 0)
        tcsetpgrp(bare->launch->terminal_fd, bare->command);
    if (order.signal == SIGCONT && state->all_are_stopped) {
        state->all_are_stopped = false;
        bare_signal_inside(0, 0, SIGCONT);
        return;
    }
    kill(bare->launch->own_group ? -bare->command : bare->command, order.signal);
}

_Noreturn void bare_init_run(struct bare *bare)
{
    struct loop_state state = {.bare = bare};
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    auto_fd int signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    struct order begin;
    if (signal_fd < 0 || read(bare->control_fd, &begin, sizeof(begin)) != sizeof(begin) ||
        write(bare->command_fd, "", 1) != 1)
        end_alone(bare);
    close(bare->command_fd);
    for (;;) {
        struct pollfd ready[] = {{.fd = signal_fd, .events = POLLIN},
                                 {.fd = bare->control_fd, .events = POLLIN}};
        struct signalfd_siginfo ignored;
        poll(ready, array_len(ready), -1);
        while (read(signal_fd, &ignored, sizeof(ignored)) > 0) {
        }
        reap(&state);
        if (ready[1].revents)
            obey(&state);
    }
}
