#include "kernel/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/* For seccomp profiles that know clone3 only as ENOSYS, as Docker's does. It cannot start the child in a control group. */
static pid_t fork_by_clone(uint64_t namespaces, int *ret_pidfd)
{
    unsigned long flags = (unsigned long)namespaces | CLONE_PIDFD | SIGCHLD;
    return (pid_t)syscall(SYS_clone, flags, NULL, ret_pidfd, NULL, NULL);
}

pid_t process_fork(uint64_t namespaces, int cgroup_fd, int *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args arguments = {
        .flags = namespaces | CLONE_PIDFD | (cgroup_fd < 0 ? 0U : CLONE_INTO_CGROUP),
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = cgroup_fd < 0 ? 0 : (unsigned)cgroup_fd,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid < 0 && errno == ENOSYS && cgroup_fd < 0)
        pid = fork_by_clone(namespaces, &pidfd);
    *ret_pidfd = pidfd;
    return pid;
}

pid_t process_start(int (*run)(void *), void *argument)
{
    enum { STACK_SIZE = 4 * 1024 * 1024 }; /* execvp() may copy the arguments to the stack */
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    pid_t pid = clone(run, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
    int clone_errno = errno;
    munmap(stack, STACK_SIZE);
    errno = clone_errno;
    return pid;
}

/* Root inside has an id outside that no account and no file has. */
enum { ROOT_OUTSIDE = 2000000000, ROOT_RANGE = 65536 };

/* The first line of a uid_map: three numbers. */
static bool read_id_map(FILE *file, unsigned *ret_inside, unsigned *ret_outside, unsigned *ret_count)
{
    char line[128];
    if (!fgets(line, sizeof(line), file))
        return false;
    char *at = line;
    *ret_inside = (unsigned)strtoul(at, &at, 10);
    *ret_outside = (unsigned)strtoul(at, &at, 10);
    *ret_count = (unsigned)strtoul(at, &at, 10);
    return *at == '\n';
}

bool process_is_real_root(void)
{
    unsigned inside = 1, outside = 1, count = 0;
    FILE *file = geteuid() == 0 ? fopen("/proc/self/uid_map", "re") : NULL;
    bool covers = file && read_id_map(file, &inside, &outside, &count) && inside == 0 &&
                  count > ROOT_OUTSIDE + ROOT_RANGE;
    if (file)
        fclose(file);
    return covers;
}

struct id_map process_id_map(void)
{
    if (process_is_real_root())
        return (struct id_map){0, ROOT_OUTSIDE, 0, ROOT_OUTSIDE, ROOT_RANGE, .keeps_groups = false};
    uid_t uid = geteuid();
    gid_t gid = getegid();
    return (struct id_map){uid, uid, gid, gid, 1, .keeps_groups = true};
}

int process_leave_root(struct err *err)
{
    const id_t nobody = ROOT_OUTSIDE + ROOT_RANGE; /* the first id after those of sandboxes */
    if (!process_is_real_root())
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(nobody, nobody, nobody) < 0 ||
        setresuid(nobody, nobody, nobody) < 0)
        return err_sys(err, errno, "cannot become another user than root");
    return 0;
}

struct id_map process_root_map(void)
{
    return (struct id_map){.count = UINT32_MAX, .keeps_groups = false};
}

static int write_file(const char *path, const char *text, struct err *err)
{
    auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t size = strlen(text);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        return err_sys(err, errno, "cannot write %s", path);
    return 0;
}

static int map_ids(const char *process, const struct id_map *map, struct err *err)
{
    char path[64], text[64];
    snprintf(path, sizeof(path), "/proc/%s/setgroups", process);
    if (map->keeps_groups && write_file(path, "deny", err) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%s/uid_map", process);
    snprintf(text, sizeof(text), "%u %u %u", map->inside_uid, map->outside_uid, map->count);
    if (write_file(path, text, err) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%s/gid_map", process);
    snprintf(text, sizeof(text), "%u %u %u", map->inside_gid, map->outside_gid, map->count);
    return write_file(path, text, err);
}

int process_map_own_ids(const struct id_map *map, struct err *err)
{
    return map_ids("self", map, err);
}

int process_map_ids(pid_t child, const struct id_map *map, struct err *err)
{
    char process[16];
    snprintf(process, sizeof(process), "%d", child);
    return map_ids(process, map, err);
}

int process_open_namespace(const char *kind, struct err *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_sys(err, errno, "cannot open %s", path) : fd;
}

int process_enter(int user_namespace_fd, int mount_namespace_fd, struct err *err)
{
    if (setns(user_namespace_fd, CLONE_NEWUSER) < 0 || setns(mount_namespace_fd, CLONE_NEWNS) < 0)
        return err_sys(err, errno, "cannot enter the sandbox's namespaces");
    return 0;
}

/* A child's result, written to a pipe as a whole. */
struct outcome {
    int result;
    struct err err;
};

static _Noreturn void tell(int outcome_fd, const struct outcome *outcome)
{
    _exit(write(outcome_fd, outcome, sizeof(*outcome)) == sizeof(*outcome) ? 0 : 1);
}

/* Ends this process when its parent ends, also if the parent has already ended. */
static void end_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
}

static void bound_self(const struct process_bounds *bounds)
{
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer needs more memory than any bound */
    struct err ignored;
    if (bounds->memory && process_limit(RLIMIT_DATA, bounds->memory, &ignored) < 0)
        _exit(1);
#endif
    alarm(bounds->seconds);
}

/* `bounds` may be NULL. */
static int say_ended(const char *what, int status, const struct process_bounds *bounds, struct err *err)
{
    if (status == 128 + SIGALRM && bounds)
        return err_set(err, "it took longer than %u seconds", bounds->seconds);
    if (status > 128)
        err_set(err, "%s was ended by signal %d (%s)", what, status - 128, strsignal(status - 128));
    else
        err_set(err, "%s ended with status %d", what, status);
    err->errnum = status == 128 + SIGKILL ? EOWNERDEAD : 0;
    return -1;
}

int process_in_bounds(const struct process_bounds *bounds, int (*run)(void *context, struct err *err),
                      void *context, struct err *err)
{
    int told[2];
    if (pipe2(told, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    auto_fd int told_read = told[0], told_write = told[1];
    struct outcome outcome = {.result = -1};
    fflush(NULL); /* or the child would write it too */
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return err_sys(err, errno, "cannot start a process");
    if (child == 0) {
        end_with(parent);
        bound_self(bounds);
        outcome.result = run(context, &outcome.err);
        fflush(NULL);
        tell(told_write, &outcome);
    }
    int status = process_wait(child);
    if (read(told_read, &outcome, sizeof(outcome)) != sizeof(outcome))
        return say_ended("it", status, bounds, err);
    if (outcome.result < 0)
        *err = outcome.err;
    return outcome.result;
}

bool process_is_refusal(int errnum)
{
    return errnum == EPERM || errnum == EACCES || errnum == ENOSYS || errnum == ENOSPC || errnum == EINVAL ||
           errnum == EUSERS;
}

/* Runs the function in a child with these namespaces. *ret_is_refused: they cannot be had, and nothing was run. */
static int work_in(uint64_t namespaces, int (*run)(void *context, struct err *err), void *context,
                   bool *ret_is_refused, struct err *err)
{
    int go[2], told[2], pid_fd = -1;
    *ret_is_refused = false;
    if (pipe2(go, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    auto_fd int go_read = go[0], go_write = go[1];
    if (pipe2(told, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    auto_fd int told_read = told[0], told_write = told[1];
    struct outcome outcome = {.result = -1};
    pid_t child = process_fork(namespaces, -1, &pid_fd);
    if (child == 0) {
        close(fd_take(&go_write));
        char word;
        if (read(go_read, &word, 1) == 1)
            outcome.result = run(context, &outcome.err);
        tell(told_write, &outcome);
    }
    if (child < 0) {
        *ret_is_refused = process_is_refusal(errno);
        return err_sys(err, errno, "cannot make a user namespace");
    }
    close(pid_fd);
    close(fd_take(&told_write));
    struct id_map map = process_id_map();
    int mapped = namespaces ? process_map_ids(child, &map, err) : 0;
    *ret_is_refused = mapped < 0 && process_is_refusal(err->errnum);
    if (mapped == 0 && write(go_write, "g", 1) != 1)
        mapped = err_sys(err, errno, "cannot begin in a user namespace");
    close(fd_take(&go_write));
    ssize_t got = read(told_read, &outcome, sizeof(outcome));
    int status = process_wait(child);
    /* A child that was killed cannot be mapped either: that it was killed is the reason. */
    if (got != sizeof(outcome) && (mapped == 0 || status > 128))
        return say_ended("the process that works in a user namespace", status, NULL, err);
    if (mapped < 0)
        return -1;
    if (outcome.result < 0)
        *err = outcome.err;
    return outcome.result;
}

int process_in_own_namespace(int (*run)(void *context, struct err *err), void *context, struct err *err)
{
    bool is_refused;
    int result = work_in(CLONE_NEWUSER, run, context, &is_refused, err);
    return is_refused ? work_in(0, run, context, &is_refused, err) : result;
}

int process_as_owner(int (*run)(void *context, struct err *err), void *context, struct err *err)
{
    return process_is_real_root() ? run(context, err) : process_in_own_namespace(run, context, err);
}

void process_read_boot_id(char ret_boot[BOOT_ID_SIZE])
{
    auto_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, ret_boot, BOOT_ID_SIZE - 1);
    ret_boot[size > 0 ? size : 0] = '\0';
    ret_boot[strcspn(ret_boot, "\n")] = '\0';
}

bool process_orphans_are_reaped(void)
{
    const ino_t first = 0xEFFFFFFC; /* the kernel's PROC_PID_INIT_INO, on every machine */
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == first;
}

sigset_t process_ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

int process_wait(pid_t child)
{
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* SIGTTOU stays blocked: a terminal must not stop it. */
static _Noreturn void write_and_exit(int fd, const char *text)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigaction(SIGALRM, &usual, NULL);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(1);
    _exit(write(fd, text, strlen(text)) > 0 ? 0 : 1);
}

void process_write_aside(int fd, const char *text)
{
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            write_and_exit(fd, text);
        _exit(0);
    }
    if (child > 0)
        process_wait(child);
}

int process_drop_capabilities(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0}, held[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, held) < 0)
        return err_sys(err, errno, "cannot look at the capabilities");
    /* A process without capabilities and with no_new_privs gets none; it cannot, and need not, drop its bounding set. */
    bool may_get_none =
        !held[0].permitted && !held[1].permitted && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    for (int capability = 0; !may_get_none; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
            continue;
        if (errno != EINVAL || capability == 0)
            return err_sys(err, errno, "cannot drop a capability");
        break; /* the kernel knows no further ones */
    }
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &header, none) < 0)
        return err_sys(err, errno, "cannot drop the capabilities");
    return 0;
}

bool process_may_administrate(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capget, &header, held) == 0 &&
           held[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

int process_no_new_privileges(struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    return 0;
}

bool process_is_filtered(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

int process_limit(int resource, uint64_t most, struct err *err)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return err_sys(err, errno, "cannot read a limit");
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return err_sys(err, errno, "cannot set a limit");
    return 0;
}

struct rlimit process_raise_descriptors(void)
{
    struct rlimit before = {0}, raised;
    if (getrlimit(RLIMIT_NOFILE, &before) == 0) {
        raised = before;
        raised.rlim_cur = raised.rlim_max;
        setrlimit(RLIMIT_NOFILE, &raised);
    }
    return before;
}

int process_dump_no_core(struct err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) < 0)
        return err_sys(err, errno, "cannot read a limit");
    limit.rlim_cur = limit.rlim_max = limit.rlim_max ? 1 : 0;
    return setrlimit(RLIMIT_CORE, &limit) < 0 ? err_sys(err, errno, "cannot set a limit") : 0;
}

int process_become_opaque(struct err *err)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot become opaque");
    return 0;
}

int process_close_descriptors(int spared, struct err *err)
{
    unsigned first = STDERR_FILENO + 1, kept = (unsigned)spared;
    int failed = spared < 0 ? (int)syscall(SYS_close_range, first, ~0U, 0)
                            : (int)(kept > first && syscall(SYS_close_range, first, kept - 1, 0)) ||
                                  syscall(SYS_close_range, kept + 1, ~0U, 0);
    return failed ? err_sys(err, errno, "cannot close the descriptors of the host") : 0;
}

void process_await_sandbox(pid_t pid, int milliseconds)
{
    char path[64], status[4096];
    auto_fd int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    auto_fd int fd = pid_fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);
    status[size < 0 ? 0 : size] = '\0';
    /* "NSpid:	4711	1": its number here, and in its own namespace. */
    char line[64];
    snprintf(line, sizeof(line), "\nNSpid:\t%d\t1\n", pid);
    struct pollfd ended = {.fd = pid_fd, .events = POLLIN};
    if (strstr(status, line))
        poll(&ended, 1, milliseconds);
}

void process_trim(void)
{
    enum { DEEPEST = 1024 * 1024, SPARED = 512 }; /* for the frames of functions called here */
    malloc_trim(0);
    char *end = __builtin_frame_address(0);
    end -= SPARED;
    end -= (uintptr_t)end % (size_t)sysconf(_SC_PAGESIZE);
    /* If the stack is not that deep, the kernel fails after releasing what exists. */
    (void)madvise(end - DEEPEST, DEEPEST, MADV_DONTNEED);
}

const char *process_own_path(struct arena *arena)
{
    not_zeroed char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self));
    return size > 0 && (size_t)size < sizeof(self) ? arena_copy(arena, self, (size_t)size) : NULL;
}

void libexec_folders(struct arena *arena, const char *own, const char *ret_folders[LIBEXEC_FOLDERS_MOST + 1])
{
    const char *folder = path_parent(arena, own);
    size_t count = 0;
    ret_folders[count++] = folder;
    if (strcmp(path_name(folder), "bin") == 0)
        ret_folders[count++] = path_clean(arena, folder, "../libexec");
    if (strcmp(ret_folders[count - 1], BAWN_LIBEXEC) != 0)
        ret_folders[count++] = BAWN_LIBEXEC;
    ret_folders[count] = NULL;
}

const char *libexec_find(struct arena *arena, const char *name)
{
    const char *self = process_own_path(arena), *folders[LIBEXEC_FOLDERS_MOST + 1] = {NULL};
    if (self)
        libexec_folders(arena, self, folders);
    for (const char **folder = folders; *folder; folder++) {
        const char *path = path_join(arena, *folder, name);
        if (access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}
