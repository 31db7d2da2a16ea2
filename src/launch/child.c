/* The child, from the clone to process 1. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/loopback.h"
#include "kernel/process.h"
#include "launch/handover.h"
#include "launch/inside.h"

/* Everything that the caller's environment held is gone from this process's own memory map of it. */
static void scrub_environment(void)
{
    for (char **entry = environ; *entry; entry++)
        memset(*entry, 0, strlen(*entry));
}

static int become_inside_ids(const struct id_map *map, struct err *err)
{
    if (map->keeps_groups)
        return process_map_own_ids(map, err);
    if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return err_sys(err, errno, "cannot become root inside");
    /* A change of ids closes a process's own files in /proc to it; until the lockdown they are needed. */
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? err_sys(err, errno, "cannot become root inside") : 0;
}

/* The most of something that the plan allows; `otherwise` where it sets no limit. */
static uint64_t limit_in(const struct plan *plan, enum limit limit, uint64_t otherwise)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_LIMIT && operation->limit == limit)
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
    return (files != UINT64_MAX && process_limit(RLIMIT_NOFILE, files, err) < 0) ||
                   (pids != UINT64_MAX && process_limit(RLIMIT_NPROC, pids, err) < 0)
               ? -1
               : 0;
}

/* What holds for every sandbox, whatever the plan. */
static int set_fixed_limits(struct err *err)
{
    /* With 0 a core_pattern that is a pipe would still run the host's helper, as root, on every crash in here. */
    if (process_limit(RLIMIT_CORE, 1, err) < 0)
        return -1;
    auto_fd int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "500", 3) != 3)
        return err_sys(err, errno, "cannot offer the sandbox to the kernel when memory runs out");
    return 0;
}

/* All that needs no plan, and can be done while the policy is still being read. */
static int prepare(struct root *root, const struct child *child, struct err *err)
{
    if (become_inside_ids(child->map, err) < 0)
        return explain_namespaces(err);
    root->socket_list = mask_read_sockets(&root->arena); /* a network namespace of its own shows none */
    int namespaces = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    if (unshare(namespaces | (child->host_network ? 0 : CLONE_NEWNET)) < 0) {
        err_sys(err, errno, "this machine does not let bawn make namespaces");
        return explain_namespaces(err);
    }
    if (!child->host_network && loopback_up(err) < 0)
        return -1;
    return set_fixed_limits(err) < 0 ? -1 : root_prepare(root, err);
}

static int raise_walls(const struct child *child, struct launch *launch, struct err *err)
{
    struct root root = {.launch = launch, .tree_fds = child->tree_fds, .host_network = child->host_network};
    /* Real root's ids are mapped from outside, and until that is done nothing here has an identity. */
    bool is_mapped_outside = !child->map->keeps_groups;
    if (is_mapped_outside && handover_receive(child->control_fd, &root.arena, launch, err) < 0)
        return -1;
    if (prepare(&root, child, err) < 0)
        return -1;
    if (!is_mapped_outside && handover_receive(child->control_fd, &root.arena, launch, err) < 0)
        return -1;
    if (root_assemble(&root, err) < 0)
        return -1;
    if (sethostname("bawn", 4) < 0 || chdir(launch->directory) < 0)
        return err_sys(err, errno, "cannot enter %s in the sandbox", launch->directory);
    if (set_limits(launch->plan, &child->descriptors, err) < 0)
        return -1;
    scrub_environment();
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot make process 1 opaque");
    return lockdown(launch, err);
}

_Noreturn void child_run(const struct child *child)
{
    struct launch launch = *child->launch;
    struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
    if (launch.own_group)
        setpgid(0, 0); /* what the terminal sends to the caller's job is none of process 1's business */
    if (raise_walls(child, &launch, &report.err) == 0)
        init_run(&launch, child->report_fd, child->control_fd);
    if (write(child->report_fd, &report, sizeof(report)) < 0)
        _exit(STATUS_REFUSED);
    _exit(STATUS_REFUSED);
}
