/*
 * Linked with -Wl,--wrap=syscall: bawn as on Linux 5.13, of what matters to it. Calls that came later are not there, and
 * Landlock is of version 1. Copies are made only of mounts that can be seen in this namespace. OLDER_LAST_CALL is the number
 * of the last call that is there, where it is not 5.13's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kernel/uapi/landlock.h"
#include "wrapped_syscall.h"

enum { LAST_CALL = 446 /* landlock_restrict_self */, LANDLOCK_VERSION = 1 };

/* Does the path, which is there, lie in a mount that this namespace does not list? */
static bool lies_apart(int dirfd, const char *path)
{
    char line[4096];
    struct statx status;
    if (statx(dirfd, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &status) < 0)
        return false;
    bool is_listed = false;
    FILE *mounts = fopen("/proc/thread-self/mountinfo", "re");
    while (mounts && !is_listed && fgets(line, sizeof(line), mounts))
        is_listed = strtoul(line, NULL, 10) == status.stx_mnt_id;
    if (mounts)
        fclose(mounts);
    return !is_listed;
}

static int refuse(int errnum)
{
    errno = errnum;
    return -1;
}

/* What is asked for must be known to version 1. */
static int landlock_trouble(const struct bawn_landlock_ruleset_attr *attributes, size_t size)
{
    return size > sizeof(attributes->handled_access_fs)                ? E2BIG
           : attributes->handled_access_fs >= BAWN_LANDLOCK_FS_REFER ? EINVAL
                                                                       : 0;
}

long answer_syscall(long number, const long *arguments)
{
    const char *last = getenv("OLDER_LAST_CALL");
    int errnum = 0;
    if (number == SYS_open_tree && arguments[2] & OPEN_TREE_CLONE &&
        lies_apart((int)arguments[0], (const char *)arguments[1]))
        errnum = EINVAL;
    if (number == SYS_move_mount && lies_apart((int)arguments[2], ""))
        errnum = EINVAL;
    if (number > (last ? strtol(last, NULL, 10) : LAST_CALL))
        return refuse(ENOSYS);
    if (number == SYS_landlock_create_ruleset && arguments[2] == BAWN_LANDLOCK_CREATE_RULESET_VERSION)
        return LANDLOCK_VERSION;
    if (number == SYS_landlock_create_ruleset)
        errnum = landlock_trouble((const void *)arguments[0], (size_t)arguments[1]);
    return errnum ? refuse(errnum) : pass_syscall_on(number, arguments);
}
