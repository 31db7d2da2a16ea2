#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/directories.h"
#include "kernel/loopback.h"
#include "kernel/process.h"
#include "launch/inside.h"

/* A user namespace of which only the map is wanted, for mounts. Returns its descriptor. */
static int make_map_namespace(const struct id_map *map, struct err *err)
{
    int pid_fd = -1;
    pid_t parent = getpid(), child = process_fork(CLONE_NEWUSER, &pid_fd);
    if (child == 0) {
        /* It must not outlive bawn, whenever that is killed. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent)
            pause();
        _exit(0);
    }
    if (child < 0)
        return err_sys(err, errno, "cannot make a user namespace");
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/ns/user", child);
    int fd = -1;
    if (process_map_ids(child, map, err) == 0 && (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        err_sys(err, errno, "cannot open %s", path);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pid_fd);
    return fd;
}

/*
 * The standard streams come from outside, on the host's own mounts: through a directory, or a file that is frozen, the
 * walls could be walked round.
 */
static int check_standard_streams(const struct plan *plan, struct err *err)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat stream, frozen;
        if (fstat(fd, &stream) < 0)
            continue;
        bool is_refused = S_ISDIR(stream.st_mode);
        for (size_t i = 0; !is_refused && S_ISREG(stream.st_mode) && i < plan->operations.count; i++) {
            const struct operation *operation = &plan->operations.at[i];
            is_refused = operation->kind == OP_FREEZE && stat(operation->path, &frozen) == 0 &&
                         frozen.st_dev == stream.st_dev && frozen.st_ino == stream.st_ino;
        }
        if (is_refused) {
            err_set(err, "standard stream %d is a directory or a frozen file", fd);
            return err_hint(err, "redirect it from or to something else");
        }
    }
    return 0;
}

/*
 * Unix sockets of the host that somebody listens at now, by their paths: in a tree that is shown, a daemon's socket would
 * answer through every mount. Read outside, because a network namespace of its own shows none.
 */
static const char *read_socket_list(struct arena *arena)
{
    enum { LARGEST = 4 * 1024 * 1024 };
    auto_fd int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
    auto_buf struct buf list = {0};
    char part[16384];
    for (ssize_t got; fd >= 0 && list.size < LARGEST && (got = read(fd, part, sizeof(part))) > 0;)
        buf_add(&list, part, (size_t)got);
    return arena_copy(arena, list.bytes, list.size);
}

/* What must exist on the host before it can be shown: the private home, and directories that a rule says to make. */
static int make_missing(const struct launch *launch, struct err *err)
{
    for (size_t i = 0; i < launch->plan->operations.count; i++) {
        const struct operation *operation = &launch->plan->operations.at[i];
        const char *path = operation->kind == OP_HOME ? operation->source
                           : operation->make          ? operation->path
                                                      : NULL;
        if (path && directories_make(AT_FDCWD, path, err) < 0)
            return -1;
    }
    return 0;
}

static bool wants_host_network(const struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (plan->operations.at[i].kind == OP_NET)
            return strcmp(plan->operations.at[i].value, "open") == 0;
    }
    return false;
}

/* Everything that the caller's environment held is gone from this process's own memory map of it. */
static void scrub_environment(void)
{
    for (char **entry = environ; *entry; entry++)
        memset(*entry, 0, strlen(*entry));
}

static int become_inside_ids(const struct id_map *map, struct err *err)
{
    if (map->keeps_groups)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return err_sys(err, errno, "cannot become root inside");
    /* A change of ids closes a process's own files in /proc to it; until the lockdown they are needed. */
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? err_sys(err, errno, "cannot become root inside") : 0;
}

struct child {
    const struct launch *launch;
    const struct id_map *map;
    int report_fd, control_fd;
    int *tree_fds;
    bool trees_are_open, host_network;
    const char *socket_list;
    struct rlimit descriptors; /* as the caller had it */
};

/* The most of something that the plan allows; `otherwise` where it sets no limit. */
static uint64_t limit_in(const struct plan *plan, enum limit limit, uint64_t otherwise)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_LIMIT && operation->because->limit.limit == limit)
            return operation->amount;
    }
    return otherwise;
}

/*
 * What an ordinary user's process can impose on itself. Processes are counted in this user namespace alone (Linux 5.14).
 * The size of memory is a cgroup's business; here the sandbox is only made the first to go when memory runs out.
 */
static int set_limits(const struct plan *plan, const struct rlimit *descriptors, struct err *err)
{
    if (setrlimit(RLIMIT_NOFILE, descriptors) < 0)
        return err_sys(err, errno, "cannot set a limit");
    uint64_t files = limit_in(plan, LIMIT_FILES, UINT64_MAX), pids = limit_in(plan, LIMIT_PIDS, UINT64_MAX);
    if ((files != UINT64_MAX && process_limit(RLIMIT_NOFILE, files, err) < 0) ||
        (pids != UINT64_MAX && process_limit(RLIMIT_NPROC, pids, err) < 0))
        return -1;
    /* With 0 a core_pattern that is a pipe would still run the host's helper, as root, on every crash in here. */
    if (process_limit(RLIMIT_CORE, 1, err) < 0)
        return -1;
    auto_fd int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "500", 3) != 3)
        return err_sys(err, errno, "cannot offer the sandbox to the kernel when memory runs out");
    return 0;
}

static int raise_walls(const struct child *child, struct err *err)
{
    /* The supervisor says go when the id map is written: until then nothing here has an identity. */
    struct order go;
    if (read(child->control_fd, &go, sizeof(go)) != sizeof(go))
        return err_set(err, "the supervisor is gone");
    if (become_inside_ids(child->map, err) < 0)
        return -1;
    struct root root = {.launch = child->launch,
                        .tree_fds = child->tree_fds,
                        .ids_are_mapped = child->trees_are_open,
                        .host_network = child->host_network,
                        .socket_list = child->socket_list};
    if ((!child->host_network && loopback_up(err) < 0) || root_assemble(&root, err) < 0)
        return -1;
    const char *directory = child->launch->plan->policy->request.directory;
    if (sethostname("bawn", 4) < 0 || chdir(directory) < 0)
        return err_sys(err, errno, "cannot enter %s in the sandbox", directory);
    if (set_limits(child->launch->plan, &child->descriptors, err) < 0)
        return -1;
    scrub_environment();
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot make process 1 opaque");
    return lockdown(child->launch, err);
}

static _Noreturn void run_child(const struct child *child)
{
    struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
    if (child->launch->own_group)
        setpgid(0, 0); /* what the terminal sends to the caller's job is none of process 1's business */
    if (raise_walls(child, &report.err) == 0)
        init_run(child->launch, child->report_fd, child->control_fd);
    if (write(child->report_fd, &report, sizeof(report)) < 0)
        _exit(STATUS_REFUSED);
    _exit(STATUS_REFUSED);
}

static int explain_clone(int errnum, struct err *err)
{
    err_sys(err, errnum, "this machine does not let bawn make namespaces");
    return err_hint(
        err, "`sysctl user.max_user_namespaces` must be above 0; on Ubuntu 24.04 and later AppArmor must "
             "allow it: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bawn");
}

/* Every tree of the plan is a descriptor for a moment. The command gets the caller's limit back. */
static struct rlimit raise_descriptor_limit(void)
{
    struct rlimit before = {0}, raised;
    if (getrlimit(RLIMIT_NOFILE, &before) == 0) {
        raised = before;
        raised.rlim_cur = raised.rlim_max;
        setrlimit(RLIMIT_NOFILE, &raised);
    }
    return before;
}

/* Ends a child that cannot be let go. */
static void abandon(const struct launched *launched)
{
    if (launched->pid > 0) {
        kill(launched->pid, SIGKILL);
        waitpid(launched->pid, NULL, 0);
        close(launched->pid_fd);
    }
    close(launched->report_fd);
    close(launched->control_fd);
}

/* Clones into the namespaces. The child never returns; the parent gets both ends that are its own. */
static struct launched start_child(struct child *child, const int reports[2], const int control[2])
{
    uint64_t namespaces =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    struct launched launched = {.pid_fd = -1, .report_fd = reports[0], .control_fd = control[1]};
    launched.pid = process_fork(namespaces | (child->host_network ? 0 : CLONE_NEWNET), &launched.pid_fd);
    if (launched.pid == 0) {
        close(reports[0]);
        close(control[1]);
        run_child(child);
    }
    return launched;
}

int launch_start(const struct launch *launch, struct launched *ret_launched, struct err *err)
{
    bool is_root = process_is_real_root();
    struct id_map map = process_id_map();
    struct arena *arena = launch->plan->policy->arena;
    size_t count = launch->plan->operations.count;
    if (check_standard_streams(launch->plan, err) < 0 || make_missing(launch, err) < 0)
        return -1;
    struct child child = {
        .launch = launch,
        .map = &map,
        .tree_fds = arena_alloc(arena, count * sizeof(int)),
        .trees_are_open = is_root,
        .host_network = wants_host_network(launch->plan),
        .socket_list = read_socket_list(arena),
        .descriptors = raise_descriptor_limit(),
    };
    if (is_root) {
        auto_fd int userns_fd = make_map_namespace(&map, err);
        if (userns_fd < 0 || root_open_trees(launch, userns_fd, child.tree_fds, err) < 0)
            return -1;
    }
    int reports[2], control[2];
    if (pipe2(reports, O_CLOEXEC) < 0 || pipe2(control, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    child.report_fd = reports[1];
    child.control_fd = control[0];
    struct launched launched = start_child(&child, reports, control);
    int clone_errno = errno;
    close(reports[1]);
    close(control[0]);
    for (size_t i = 0; is_root && i < count; i++) {
        if (child.tree_fds[i] >= 0)
            close(child.tree_fds[i]);
    }
    struct order go = {0};
    int failed =
        launched.pid < 0 ? explain_clone(clone_errno, err) : process_map_ids(launched.pid, &map, err);
    if (!failed && write(control[1], &go, sizeof(go)) != sizeof(go))
        failed = err_sys(err, errno, "cannot start the sandbox");
    if (failed) {
        abandon(&launched);
        return -1;
    }
    *ret_launched = launched;
    return 0;
}
