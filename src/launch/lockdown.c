#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/exec_notice.h"
#include "kernel/landlock.h"
#include "kernel/path_notice.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"
#include "launch/inside.h"

static int allow(const struct landlock *landlock, const char *path, enum landlock_grant grant,
                 struct err *err)
{
    auto_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot find %s in the sandbox", path);
    return landlock_allow(landlock, fd, grant, err);
}

/* The Landlock rules: every visible file may be read, and only the trees of the plan may be written. */
static int raise_file_rules(const struct launch *launch, struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi == 0)
        return err_set(err, "this kernel has no Landlock");
    if (landlock_begin(abi, LANDLOCK_FILES, &landlock, err) < 0 ||
        allow(&landlock, "/", LANDLOCK_SEE, err) < 0)
        return -1;
    vec_each (const struct operation, operation, launch->operations) {
        bool is_device = trees_has_device(operation) ||
                         (operation->kind == OP_PRIVATE &&
                          (strcmp(operation->path, "/dev") == 0 || strcmp(operation->path, "/proc") == 0));
        bool is_written = operation->kind == OP_BIND_WRITE ||
                          (operation->kind == OP_SEED && operation->overlay) || operation->kind == OP_HOME ||
                          operation->kind == OP_PRIVATE || operation->kind == OP_SOCKET ||
                          operation->kind == OP_ASKABLE;
        /* "/" has a rule for all that is visible; one more where most files are read shortens the kernel's walk. */
        bool is_seen = operation->kind == OP_BIND_READ && strcmp(operation->path, "/usr") == 0;
        enum landlock_grant grant = is_device ? LANDLOCK_DEVICE : is_written ? LANDLOCK_WRITE : LANDLOCK_SEE;
        if ((is_written || is_seen) && allow(&landlock, operation->path, grant, err) < 0)
            return -1;
    }
    return landlock_enforce(&landlock, err);
}

/* In the host's network only Landlock's scope protects the host's abstract sockets: its session bus, its display. */
static int check_host_network(const struct operations *operations, struct err *err)
{
    if (!ports_host_network(operations) || landlock_abi() >= LANDLOCK_ABI_WITH_SCOPES ||
        walls_have(operations->absent, WALL_FILES) || walls_have(operations->degraded, WALL_LANDLOCK))
        return 0;
    err_set(err, "with `net open`, this kernel lets the command reach this machine's abstract sockets");
    return err_hint(err,
                    "use Linux 6.12 or later, or --net allow; --degrade=landlock runs without that wall");
}

/* Landlock without file rules: it still keeps signals and abstract sockets inside. */
static int raise_scopes(struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi < LANDLOCK_ABI_WITH_SCOPES)
        return 0; /* the pid namespace holds signals; the network namespace, where there is one, abstract sockets */
    return landlock_begin(abi, 0, &landlock, err) < 0 ? -1 : landlock_enforce(&landlock, err);
}

static int insist(bool refused, const char *wall, const char *act, struct err *err)
{
    if (refused)
        return 0;
    err_sys(err, errno, "self-check of the %s wall failed: %s was not refused", wall, act);
    return err_hint(err, "nothing was run; please report this with the output of `uname -a`");
}

/* The walls that were raised: only those are tried. */
struct raised {
    bool file_rules, seccomp;
};

static bool has_flags(const char *path, unsigned long flags)
{
    struct statvfs status;
    return statvfs(path, &status) == 0 && (status.f_flag & flags) == flags;
}

/*
 * Does the path of the private home on the host lead to it? Inside, most of that path lies in the private home, where a
 * command makes whatever it likes: a directory of that name, a link, one that nobody may enter. But no directory
 * contains itself, so the private home is found at this path only if the host's files are. (A link in the last place is
 * not followed. With one before it, the home would need the last name, which has a hash in it.)
 */
static bool shows_home_of_host(const struct launch *launch, const struct operation *home)
{
    struct stat there, own;
    bool is_in_home = home && path_is_beneath(launch->home, home->path);
    auto_fd int fd = open(launch->home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT && !(is_in_home && (errno == ENOTDIR || errno == ELOOP || errno == EACCES));
    return !is_in_home || fstat(fd, &there) < 0 || stat(home->path, &own) < 0 ||
           (there.st_dev == own.st_dev && there.st_ino == own.st_ino);
}

static int try_home(const struct launch *launch, struct err *err)
{
    const struct operation *home = NULL;
    vec_each (const struct operation, operation, launch->operations) {
        if (operation->kind == OP_HOME)
            home = operation;
    }
    if (!launch->home || !shows_home_of_host(launch, home))
        return 0;
    err_set(err, "self-check failed: %s is visible inside", launch->home);
    return err_hint(err,
                    "nothing was run. Remove the rule that grants this path; if there is none, please report "
                    "this with the output of `uname -a`");
}

/* Tries the mounts: read-only ones refuse writes, and no path leads to the old root. */
static int try_mounts(const struct launch *launch, struct err *err)
{
    struct stat status, above;
    if (insist(stat("/", &status) == 0 && stat("/..", &above) == 0 && status.st_dev == above.st_dev &&
                   status.st_ino == above.st_ino,
               "mount", "leaving the sandbox's root", err) < 0)
        return -1;
    bool tried_read = false, tried_write = false;
    vec_each (const struct operation, operation, launch->operations) {
        bool reads = operation->kind == OP_BIND_READ && !furnish_makes(operation) && !tried_read,
             writes = operation->kind == OP_BIND_WRITE && !trees_has_device(operation) && !tried_write;
        tried_read |= reads;
        tried_write |= writes;
        if ((reads || writes) &&
            insist(has_flags(operation->path, ST_NOSUID | ST_NODEV | (reads ? ST_RDONLY : 0)), "mount",
                   "what a mount forbids", err) < 0)
            return -1;
    }
    return try_home(launch, err);
}

/* One forbidden act for each wall. Each must fail with the error that only this wall produces. */
static int try_walls(const struct launch *launch, const struct raised *raised, struct err *err)
{
    char self[16] = "";
    if (insist(readlink("/proc/self", self, sizeof(self) - 1) == 1 && *self == '1', "process",
               "seeing this machine's processes", err) < 0 ||
        try_mounts(launch, err) < 0)
        return -1;
    if (raised->seccomp &&
        insist(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS, "seccomp", "calling clone3", err) < 0)
        return -1;
    if (raised->file_rules &&
        insist(mkdir("/bawn", 0700) < 0 && errno == EACCES, "Landlock", "making a directory in /", err) < 0)
        return -1;
    /* Without seccomp, the limit on user namespaces refuses this. */
    if (!launch->nested && insist(unshare(CLONE_NEWUSER) < 0 && errno == (raised->seccomp ? EPERM : ENOSPC),
                                  raised->seccomp ? "seccomp" : "namespace", "making a namespace", err) < 0)
        return -1;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    bool none = syscall(SYS_capget, &header, held) == 0 && !held[0].permitted && !held[1].permitted;
    if (insist(none, "capability", "holding a capability", err) < 0)
        return -1;
    return insist(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "privilege", "gaining a privilege", err);
}

/* The result of raising a wall. One that cannot be raised ends the run, unless it was given up by name. */
static int accept_wall(const struct operations *operations, enum wall wall, int result, bool *ret_raised,
                       struct err *err)
{
    *ret_raised = result == 0;
    if (result == 0 || walls_have(operations->degraded, wall))
        return 0;
    /* That is no reason to give up a wall. */
    if (err->errnum == EMFILE)
        return err_hint(err, "`ulimit -n` says how many files may be open");
    return err_hint(err, "`bawn doctor` shows the fix; --degrade=%s runs without this wall", wall_name(wall));
}

static int raise_landlock(const struct launch *launch, struct raised *raised, struct err *err)
{
    const struct operations *operations = launch->operations;
    if (check_host_network(operations, err) < 0)
        return -1;
    if (walls_have(operations->absent, WALL_LANDLOCK) || walls_have(operations->absent, WALL_FILES))
        return raise_scopes(err);
    return accept_wall(operations, WALL_LANDLOCK, raise_file_rules(launch, err), &raised->file_rules, err);
}

int lockdown(const struct launch *launch, int *ret_listener_fd, struct err *err)
{
    struct raised raised = {0};
    const struct operations *operations = launch->operations;
    if (process_no_new_privileges(err) < 0 || raise_landlock(launch, &raised, err) < 0 ||
        process_drop_capabilities(err) < 0)
        return -1;
    /* Before the filter after which no other can be added. */
    bool has_guards = operations_find(operations, OP_GUARD);
    bool listens = launch->log_exec || has_guards;
    *ret_listener_fd = listens ? exec_notice_begin(has_guards ? NOTICE_HELD : NOTICE_AT_ONCE, err) : -1;
    if (listens && *ret_listener_fd < 0)
        return -1;
    /* With full access, root decides about root's files; and where nothing is written, nothing becomes set-uid. */
    enum seccomp_kind kind = launch->nested ? SECCOMP_NESTED
                             : operations->is_root && !walls_have(operations->absent, WALL_FILES)
                                 ? SECCOMP_ROOT
                                 : SECCOMP_DEFAULT;
    if (accept_wall(operations, WALL_SECCOMP, seccomp_load(kind, launch->nested || operations->is_root, err),
                    &raised.seccomp, err) < 0)
        return -1;
    if (try_walls(launch, &raised, err) < 0)
        return -1;
    /* After the walls were tried: from here on each path that is named waits for the supervisor. */
    if (launch->learns)
        *ret_listener_fd = path_notice_begin(err);
    return launch->learns && *ret_listener_fd < 0 ? -1 : 0;
}
