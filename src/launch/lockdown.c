#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/landlock.h"
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

/* The file wall: everything that is there may be seen, and just the trees of the plan may be written. */
static int raise_landlock(const struct launch *launch, struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi == 0) {
        err_set(err, "this kernel has no Landlock");
        return err_hint(err, "use Linux 5.13 or later, and add landlock to the kernel's lsm= list");
    }
    if (landlock_begin(abi, true, &landlock, err) < 0 || allow(&landlock, "/", LANDLOCK_SEE, err) < 0)
        return -1;
    for (size_t i = 0; i < launch->plan->operations.count; i++) {
        const struct operation *operation = &launch->plan->operations.at[i];
        bool is_device = operation->kind == OP_PRIVATE &&
                         (strcmp(operation->path, "/dev") == 0 || strcmp(operation->path, "/proc") == 0);
        bool is_written = operation->kind == OP_BIND_WRITE || operation->kind == OP_HOME ||
                          operation->kind == OP_PRIVATE || operation->kind == OP_SOCKET;
        /* "/" has a rule for all that can be seen; one more where most files are read keeps the kernel's walk short. */
        bool is_seen = operation->kind == OP_BIND_READ && strcmp(operation->path, "/usr") == 0;
        enum landlock_grant grant = is_device ? LANDLOCK_DEVICE : is_written ? LANDLOCK_WRITE : LANDLOCK_SEE;
        if ((is_written || is_seen) && allow(&landlock, operation->path, grant, err) < 0)
            return -1;
    }
    return landlock_enforce(&landlock, err);
}

/* What is left of it where the command may mount: signals and abstract sockets stay inside. */
static int raise_scopes(struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi < 6)
        return 0; /* the pid namespace holds signals; the network namespace, where there is one, abstract sockets */
    return landlock_begin(abi, false, &landlock, err) < 0 ? -1 : landlock_enforce(&landlock, err);
}

static int insist(bool refused, const char *wall, const char *act, struct err *err)
{
    if (refused)
        return 0;
    err_sys(err, errno, "the %s wall does not hold: %s was not refused as it must be", wall, act);
    return err_hint(err, "nothing was run; please report this with the output of `uname -a`");
}

/* One forbidden act for each wall, which must fail in the way that only that wall makes it fail. */
static int try_walls(const struct launch *launch, struct err *err)
{
    struct stat status;
    for (size_t i = 0; i < launch->plan->operations.count; i++) {
        const struct operation *operation = &launch->plan->operations.at[i];
        if (operation->kind != OP_HOME)
            continue;
        /* Where the host keeps the private home is a path that no sandbox shows. */
        if (insist(stat(operation->source, &status) < 0 && errno == ENOENT, "mount",
                   "seeing the host's files", err) < 0)
            return -1;
    }
    if (insist(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS, "seccomp", "calling clone3", err) < 0)
        return -1;
    if (!launch->nested &&
        (insist(mkdir("/bawn", 0700) < 0 && errno == EACCES, "Landlock", "making a directory in /", err) <
             0 ||
         insist(unshare(CLONE_NEWUSER) < 0 && errno == EPERM, "seccomp", "making a namespace", err) < 0))
        return -1;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    bool none = syscall(SYS_capget, &header, held) == 0 && !held[0].permitted && !held[1].permitted;
    if (insist(none, "capability", "holding a capability", err) < 0)
        return -1;
    return insist(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "privilege", "gaining a privilege", err);
}

int lockdown(const struct launch *launch, struct err *err)
{
    if (process_no_new_privileges(err) < 0 ||
        (launch->nested ? raise_scopes(err) : raise_landlock(launch, err)) < 0 ||
        process_drop_capabilities(err) < 0 ||
        seccomp_load(launch->nested ? SECCOMP_NESTED : SECCOMP_DEFAULT, err) < 0)
        return -1;
    return try_walls(launch, err);
}
