/* What a sandbox may use up: by a control group where the plan has one, and by what a process can impose on itself. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/process.h"
#include "launch/inside.h"

static const struct operation *find_limit(const struct plan *plan, enum limit limit)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_LIMIT && operation->limit == limit)
            return operation;
    }
    return NULL;
}

/* UINT64_MAX where the plan sets no limit. */
static uint64_t limits_most(const struct plan *plan, enum limit limit)
{
    const struct operation *operation = find_limit(plan, limit);
    return operation ? operation->amount : UINT64_MAX;
}

uint64_t limits_asked(const struct plan *plan, enum limit limit)
{
    const struct operation *operation = find_limit(plan, limit);
    return operation && !operation->is_of_profile ? operation->amount : UINT64_MAX;
}

static bool is_held_by_cgroup(const struct plan *plan, enum limit limit)
{
    const struct operation *operation = find_limit(plan, limit);
    return operation && operation->held_by == HELD_BY_CGROUP;
}

bool limits_want_cgroup(const struct plan *plan)
{
    return is_held_by_cgroup(plan, LIMIT_MEMORY) || is_held_by_cgroup(plan, LIMIT_PIDS);
}

int limits_fill_cgroup(const struct plan *plan, const struct cgroup *cgroup, struct err *err)
{
    if (cgroup->fd < 0)
        return 0;
    return cgroup_limit(cgroup, limits_most(plan, LIMIT_MEMORY), limits_most(plan, LIMIT_PIDS), err);
}

int limits_set(const struct plan *plan, const struct rlimit *descriptors, struct err *err)
{
    if (setrlimit(RLIMIT_NOFILE, descriptors) < 0)
        return err_sys(err, errno, "cannot set a limit");
    uint64_t files = limits_most(plan, LIMIT_FILES), pids = limits_most(plan, LIMIT_PIDS);
    /* Processes are counted in this user namespace alone (Linux 5.14). */
    if ((files != UINT64_MAX && process_limit(RLIMIT_NOFILE, files, err) < 0) ||
        (pids != UINT64_MAX && process_limit(RLIMIT_NPROC, pids, err) < 0))
        return -1;
    return 0;
}

int limits_set_fixed(struct err *err)
{
    if (process_dump_no_core(err) < 0)
        return -1;
    /* With and without a control group: when the machine's memory runs out, the sandbox is the first to go. */
    auto_fd int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "500", 3) != 3)
        return err_sys(err, errno, "cannot offer the sandbox to the kernel when memory runs out");
    return 0;
}
