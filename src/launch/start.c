/*
 * Starts a sandbox from outside.
 *
 * Theory of operation
 *
 * Processes. The supervisor (bawn itself) clones the child, in a new user and pid namespace and, where there is one, in a
 * control group of its own. The child becomes process 1 of the sandbox and starts the command. Real root has one process
 * more for a moment: it pauses while its user namespace is opened, which maps the ids of mounts.
 *
 * Order.
 *
 *      supervisor                                  child
 *   1  launch_begin(): clones the child            maps its ids, makes namespaces and an empty root
 *      reads the policy, makes the plan            waits in handover_receive()
 *                                                  (it has handed its namespaces over by then)
 *   2  launch_start(): joins plan and amendments,
 *      fills the control group, sends all of it    assembles the root, enters its network, raises the walls,
 *   3  reads frozen files, takes a snapshot        tries each wall; hands over the listener of notices (log_exec, learns);
 *      launch_take_handed() (log_exec, learns)     says that it has handed over all; waits for the first order
 *      launch_hide_late() (where a snapshot found
 *      a socket of the host)
 *   4  launch_go(): sends the first order          starts the command
 *   5  sends orders, reads reports                 passes signals on, reaps, reports
 *
 * Step 1 is skipped for real root: its ids are mapped and its trees opened from outside, with the plan. launch_start() then
 * clones the child, and the child waits for step 2 before it does anything, since it has no identity until then. Step 1 is
 * repeated in launch_start() where the child guessed the wrong kind of network.
 *
 * Descriptors. The supervisor owns launched->pid_fd, report_fd, control_fd, port_fd, inotify_fd and the control group; launch_release()
 * closes them. The child owns the other ends. Trees that real root opens outside are inherited by the child and closed
 * outside once it is cloned. All are O_CLOEXEC, and the command's process closes whatever is left.
 *
 *   report_fd   pipe, child to supervisor: one struct report for each change
 *   control_fd  stream socket: the plan, then orders. What process 1 hands over (launch.h) comes back on it, all of it before the
 *               command begins
 *   port_fd     packet socket: sockets of the sandbox's network come out. After the end, descriptors go in that process 1 is to close
 *               (launch_leave): it does not read them. To a warden they go by control_fd
 *
 * Invariants.
 *
 *   1. The command does not exist before the first order. Whatever the supervisor reads until launch_go() is the state
 *      before the command.
 *   2. The end of control_fd means that the supervisor is dead: process 1 ends, and the kernel ends the sandbox with it.
 *   3. Each failure inside is one REPORT_FAILED. A broken control_fd is therefore no error outside: the report has the reason.
 *   4. Neither side waits for the other at the same time. The child reads the plan as soon as it has an empty root, and the
 *      supervisor waits for what is handed over only after the plan is sent; a dead child ends that wait. Once the command runs, the
 *      supervisor waits for nothing from process 1.
 *   5. The child decides nothing. It carries out operations and fails where it cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/cgroup.h"
#include "kernel/directories.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "launch/bare.h"

int map_namespace_open(const struct id_map *map, struct err *err)
{
    int pid_fd = -1;
    pid_t parent = getpid(), child = process_fork(CLONE_NEWUSER, -1, &pid_fd);
    if (child == 0) {
        /* It must not outlive bawn, even if bawn is killed here. */
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

/* Makes the directories that a rule says to make: they must exist on the host before they can be shown. */
static int make_missing(const struct launch *launch, struct err *err)
{
    vec_each (const struct operation, operation, launch->operations) {
        if (operation->make && directories_make(operation->path, err) < 0)
            return -1;
    }
    return 0;
}

void launch_release(struct launched *launched, bool waits)
{
    for (size_t i = 0; i < HANDED_COUNT; i++)
        fd_close(launched->handed[i]);
    fd_close(launched->inotify_fd);
    if (launched->pid > 0) {
        shutdown(launched->control_fd, SHUT_RDWR); /* a child of the supervisor may have it open as well */
        close(launched->control_fd);
    }
    /* A control group can be removed once no process is in it. */
    bool may_leave_orphans = launched->is_bare && !launched->has_ended;
    if (launched->pid > 0 &&
        (waits || may_leave_orphans || launched->cgroup.fd >= 0 || !launched->is_reaped_by_init))
        waitpid(launched->pid, NULL, 0);
    if (may_leave_orphans)
        bare_end_orphans();
    if (launched->is_bare)
        bare_adopt_orphans(false);
    cgroup_remove(&launched->cgroup);
    if (launched->pid > 0) {
        close(launched->pid_fd);
        close(launched->report_fd);
        close(launched->port_fd);
    }
    *launched = LAUNCHED_NONE;
}

void launch_leave(const struct launched *launched, int fd)
{
    /* The other side does not read this socket any more. If it cannot be sent, the caller pays for the last close. */
    int unread_fd = launched->is_bare ? launched->control_fd : launched->port_fd;
    if (launched->pid > 0 && launched->has_ended && passing_send(unread_fd, ".", 1, fd) < 0)
        return;
}

bool launch_pass_on(const struct launched *launched, int number, bool with_terminal)
{
    struct order order = {number, with_terminal};
    return send(launched->control_fd, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void launch_kill(const struct launched *launched)
{
    if (!launched->is_bare) {
        kill(launched->pid, SIGKILL);
        return;
    }
    shutdown(launched->control_fd, SHUT_RDWR);
    kill(launched->pid, SIGCONT); /* one that is stopped would not hear of it */
}

void launch_abandon(struct launched *launched)
{
    if (launched->pid > 0)
        launch_kill(launched);
    launch_release(launched, true);
}

static int explain_clone(int errnum, bool into_cgroup, struct err *err)
{
    if (into_cgroup && (errnum == EOPNOTSUPP || errnum == EBUSY || errnum == ENODEV))
        return err_sys(err, errnum, "cannot start the sandbox in the control group that was made for it");
    if (errnum == EAGAIN || errnum == ENOMEM) {
        err_sys(err, errnum, "cannot start a process for the sandbox");
        return err_hint(
            err, errnum == EAGAIN
                     ? "too many processes are running: check `ulimit -u` and pids.max of the control group"
                     : "close programs that use much memory");
    }
    err_sys(err, errnum, "this machine does not let bawn make namespaces");
    return explain_namespaces(err);
}

/* Clones the child, which never returns from here, and keeps the supervisor's ends. */
static int start_child(struct child *child, struct launched *ret_launched, struct err *err)
{
    int reports[2], control[2], ports[2];
    if (pipe2(reports, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0) {
        close(reports[0]);
        close(reports[1]);
        return err_sys(err, errno, "cannot make a socket");
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ports) < 0) {
        int errnum = errno;
        const int made[] = {reports[0], reports[1], control[0], control[1]};
        for (size_t i = 0; i < array_len(made); i++)
            close(made[i]);
        return err_sys(err, errnum, "cannot make a socket");
    }
    child->port_fd = ports[1];
    child->report_fd = reports[1];
    child->control_fd = control[0];
    /* Each tree of the plan needs a descriptor for a moment. The command gets the caller's limit back. */
    child->descriptors = process_raise_descriptors();
    struct launched launched = LAUNCHED_NONE;
    launched.report_fd = reports[0];
    launched.control_fd = control[1];
    launched.port_fd = ports[0];
    launched.host_network = child->host_network;
    launched.is_bare = !child->namespaces;
    /* Process 1 keeps it open too: closing the last one may take the kernel milliseconds, for which nobody waits there. */
    launched.inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct rlimit shares[LIMITS_SHARED];
    limits_leave_share(shares);
    launched.pid = process_fork(child->namespaces, child->cgroup_fd, &launched.pid_fd);
    if (launched.pid == 0) {
        close(reports[0]);
        close(control[1]);
        close(ports[0]);
        child->run(child);
    }
    int clone_errno = errno;
    limits_take_share(shares);
    close(reports[1]);
    close(control[0]);
    close(ports[1]);
    setrlimit(RLIMIT_NOFILE, &child->descriptors);
    if (launched.pid < 0) {
        close(reports[0]);
        close(control[1]);
        close(ports[0]);
        fd_close(launched.inotify_fd);
        return explain_clone(clone_errno, child->cgroup_fd >= 0, err);
    }
    *ret_launched = launched;
    return 0;
}

typedef int start_function(struct child *child, struct launched *ret_launched, struct err *err);

/* Starts the child in a control group of its own, where one can be made. One that limits nothing is not needed for a run. */
static int start_in_cgroup(struct child *child, struct launched *ret_launched, struct err *err)
{
    const struct cgroup_place *place = child->launch->cgroup_place;
    bool holds = place->holds_memory || place->holds_pids;
    struct cgroup cgroup = CGROUP_NONE;
    if (*place->path && cgroup_make(place, &cgroup, err) < 0 && holds)
        return -1;
    child->cgroup_fd = cgroup.fd;
    int result = start_child(child, ret_launched, err);
    if (result == 0) {
        ret_launched->cgroup = cgroup;
        return 0;
    }
    bool was_in = cgroup.fd >= 0;
    cgroup_remove(&cgroup);
    child->cgroup_fd = -1;
    return was_in && !holds ? start_child(child, ret_launched, err) : result;
}

/*
 * On a machine with few processors, the kernel mostly queues a new process on its parent's processor although another is idle,
 * and moves it back there whenever the parent wakes it. Both have work until the command begins, so the child is kept off the
 * supervisor's processor. With many processors the kernel places them well.
 */
static void keep_apart(const struct child *child, struct launched *launched)
{
    cpu_set_t others = child->processors;
    unsigned own;
    if (!child->may_be_kept_apart || getcpu(&own, NULL) < 0)
        return;
    launched->processors = child->processors;
    CPU_CLR(own, &others);
    launched->is_kept_apart =
        CPU_COUNT(&others) && sched_setaffinity(launched->pid, sizeof(others), &others) == 0;
}

int launch_go(const struct launched *launched, struct err *err)
{
    if (launched->is_kept_apart)
        sched_setaffinity(launched->pid, sizeof(launched->processors), &launched->processors);
    struct order begin = {0};
    if (write_whole(launched->control_fd, &begin, sizeof(begin)) == 0)
        return 0;
    bool is_gone = errno == EPIPE || errno == ECONNRESET; /* its report says why */
    return is_gone ? 0 : err_sys(err, errno, "process 1 cannot be told to begin");
}

static struct child plan_child(const struct launch *launch, const struct id_map *map, bool is_bare)
{
    return (struct child){.launch = launch,
                          .run = is_bare ? bare_run : child_run,
                          .namespaces = is_bare ? 0 : CLONE_NEWUSER | CLONE_NEWPID,
                          .map = map,
                          .cgroup_fd = -1};
}

void launch_begin(const struct launch *launch, bool is_bare, struct launched *ret_launched)
{
    enum { FEW = 4 };
    struct id_map map = process_id_map();
    struct child child = plan_child(launch, &map, is_bare);
    child.host_network = launch->probably_host_network;
    child.may_be_kept_apart = sched_getaffinity(0, sizeof(child.processors), &child.processors) == 0 &&
                              CPU_COUNT(&child.processors) <= FEW;
    struct err ignored; /* launch_start() tries again, and reports the failure */
    *ret_launched = LAUNCHED_NONE;
    if (!map.keeps_groups)
        return;
    if (start_in_cgroup(&child, ret_launched, &ignored) < 0)
        *ret_launched = LAUNCHED_NONE;
    else
        keep_apart(&child, ret_launched);
}

static void close_trees(struct shown *shown, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (shown[i].tree >= 0)
            close(shown[i].tree);
        if (shown[i].overlay >= 0)
            close(shown[i].overlay);
        shown[i] = (struct shown){-1, -1};
    }
}

/*
 * Opens the host's trees with mapped ids: root inside is an id outside that nobody has. Where that wall is given up, root inside is
 * root outside, and the child opens the trees itself, as for other users.
 */
static int open_mapped_trees(const struct launch *launch, struct child *child, struct id_map *map,
                             struct err *err)
{
    const struct operations *operations = launch->operations;
    if (!walls_have(operations->absent, WALL_ROOT)) {
        struct rlimit before = process_raise_descriptors();
        auto_fd int userns_fd = map_namespace_open(map, err);
        int result = userns_fd < 0 ? -1 : trees_open(launch, userns_fd, child->shown, err);
        setrlimit(RLIMIT_NOFILE, &before);
        if (result == 0)
            return 0;
        close_trees(child->shown, operations->count);
        if (!walls_have(operations->degraded, WALL_ROOT))
            return -1;
    }
    child->shown = NULL;
    *map = process_root_map();
    return 0;
}

/*
 * For real root: opens the trees before the child exists, and maps the child's ids from outside. With --nested the id inside is an
 * ordinary one: the kernel lets nobody without capabilities make a user namespace that maps root, so no sandbox inside could have an id.
 */
enum { ORDINARY_ID = 1000 };
static int start_as_root(const struct launch *launch, struct child *child, struct id_map *map,
                         start_function *start, struct launched *ret_launched, struct err *err)
{
    struct arena arena = {0};
    size_t count = launch->operations->count;
    struct shown *shown = child->shown = arena_alloc(&arena, count * sizeof(*shown));
    for (size_t i = 0; i < count; i++)
        shown[i] = (struct shown){-1, -1};
    int result = open_mapped_trees(launch, child, map, err);
    if (result == 0 && launch->nested && child->shown)
        map->inside_uid = map->inside_gid = ORDINARY_ID;
    if (result == 0)
        result = start(child, ret_launched, err);
    close_trees(shown, count);
    arena_free(&arena);
    if (result == 0 && process_map_ids(ret_launched->pid, child->map, err) < 0) {
        launch_abandon(ret_launched);
        return -1;
    }
    return result;
}

static int start_with_plan(const struct launch *launch, struct launched *ret_launched, bool host_network,
                           struct err *err)
{
    struct id_map map = process_id_map();
    bool is_bare = launch->operations->on == ON_LANDLOCK;
    struct child child = plan_child(launch, &map, is_bare);
    child.host_network = host_network;
    bool wants_cgroup = map.keeps_groups || limits_want_cgroup(launch->operations);
    start_function *start = wants_cgroup ? start_in_cgroup : start_child;
    return map.keeps_groups || is_bare ? start(&child, ret_launched, err)
                                       : start_as_root(launch, &child, &map, start, ret_launched, err);
}

/* Sets the limits that the plan leaves to a control group. Fails where there is no control group to hold them. */
static int set_limits(const struct operations *operations, const struct launched *launched, struct err *err)
{
    bool lacks_cgroup = limits_want_cgroup(operations) && launched->cgroup.fd < 0;
    if (!lacks_cgroup && limits_fill_cgroup(operations, &launched->cgroup, err) == 0)
        return 0;
    if (lacks_cgroup)
        err_set(err, "no control group could be made to enforce the limits");
    return err_hint(err,
                    "`bawn doctor` shows the fix; --limit memory=none --limit pids=none runs without limits");
}

static int start_amended(const struct launch *launch, struct launched *launched, struct err *err)
{
    bool host_network = ports_host_network(launch->operations);
    bool is_bare = launch->operations->on == ON_LANDLOCK;
    if (streams_check(launch->operations, err) < 0 || make_missing(launch, err) < 0)
        return -1;
    /* The child that was started ahead had to guess which network the plan has. A warden has the host's. */
    if (launched->pid > 0 &&
        (launched->is_bare != is_bare || (!is_bare && launched->host_network != host_network)))
        launch_abandon(launched);
    if (is_bare)
        bare_adopt_orphans(true);
    if (launched->pid < 0 && start_with_plan(launch, launched, host_network, err) < 0)
        return -1;
    if (set_limits(launch->operations, launched, err) < 0 ||
        handover_send(launch, launched->control_fd, err) < 0) {
        launch_abandon(launched);
        return -1;
    }
    launched->is_reaped_by_init = process_orphans_are_reaped(); /* while the child has work */
    return 0;
}

int launch_start(const struct launch *launch, struct launched *launched, struct err *err)
{
    struct arena arena = {0};
    struct launch amended = *launch;
    struct operations operations = amended_operations(&arena, launch->operations, launch->amendments);
    amended.operations = &operations;
    int result = start_amended(&amended, launched, err);
    arena_free(&arena);
    return result;
}
