/* Limits of a sandbox: by a control group if the plan has one, and by limits that a process sets for itself. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/process.h"
#include "launch/inside.h"

static const struct operation *find_limit(const struct operations *operations, const char *name)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == OP_LIMIT && strcmp(operation->name, name) == 0)
            return operation;
    }
    return NULL;
}

/* UINT64_MAX where the plan sets no limit. */
static uint64_t limits_most(const struct operations *operations, const char *name)
{
    const struct operation *operation = find_limit(operations, name);
    return operation ? operation->amount : UINT64_MAX;
}

uint64_t limits_asked(const struct operations *operations, const char *name)
{
    const struct operation *operation = find_limit(operations, name);
    return operation && !operation->is_of_profile ? operation->amount : UINT64_MAX;
}

static bool is_held_by(const struct operations *operations, const char *name, enum limit_means means)
{
    const struct operation *operation = find_limit(operations, name);
    return operation && operation->held_by == means;
}

bool limits_want_cgroup(const struct operations *operations)
{
    return is_held_by(operations, "memory", HELD_BY_CGROUP) || is_held_by(operations, "pids", HELD_BY_CGROUP);
}

uint64_t limits_judged(const struct operations *operations)
{
    return is_held_by(operations, "pids", HELD_BY_JUDGE) ? limits_most(operations, "pids") : UINT64_MAX;
}

int limits_fill_cgroup(const struct operations *operations, const struct cgroup *cgroup, struct err *err)
{
    if (cgroup->fd < 0)
        return 0;
    return cgroup_limit(cgroup, limits_most(operations, "memory"), limits_most(operations, "pids"), err);
}

/*
 * The kernel compares all descriptors that a user's processes have in flight with the limit of the one that sends. The command gets
 * a little less than the caller had: whatever it sends, process 1 of this and of another sandbox can send too.
 */
static void hold_back(struct rlimit *descriptors)
{
    enum { FEW = 4096, HELD_BACK = 1024 };
    if (descriptors->rlim_max < FEW)
        return; /* too few to do without some: a command may then use them all up, and a new run is refused */
    if (descriptors->rlim_max != RLIM_INFINITY)
        descriptors->rlim_max -= HELD_BACK;
    if (descriptors->rlim_cur > descriptors->rlim_max)
        descriptors->rlim_cur = descriptors->rlim_max;
}

int limits_set(const struct operations *operations, struct rlimit *descriptors, struct err *err)
{
    enum { FEWEST_FILES = 64 };
    uint64_t files = limits_most(operations, "files"), pids = limits_most(operations, "pids");
    if (files < FEWEST_FILES) {
        err_set(err, "with %llu open files nothing can be run", (unsigned long long)files);
        return err_hint(err, "`limit files` is too small for bawn itself: make it %d or more", FEWEST_FILES);
    }
    /* Processes are counted in this user namespace alone (Linux 5.14). */
    if (pids != UINT64_MAX && operations->on == ON_NAMESPACES && process_limit(RLIMIT_NPROC, pids, err) < 0)
        return -1;
    hold_back(descriptors);
    descriptors->rlim_max = descriptors->rlim_max < files ? descriptors->rlim_max : files;
    if (descriptors->rlim_cur > descriptors->rlim_max)
        descriptors->rlim_cur = descriptors->rlim_max;
    return 0;
}

/* Of these the kernel counts what a user has in a user namespace, and adds it to what its owner has outside. */
static const struct {
    __rlimit_resource_t resource;
    rlim_t most; /* that is left outside */
} shared[LIMITS_SHARED] = {{RLIMIT_NPROC, 64},
                           {RLIMIT_SIGPENDING, 256},
                           {RLIMIT_MSGQUEUE, RLIM_INFINITY},
                           {RLIMIT_MEMLOCK, RLIM_INFINITY}};

void limits_leave_share(struct rlimit *ret_before)
{
    enum { PART = 8 };
    for (size_t i = 0; i < LIMITS_SHARED; i++) {
        ret_before[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        if (getrlimit(shared[i].resource, &ret_before[i]) < 0 || ret_before[i].rlim_cur == RLIM_INFINITY)
            continue;
        struct rlimit less = ret_before[i];
        rlim_t share = less.rlim_cur / PART;
        less.rlim_cur -= share < shared[i].most ? share : shared[i].most;
        setrlimit(shared[i].resource, &less);
    }
}

void limits_take_share(const struct rlimit *before)
{
    for (size_t i = 0; i < LIMITS_SHARED; i++) {
        if (before[i].rlim_cur != RLIM_INFINITY)
            setrlimit(shared[i].resource, &before[i]);
    }
}

/*
 * The kernel counts locked memory in pages, and compares it with the namespace's limit in bytes: only the limit of each process holds. It
 * was lowered with the others, and must not be raised again inside.
 */
static int limit_locked_memory(struct err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return err_sys(err, errno, "cannot read a limit");
    return limit.rlim_cur == RLIM_INFINITY ? 0 : process_limit(RLIMIT_MEMLOCK, limit.rlim_cur, err);
}

int limits_set_fixed(struct err *err)
{
    if (process_dump_no_core(err) < 0 || limit_locked_memory(err) < 0)
        return -1;
    /* With and without a control group: when memory runs out, the kernel ends the sandbox first. */
    auto_fd int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "500", 3) != 3)
        return err_sys(err, errno, "cannot set the sandbox's oom_score_adj");
    return 0;
}
