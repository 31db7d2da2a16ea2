/*
 * Runs a command and lets one system call of it fail, which the kernel then never sees; or kills who makes it.
 *
 *   faults-inject REPORT -- COMMAND…                      writes one line for each call: who, its number, which of that number, a path
 *   faults-inject REPORT WHO CALL NTH ERRNO -- COMMAND…   lets that one fail, and writes its line
 *   faults-inject REPORT WHO CALL NTH KILL -- COMMAND…    kills the process that is about to make that call
 *
 * WHO is "launcher" (the command itself), "inside" (what it clones into a pid namespace), "thread" (of that one), "helper" (its
 * other children), "last" (the child of process 1 up to the execution). What executes another program is let go: it runs untraced. strace
 * counts calls for each process alone and would let the same call fail in all of them, the command inside among them.
 */
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

/* The calls that are counted, and where each has a path: the number of that argument, or NONE. */
enum { NONE = -1 };
#ifdef SYS_unlink /* newer architectures have only those that take a folder */
#define OLD_CALLS(X) X(unlink, 0) X(rmdir, 0) X(rename, 0) X(mkdir, 0) X(link, 1)
#else
#define OLD_CALLS(X)
#endif
#define CALLS(X) \
    X(openat, 1) X(openat2, 1) X(open_tree, 1) X(open_tree_attr, 1) X(mount_setattr, 1) X(move_mount, 3) X(fsopen, 0) \
    X(fsconfig, 2) X(fsmount, NONE) X(fspick, 1) X(pivot_root, NONE) X(mount, 1) X(umount2, 0) X(mkdirat, 1) X(mknodat, 1) \
    X(symlinkat, 2) X(linkat, 3) X(unlinkat, 1) X(renameat2, 1) X(renameat, 1) X(fchmod, NONE) X(fchmodat, 1) X(fchown, NONE) X(utimensat, 1) \
    X(ftruncate, NONE) X(fsync, NONE) X(fdatasync, NONE) X(fcntl, NONE) X(dup, NONE) X(dup3, NONE) X(flock, NONE) X(read, NONE) X(pread64, NONE) \
    X(write, 1) X(pwrite64, 1) X(writev, NONE) X(sendfile, NONE) X(copy_file_range, NONE) X(getdents64, NONE) X(newfstatat, 1) X(fstat, NONE) X(statx, 1) \
    X(statfs, 0) X(fstatfs, NONE) X(readlinkat, 1) X(faccessat, 1) X(faccessat2, 1) X(lseek, NONE) X(chdir, 0) X(fchdir, NONE) X(getcwd, NONE) \
    X(getxattr, 0) X(fgetxattr, 1) X(fsetxattr, 1) X(flistxattr, NONE) X(ioctl, NONE) X(inotify_init1, NONE) X(inotify_add_watch, 1) \
    X(fanotify_init, NONE) X(fanotify_mark, NONE) X(landlock_create_ruleset, NONE) X(landlock_add_rule, NONE) \
    X(landlock_restrict_self, NONE) X(seccomp, NONE) X(prctl, NONE) X(capget, NONE) X(capset, NONE) X(prlimit64, NONE) \
    X(unshare, NONE) X(setns, NONE) X(clone, NONE) X(clone3, NONE) X(execve, 0) X(setpgid, NONE) X(setsid, NONE) X(sethostname, 0) X(mmap, NONE) \
    X(madvise, NONE) X(socket, NONE) X(socketpair, NONE) X(bind, NONE) X(listen, NONE) X(connect, NONE) \
    X(setsockopt, NONE) X(getsockname, NONE) X(sendto, NONE) X(sendmsg, NONE) X(recvfrom, NONE) X(recvmsg, NONE) X(pipe2, NONE) X(epoll_create1, NONE) \
    X(epoll_ctl, NONE) X(epoll_pwait, NONE) X(ppoll, NONE) X(signalfd4, NONE) X(timerfd_create, NONE) X(timerfd_settime, NONE) X(eventfd2, NONE) \
    X(pidfd_open, NONE) X(pidfd_getfd, NONE) X(pidfd_send_signal, NONE) X(waitid, NONE) X(wait4, NONE) X(sched_getaffinity, NONE) \
    X(sched_setaffinity, NONE) X(rt_sigaction, NONE) X(rt_sigprocmask, NONE) X(close_range, NONE) X(getrandom, NONE) X(memfd_create, 0) \
    OLD_CALLS(X) X(uname, NONE) X(sysinfo, NONE) X(getgroups, NONE) X(process_vm_readv, NONE) X(kill, NONE)
static const struct call {
    const char *name;
    unsigned long number;
    int path;
} calls[] = {
#define ROW(name, path) {#name, SYS_##name, path},
    CALLS(ROW)
#undef ROW
};
enum { CALL_COUNT = sizeof(calls) / sizeof(*calls) };

enum role { LAUNCHER, INSIDE, THREAD, HELPER, LAST, ROLES };
static const char *const role_names[] = {"launcher", "inside", "thread", "helper", "last"};

enum { MOST_PROCESSES = 4096 };

struct process {
    pid_t pid;
    enum role role;
    bool is_known, is_in_call, is_refused;
    unsigned long number, arguments[4];
};

static struct process processes[MOST_PROCESSES];
static unsigned long counts[ROLES][CALL_COUNT];
static FILE *report;

static struct {
    enum role role;
    const char *call;
    unsigned long nth;
    int errnum;
    bool kills;
} wanted = {.role = ROLES};

static struct process *find(pid_t pid)
{
    for (size_t i = 0; i < MOST_PROCESSES; i++) {
        if (processes[i].pid == pid || processes[i].pid == 0) {
            processes[i].pid = pid;
            return &processes[i];
        }
    }
    abort();
}

static void *address_there(unsigned long address)
{
    return (void *)address; // NOLINT(performance-no-int-to-ptr): of another process, and nothing that is optimised here
}

static void read_text(pid_t pid, unsigned long address, char *text, size_t most)
{
    struct iovec here = {text, most - 1}, there = {address_there(address), most - 1};
    ssize_t size = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (size < 0) { /* the end of a page, perhaps */
        here.iov_len = there.iov_len = 4096 - address % 4096 < most - 1 ? 4096 - address % 4096 : most - 1;
        size = process_vm_readv(pid, &here, 1, &there, 1, 0);
    }
    text[size < 0 ? 0 : size] = '\0';
    for (char *at = text; *at; at++)
        *at = *at < ' ' || *at > '~' ? '?' : *at;
}

/* What the call is about, for whoever reads the list. */
static void describe(const struct process *process, const struct call *call, char *text, size_t most)
{
    if (call->path != NONE)
        read_text(process->pid, process->arguments[call->path], text, most);
    else
        snprintf(text, most, "%lx,%lx,%lx", process->arguments[0], process->arguments[1], process->arguments[2]);
}

/* From the entry of a call on there is none. */
static bool forget_call(pid_t pid)
{
#ifdef __x86_64__
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof(registers)};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
        return false;
    registers.orig_rax = ~0ULL;
    return ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &all) == 0;
#else
    int none = -1;
    struct iovec all = {&none, sizeof(none)};
    return ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &all) == 0;
#endif
}

static void set_result(pid_t pid, long result)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof(registers)};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
        return;
#ifdef __x86_64__
    registers.rax = (unsigned long)result;
#else
    registers.regs[0] = (unsigned long)result;
#endif
    ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &all);
}

static void enter_call(struct process *process)
{
    struct __ptrace_syscall_info information;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof(information), &information) < 0 ||
        information.op != PTRACE_SYSCALL_INFO_ENTRY)
        return;
    process->number = information.entry.nr;
    for (int i = 0; i < 4; i++)
        process->arguments[i] = information.entry.args[i];
    size_t i = 0;
    while (i < CALL_COUNT && calls[i].number != process->number)
        i++;
    if (i == CALL_COUNT)
        return;
    unsigned long nth = ++counts[process->role][i];
    bool is_wanted = wanted.role == process->role && wanted.nth == nth && strcmp(wanted.call, calls[i].name) == 0;
    if (wanted.role != ROLES && !is_wanted)
        return;
    char text[160];
    describe(process, &calls[i], text, sizeof(text));
    fprintf(report, "%s %s %lu %s\n", role_names[process->role], calls[i].name, nth, text);
    fflush(report);
    if (is_wanted && wanted.kills)
        kill(process->pid, SIGKILL);
    else
        process->is_refused = is_wanted && forget_call(process->pid);
}

static void leave_call(struct process *process)
{
    if (process->is_refused)
        set_result(process->pid, -wanted.errnum);
    process->is_refused = false;
}

static unsigned long clone_flags(const struct process *process)
{
    unsigned long flags = process->number == SYS_clone ? process->arguments[0] : 0;
    if (process->number == SYS_clone3) {
        struct iovec here = {&flags, sizeof(flags)}, there = {address_there(process->arguments[0]), sizeof(flags)};
        if (process_vm_readv(process->pid, &here, 1, &there, 1, 0) < 0)
            flags = 0;
    }
    return flags;
}

static void take_child(const struct process *parent, pid_t child)
{
    unsigned long flags = clone_flags(parent);
    struct process *process = find(child);
    process->is_known = true;
    process->role = flags & CLONE_NEWPID                                 ? INSIDE
                    : parent->role == INSIDE && (flags & CLONE_THREAD)   ? THREAD
                    : parent->role == INSIDE || parent->role == LAST     ? LAST
                    : (flags & CLONE_THREAD)                             ? parent->role
                                                                         : HELPER;
}

/* Returns false for a process that is no longer followed. */
static bool handle_stop(struct process *process, int status)
{
    int signal_number = WSTOPSIG(status), event = status >> 16;
    unsigned long message = 0;
    int passed_on = 0;
    if (signal_number == (SIGTRAP | 0x80)) {
        process->is_in_call = !process->is_in_call;
        if (process->is_in_call)
            enter_call(process);
        else
            leave_call(process);
    } else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        if (ptrace(PTRACE_GETEVENTMSG, process->pid, NULL, &message) == 0)
            take_child(process, (pid_t)message);
    } else if (event == PTRACE_EVENT_EXEC && process->role != LAUNCHER) {
        ptrace(PTRACE_DETACH, process->pid, NULL, NULL);
        return false;
    } else if (event == PTRACE_EVENT_STOP && (signal_number == SIGSTOP || signal_number == SIGTSTP)) {
        ptrace(PTRACE_LISTEN, process->pid, NULL, NULL);
        return true;
    } else if (!event) {
        passed_on = signal_number;
    }
    ptrace(PTRACE_SYSCALL, process->pid, NULL, passed_on);
    return true;
}

static int follow(pid_t first)
{
    int status, result = 1;
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
        if (pid < 0)
            continue;
        struct process *process = find(pid);
        if (WIFSTOPPED(status)) {
            if (!process->is_known) { /* its parent's word for it is still on the way: it waits stopped */
                while (!process->is_known) {
                    int other;
                    pid_t parent = waitpid(-1, &other, __WALL);
                    if (parent <= 0)
                        return result;
                    struct process *reporting = find(parent);
                    if (WIFSTOPPED(other) && reporting->is_known)
                        handle_stop(reporting, other);
                }
            }
            handle_stop(process, status);
            continue;
        }
        if (pid == first)
            result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        *process = (struct process){.pid = -1};
    }
    return result;
}

static int usage(void)
{
    fputs("usage: faults-inject REPORT [WHO CALL NTH ERRNO|KILL] -- COMMAND...\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int command = 2;
    while (command < argc && strcmp(argv[command], "--") != 0)
        command++;
    if ((command != 2 && command != 6) || command + 1 >= argc)
        return usage();
    if (command == 6) {
        wanted.role = 0;
        while (wanted.role < ROLES && strcmp(argv[2], role_names[wanted.role]) != 0)
            wanted.role++;
        wanted.call = argv[3];
        wanted.nth = strtoul(argv[4], NULL, 10);
        wanted.kills = strcmp(argv[5], "KILL") == 0;
        wanted.errnum = atoi(argv[5]);
        if (wanted.role == ROLES)
            return usage();
    }
    report = fopen(argv[1], "we");
    if (!report)
        return usage();
    pid_t first = fork();
    if (first == 0) {
        raise(SIGSTOP);
        execv(argv[command + 1], argv + command + 1);
        _exit(127);
    }
    *find(first) = (struct process){.pid = first, .role = LAUNCHER, .is_known = true};
    int status;
    waitpid(first, &status, WUNTRACED);
    if (ptrace(PTRACE_SEIZE, first, NULL,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
        kill(first, SIGKILL);
        return 3;
    }
    kill(first, SIGCONT);
    return follow(first);
}
