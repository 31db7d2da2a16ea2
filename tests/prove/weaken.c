/*
 * A bawn whose walls can be taken away one by one, for the tests of `bawn prove` alone: BAWN_WEAKEN names those that are
 * missing. bawn's own code knows nothing of it. The linker puts these functions in front of bawn's (--wrap), and where a
 * wall is missing they do nothing, and lie to the check that the launcher makes before it runs a command.
 *
 * Never for use: process 1 of such a sandbox may be a process of the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/capture.h"
#include "kernel/landlock.h"
#include "kernel/mounts.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"
#include "launch/inside.h"

#include "../tool/wrapped_syscall.h"

/* All that can be missing. Each has a line in docs/walls/matrix.txt: tests/prove compares. */
static const char *const walls[] = {
    "aside",         "capabilities", "control-group",     "core-limit",    "descriptors",   "environment",
    "freeze",        "host-name",    "ipc",               "landlock",      "masks",         "namespace-limit",
    "network",       "opaque",       "no-new-privileges", "pid",           "private-dev",   "private-home",
    "private-run",   "private-tmp",  "proc",              "process-group", "process-limit", "read-only",
    "root-ids",      "seccomp",      "setuid-filter",     "socket-masks",
};

/* A copy: the environment is overwritten inside. */
static char missing[256];

/* A name that no wall has would take nothing away, and show that nothing escapes. */
static void insist_on_wall(const char *name)
{
    size_t i = 0;
    while (i < array_len(walls) && strcmp(walls[i], name) != 0)
        i++;
    if (i < array_len(walls))
        return;
    fprintf(stderr, "bawn-weakened knows no wall %s\n", name);
    _exit(99);
}

__attribute__((constructor)) static void read_missing(void)
{
    const char *names = getenv("BAWN_WEAKEN");
    snprintf(missing, sizeof(missing), ",%s,", names ? names : "");
    unsetenv("BAWN_WEAKEN");
    for (size_t i = 0; strcmp(missing, ",?,") == 0 && i < array_len(walls); i++)
        puts(walls[i]);
    if (strcmp(missing, ",?,") == 0)
        exit(0);
    char copy[sizeof(missing)];
    snprintf(copy, sizeof(copy), "%s", missing);
    for (char *name = strtok(copy, ","); name; name = strtok(NULL, ","))
        insist_on_wall(name);
}

static bool lacks(const char *wall)
{
    insist_on_wall(wall);
    char name[64];
    snprintf(name, sizeof(name), ",%s,", wall);
    return strstr(missing, name) != NULL;
}

/* What stands behind each function that is put in front. */
#define WRAP(type, name, ...)                                                                                \
    type __real_##name(__VA_ARGS__);                                                                         \
    type __wrap_##name(__VA_ARGS__);                                                                         \
    type __wrap_##name(__VA_ARGS__)

/* --- what can be done ------------------------------------------------------------------------------------------------ */

static bool is_inside; /* in the sandbox's process 1, before it is locked down */

WRAP(int, process_drop_capabilities, struct err *err)
{
    /* Without no_new_privs only a capability can load the filter: it is dropped afterwards. */
    return lacks("capabilities") || lacks("no-new-privileges") ? 0 : __real_process_drop_capabilities(err);
}

WRAP(int, seccomp_load, enum seccomp_kind kind, bool has_other_ids, struct err *err)
{
    if (lacks("setuid-filter") && kind == SECCOMP_ROOT)
        kind = SECCOMP_DEFAULT;
    if (!lacks("seccomp") && __real_seccomp_load(kind, has_other_ids, err) < 0)
        return -1;
    return lacks("no-new-privileges") ? __real_process_drop_capabilities(err) : 0;
}

WRAP(int, process_no_new_privileges, struct err *err)
{
    return lacks("no-new-privileges") ? 0 : __real_process_no_new_privileges(err);
}

WRAP(int, landlock_enforce, struct landlock *landlock, struct err *err)
{
    if (!lacks("landlock"))
        return __real_landlock_enforce(landlock, err);
    close(landlock->fd);
    landlock->fd = -1;
    return 0;
}

WRAP(int, process_limit, int resource, uint64_t most, struct err *err)
{
    bool is_missing = resource == RLIMIT_NPROC && lacks("process-limit");
    return is_missing ? 0 : __real_process_limit(resource, most, err);
}

WRAP(int, limits_set_fixed, struct err *err)
{
    return lacks("core-limit") ? 0 : __real_limits_set_fixed(err);
}

WRAP(int, process_close_descriptors, int spared, struct err *err)
{
    return lacks("descriptors") ? 0 : __real_process_close_descriptors(spared, err);
}

/* --- what can be named ----------------------------------------------------------------------------------------------- */

WRAP(int, unshare, int flags)
{
    if (is_inside && flags == CLONE_NEWUSER && missing[1] != ',') {
        errno = EPERM; /* the launcher's own check */
        return -1;
    }
    int shared = (lacks("ipc") ? CLONE_NEWIPC : 0) | (lacks("host-name") ? CLONE_NEWUTS : 0) |
                 (lacks("control-group") ? CLONE_NEWCGROUP : 0);
    return __real_unshare(flags & ~shared);
}

WRAP(int, sethostname, const char *name, size_t size)
{
    return lacks("host-name") ? 0 : __real_sethostname(name, size);
}

WRAP(struct id_map, process_id_map, void)
{
    return lacks("root-ids") ? process_root_map() : __real_process_id_map();
}

WRAP(pid_t, process_fork, uint64_t namespaces, int cgroup_fd, int *ret_pidfd)
{
    pid_t child = __real_process_fork(lacks("pid") ? namespaces & ~(uint64_t)CLONE_NEWPID : namespaces,
                                      cgroup_fd, ret_pidfd);
    is_inside = is_inside || child == 0;
    return child;
}

/* Where process 1 is one of many, what it does to all would be done to the host's. */
WRAP(int, kill, pid_t pid, int signal)
{
    return lacks("pid") && pid == -1 ? 0 : __real_kill(pid, signal);
}

WRAP(int, setpgid, pid_t pid, pid_t group)
{
    return is_inside && lacks("process-group") ? 0 : __real_setpgid(pid, group);
}

WRAP(int, mount_new, const char *type, const char *const *options, bool read_only, bool allow_devices,
     struct err *err)
{
    if ((lacks("pid") || lacks("proc")) && strcmp(type, "proc") == 0)
        return mount_open_tree(AT_FDCWD, "/proc", err);
    return __real_mount_new(type, options, read_only, allow_devices, err);
}

WRAP(int, mount_open_restricted, int directory, const char *path, bool read_only, bool allow_devices,
     struct err *err)
{
    return __real_mount_open_restricted(directory, path, read_only && !lacks("read-only"), allow_devices, err);
}

WRAP(int, mount_make_read_only, int fd, struct err *err)
{
    return lacks("read-only") || lacks("proc") || lacks("pid") ? 0 : __real_mount_make_read_only(fd, err);
}

WRAP(int, mask_find, struct root *root, struct err *err)
{
    return lacks("socket-masks") ? 0 : __real_mask_find(root, err);
}

WRAP(int, furnish_private, struct root *root, const char *path, struct err *err)
{
    bool is_host = (lacks("private-tmp") && strstr(",/tmp,/var/tmp,/dev/shm,", path) && strcmp(path, "/dev") != 0) ||
                   (lacks("private-dev") && strcmp(path, "/dev") == 0);
    if (!is_host)
        return __real_furnish_private(root, path, err);
    int tree = mount_open_tree(AT_FDCWD, path, err);
    int result = tree < 0 ? -1 : place_attach(root, tree, path, true, err);
    close(tree);
    return result;
}

WRAP(int, openat64, int directory, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (lacks("namespace-limit") && strncmp(path, "proc/sys/user/", strlen("proc/sys/user/")) == 0)
        return __real_openat64(AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
    return __real_openat64(directory, path, flags, mode);
}

/* --- rules ------------------------------------------------------------------------------------------------------------ */

static void open_network(struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (plan->operations.at[i].kind == OP_NET)
            plan->operations.at[i].value = "open";
    }
}

static void drop(struct plan *plan, enum operation_kind kind)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (plan->operations.at[i].kind != kind)
            plan->operations.at[kept++] = plan->operations.at[i];
    }
    plan->operations.count = kept;
}

/* What is hidden or sealed below a tree that is shown. */
static void unmask(struct plan *plan)
{
    drop(plan, OP_HIDE);
    drop(plan, OP_DECOY);
}

/* The user's own home in the place of the private one. */
static void share_home(struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_HOME)
            *operation = (struct operation){.kind = OP_BIND_WRITE, .path = operation->path, .is_directory = true};
    }
}

/* Sockets in /run are shown as if a rule had granted them: the decoys that look like docker's and the session bus's. */
static void show_run(struct plan *plan)
{
    glob_t found;
    if (glob("/run/bawn-prove-*.sock", 0, NULL, &found) != 0 ||
        glob("/run/*/bawn-prove-*.d/bus", GLOB_APPEND, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        vec_push(&plan->operations,
                 (struct operation){.kind = OP_BIND_READ, .path = arena_str(plan->policy->arena, found.gl_pathv[i])});
    globfree(&found);
}

static void pass_variables(struct plan *plan)
{
    for (const char *const *entry = plan->policy->request.environment; *entry; entry++) {
        const char *name = arena_copy(plan->policy->arena, *entry, strcspn(*entry, "="));
        bool is_known = strcmp(name, "PATH") == 0;
        for (size_t i = 0; i < plan->operations.count; i++)
            is_known |= plan->operations.at[i].name && strcmp(plan->operations.at[i].name, name) == 0;
        if (!is_known)
            vec_push(&plan->operations, (struct operation){.kind = OP_ENV_PASS, .name = name});
    }
}

WRAP(void, plan_make, const struct policy *policy, const struct plan_request *request, struct plan *ret_plan)
{
    __real_plan_make(policy, request, ret_plan);
    if (lacks("network"))
        open_network(ret_plan);
    if (lacks("freeze"))
        drop(ret_plan, OP_FREEZE);
    if (lacks("masks"))
        unmask(ret_plan);
    if (lacks("private-home"))
        share_home(ret_plan);
    if (lacks("private-run"))
        show_run(ret_plan);
    if (lacks("environment"))
        pass_variables(ret_plan);
}

/* What was to be kept aside is written where it belongs. */
WRAP(int, capture_begin, const struct caller *caller, const struct loaded *loaded, struct amendments *amendments,
     const struct session *session, const struct run_request *request, struct capture **ret_capture, struct err *err)
{
    return lacks("aside") ? 0
                          : __real_capture_begin(caller, loaded, amendments, session, request, ret_capture, err);
}

/* --- the launcher's check, which would refuse ------------------------------------------------------------------------- */

WRAP(int, mkdir, const char *path, mode_t mode)
{
    if (lacks("landlock") && strcmp(path, "/bawn") == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_mkdir(path, mode);
}

WRAP(int, statvfs64, const char *path, struct statvfs *status)
{
    int result = __real_statvfs64(path, status);
    if (lacks("read-only"))
        status->f_flag |= ST_RDONLY | ST_NOSUID | ST_NODEV;
    return result;
}

WRAP(ssize_t, readlink, const char *path, char *target, size_t size)
{
    if (is_inside && (lacks("pid") || lacks("proc")) && strcmp(path, "/proc/self") == 0) {
        *target = '1';
        return 1;
    }
    return __real_readlink(path, target, size);
}

WRAP(int, stat64, const char *path, struct stat *status)
{
    if (is_inside && (lacks("private-home") || lacks("masks")) && strstr(path, "/sessions/")) {
        errno = ENOENT;
        return -1;
    }
    return __real_stat64(path, status);
}

WRAP(int, fcntl64, int fd, int act, ...)
{
    va_list list;
    va_start(list, act);
    long argument = va_arg(list, long);
    va_end(list);
    if (is_inside && act == F_GETFD && lacks("descriptors")) {
        errno = EBADF;
        return -1;
    }
    return __real_fcntl64(fd, act, argument);
}

WRAP(int, prctl, int act, ...)
{
    va_list list;
    va_start(list, act);
    unsigned long arguments[4];
    for (size_t i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (act == PR_SET_DUMPABLE && arguments[0] == 0 && lacks("opaque"))
        return 0;
    if (act == PR_GET_NO_NEW_PRIVS && lacks("no-new-privileges"))
        return 1;
    return __real_prctl(act, arguments[0], arguments[1], arguments[2], arguments[3]);
}

long answer_syscall(long number, const long *arguments)
{
    if (is_inside && number == SYS_clone3 && !arguments[0] && lacks("seccomp")) {
        errno = ENOSYS;
        return -1;
    }
    if (is_inside && number == SYS_capget && lacks("capabilities")) {
        memset((void *)arguments[1], 0, 2 * sizeof(struct __user_cap_data_struct));
        return 0;
    }
    return pass_syscall_on(number, arguments);
}
