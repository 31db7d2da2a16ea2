/* The warden and the command's process, until the command is executed. bare.h has the theory of operation. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/landlock.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"
#include "launch/bare_sockets.h"

/* --- the command's process ------------------------------------------------------------------------------------------ */

static int insist(bool refused, const char *wall, const char *act, struct err *err)
{
    if (refused)
        return 0;
    err_sys(err, errno, "self-check of the %s wall failed: %s was not refused", wall, act);
    return err_hint(err, "nothing was run; please report this with the output of `uname -a`");
}

/* The directory that holds the private home is never granted, and is the user's own: only these walls keep the command from it. */
static int try_closed_directory(const struct launch *launch, struct err *err)
{
    auto_arena struct arena arena = {0};
    const char *closed = launch->home ? path_parent(&arena, launch->home) : "/";
    auto_fd int fd = open(closed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (insist(fd < 0 && errno == EACCES, "Landlock", "listing a directory that is not granted", err) < 0)
        return -1;
    return insist(chmod(closed, 0700) < 0 && errno == EPERM, "judge",
                  "changing the mode of what is not granted", err);
}

/* Nobody has this address, and no rule names it. */
static int try_network(const struct operations *operations, struct err *err)
{
    if (ports_host_network(operations))
        return 0;
    const struct endpoint nobody = endpoint_v4(UINT32_C(0xc0000201), 9); /* 192.0.2.1 */
    struct sockaddr_storage address;
    socklen_t size = endpoint_to_socket(&nobody, &address);
    auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_refused = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) < 0 &&
                      errno == (ports_by_name(operations) ? ECONNREFUSED : ENETUNREACH);
    return insist(is_refused, "judge", "connecting to a host that no rule names", err);
}

/* One forbidden act for each wall. Each must fail with the error that only this wall produces. */
static int try_walls(const struct launch *launch, struct err *err)
{
    if (insist(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS, "seccomp", "calling clone3", err) < 0 ||
        insist(unshare(CLONE_NEWUSER) < 0 && errno == EPERM, "seccomp", "making a namespace", err) < 0 ||
        // cppcheck-suppress leakReturnValNotUsed ; it is none, or the run ends
        insist(socket(AF_INET, SOCK_RAW, IPPROTO_RAW) < 0 && errno == EPERM, "seccomp", "making a raw socket",
               err) < 0 ||
        try_network(launch->operations, err) < 0 ||
        insist(kill(getppid(), 0) < 0 && errno == EPERM, "Landlock", "signalling a process outside", err) <
            0 ||
        try_closed_directory(launch, err) < 0)
        return -1;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    bool none = syscall(SYS_capget, &header, held) == 0 && !held[0].permitted && !held[1].permitted;
    return insist(none, "capability", "holding a capability", err) < 0
               ? -1
               : insist(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "privilege", "gaining a privilege", err);
}

/* The second domain of Landlock; the killer, and a third that keeps signals from it; and the seccomp program, whose listener goes to the warden. */
static int raise_own_walls(struct bare *bare, int *killer_end, int warden_fd, struct err *err)
{
    struct landlock scope = {.fd = -1};
    if (landlock_enforce(&bare->inner, err) < 0)
        return -1;
    if (*killer_end >= 0 &&
        (bare_start_killer(killer_end, err) < 0 || landlock_begin(landlock_abi(), 0, &scope, err) < 0 ||
         landlock_enforce(&scope, err) < 0))
        return -1;
    enum seccomp_kind kind = landlock_abi() < LANDLOCK_ABI_WITH_SCOPES ? SECCOMP_BARE_OLD
                             : bare_has_frozen(bare)                   ? SECCOMP_BARE_FROZEN
                                                                       : SECCOMP_BARE;
    if (bare->launch->learns)
        kind = kind == SECCOMP_BARE_OLD ? SECCOMP_BARE_OLD_LEARN : SECCOMP_BARE_LEARN;
    else if (bare_tells(bare))
        kind += SECCOMP_TOLD_AFTER;
    auto_fd int listener =
        seccomp_load_judged(kind, limits_judged(bare->launch->operations) != UINT64_MAX, err);
    if (listener < 0)
        return -1;
    if (passing_send(warden_fd, "l", 1, listener) < 0)
        return err_sys(err, errno, "the listener of judged calls cannot be handed over");
    return 0;
}

static int raise_and_try(struct bare *bare, struct kept *kept, int *killer_end, int warden_fd,
                         struct err *err)
{
    /* The warden must be able to read what a judged call names. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot let the warden read this process");
    if (limits_set(bare->launch->operations, &kept->descriptors, err) < 0 ||
        raise_own_walls(bare, killer_end, warden_fd, err) < 0 || try_walls(bare->launch, err) < 0)
        return -1;
    return setrlimit(RLIMIT_NOFILE, &kept->descriptors) < 0 ? err_sys(err, errno, "cannot set a limit") : 0;
}

void bare_use_all_processors(const struct bare *bare)
{
    if (bare->processors)
        sched_setaffinity(0, sizeof(*bare->processors), bare->processors);
}

static void take_place(const struct launch *launch)
{
    if (launch->own_group)
        setpgid(0, 0);
    if (launch->foreground && launch->terminal_fd >= 0)
        tcsetpgrp(launch->terminal_fd, getpid());
}

/* Says to the warden how it went: an error, or a message without one. The pipe for a failed execution stays open until exec. */
static _Noreturn void run_command(struct bare *bare, struct kept *kept, int *killer_end, int warden_fd,
                                  pid_t warden)
{
    const struct launch *launch = bare->launch;
    struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
    sigset_t none;
    char go;
    sigemptyset(&none);
    close(bare->control_fd);
    bare_use_all_processors(bare);
    /* With the warden, until the command starts others: those end with their reaper (bare_init.c). */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != warden)
        _exit(STATUS_REFUSED);
    int result = raise_and_try(bare, kept, killer_end, warden_fd, &report.err);
    if (result < 0 && write(bare->report_fd, &report, sizeof(report)) < 0)
        _exit(STATUS_REFUSED);
    if (result < 0 || passing_send(warden_fd, "w", 1, -1) < 0 || read(warden_fd, &go, 1) != 1)
        _exit(STATUS_REFUSED);
    take_place(launch);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (process_close_descriptors(bare->report_fd, &report.err) == 0) {
        environ = (char **)launch->environment;
        execvp(launch->command[0], (char *const *)launch->command);
        report_not_executed(launch, errno, &report);
    }
    if (write(bare->report_fd, &report, sizeof(report)) < 0)
        _exit(STATUS_REFUSED);
    _exit(report.status);
}

/* --- the warden ------------------------------------------------------------------------------------------------------ */

/* Receives a message of the command's process. Returns its letter; '\0': that process has failed, and said why. */
static char receive(int fd, int *ret_fd)
{
    char letter = '\0';
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
    }
    *ret_fd = -1;
    return passing_receive(fd, &letter, 1, ret_fd) == 1 ? letter : '\0';
}

/* Starts the command's process and waits until its walls hold. Returns 1 if that process has reported a failure itself. */
static int start_command(struct bare *bare, struct kept *kept, struct err *err)
{
    int ends[2], killer_ends[2] = {-1, -1}, listener = -1, ignored = -1;
    bool has_scopes = landlock_abi() >= LANDLOCK_ABI_WITH_SCOPES;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
        (has_scopes && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, killer_ends) < 0))
        return err_sys(err, errno, "cannot make a socket");
    pid_t warden = getpid();
    bare->killer_fd = killer_ends[0];
    bare->command = fork();
    if (bare->command == 0) {
        close(ends[0]);
        fd_close(bare->killer_fd);
        run_command(bare, kept, &killer_ends[1], ends[1], warden);
    }
    close(ends[1]);
    fd_close(killer_ends[1]);
    close(bare->inner.fd);
    bare->command_fd = ends[0];
    if (bare->command < 0)
        return err_sys(err, errno, "cannot make a process for the command");
    if (bare_furnish(bare, err) < 0) /* while that process raises its walls */
        return -1;
    if (receive(bare->command_fd, &listener) != 'l' || listener < 0)
        return 1;
    if (bare_meet_killer(bare, err) < 0)
        return -1;
    bare_begin_counting(bare);
    if (bare_begin_telling(bare, listener, err) < 0 || bare_begin_judge(bare, listener, err) < 0)
        return -1;
    return receive(bare->command_fd, &ignored) == 'w' ? 0 : 1;
}

/*
 * When memory runs out, the kernel ends the command first, and not the warden, whose end would leave the rest alone. A process of the first domain cannot
 * write the setting: it is inherited from the warden, which then takes its own back.
 */
static int set_limits(struct bare *bare, struct err *err)
{
    bare->oom_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    bare->oom_size = bare->oom_fd < 0 ? -1 : read(bare->oom_fd, bare->oom_before, sizeof(bare->oom_before));
    if (bare->oom_size <= 0)
        return err_sys(err, errno, "cannot read the sandbox's oom_score_adj");
    return limits_set_fixed(err);
}

static int take_back_oom_score(struct bare *bare, struct err *err)
{
    if (pwrite(bare->oom_fd, bare->oom_before, (size_t)bare->oom_size, 0) != bare->oom_size)
        return err_sys(err, errno, "cannot set the warden's oom_score_adj");
    close(bare->oom_fd);
    return 0;
}

/* Without this list of the kernel's, the end of all processes could not be brought about. */
static int check_children(struct err *err)
{
    auto_fd int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_sys(err, errno, "walls without namespaces need the kernel's list of children") : 0;
}

static int become_warden(struct bare *bare, const struct child *child, struct launch *launch, struct err *err)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* A warden that is stopped when the supervisor dies goes on, and finds the control socket closed. */
    if (prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot become the parent of all orphans of the command");
    if (check_children(err) < 0 || process_no_new_privileges(err) < 0 || process_drop_capabilities(err) < 0)
        return -1;
    if (set_limits(bare, err) < 0) /* a process that is not dumpable could not open its own setting */
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot protect the warden from other processes");
    if (handover_receive(child->control_fd, &bare->arena, launch, err) < 0)
        return -1;
    trace_point(launch->trace, "inside", "the plan");
    if (bare_hold_scratch(bare, err) < 0)
        return -1;
    if (chdir(launch->directory) < 0)
        return err_sys(err, errno, "cannot enter %s", launch->directory);
    if (bare_network_begin(bare, child->port_fd, err) < 0)
        return -1;
    return bare_find_frozen(bare, err) < 0 || bare_raise_files(bare, err) < 0 ? -1 : 0;
}

_Noreturn void bare_run(const struct child *child)
{
    static struct bare bare; /* the judge's thread reads it until the process ends */
    struct launch launch = *child->launch;
    struct kept kept = {.descriptors = child->descriptors};
    struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
    bare = (struct bare){.launch = &launch,
                         .report_fd = child->report_fd,
                         .control_fd = child->control_fd,
                         .command_fd = -1,
                         .command = -1,
                         .killer_fd = -1,
                         .inner = {.fd = -1},
                         .master_fd = -1,
                         .shared_fd = -1,
                         .scratch_fd = -1,
                         .own_fds = {-1, -1},
                         .processors = child->may_be_kept_apart ? &child->processors : NULL};
    for (size_t i = 0; i < launch.host_fd_count; i++)
        close(launch.host_fds[i]);
    if (launch.own_group)
        setpgid(0, 0); /* signals that the terminal sends to the caller's job are not for the warden */
    int result = become_warden(&bare, child, &launch, &report.err);
    if (result == 0)
        result = start_command(&bare, &kept, &report.err);
    if (result == 0)
        result = take_back_oom_score(&bare, &report.err);
    char all = HANDED_ALL;
    if (result == 0 && passing_send(child->control_fd, &all, 1, -1) < 0)
        result = err_sys(&report.err, errno, "bawn outside the sandbox has ended");
    trace_point(launch.trace, "inside", "the walls, tried");
    if (result == 0)
        bare_init_run(&bare);
    bare_end_all(&bare);
    if (result < 0 && write(child->report_fd, &report, sizeof(report)) < 0)
        _exit(STATUS_REFUSED);
    _exit(STATUS_REFUSED);
}
