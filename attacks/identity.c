/*
 * Gains a privilege: a capability, another user, other groups.
 *
 * Why: all walls stand on there being nothing to gain.
 * Seen: sandboxes that dropped the effective set and left the permitted or the ambient one.
 *
 * As an ordinary user there is no second id in the user namespace (EPERM by the filter, as outside); as root there are, but no capability to
 * become one, and root inside is nobody outside.
 * case capset: capset => EPERM capset | control-by root
 *   kernel: take the capability to administrate the system
 * case setuid-zero: setuid => EPERM setuid; root: done | control-by root
 * case setuid-other: setuid-other => EPERM setuid | control-by root
 *   kernel: become another user
 * case setgroups: setgroups => EPERM setgroups | control-by root
 *   kernel: join root's group
 * case raise-ambient: ambient => EPERM prctl | control-by root
 *   kernel: keep a capability across exec (ambient set)
 * case chown-workspace: chown => EPERM chown | control-by root
 *   persistence: give a file of the project to another user
 * case nice-up: nice => EACCES setpriority | control-by root
 *   resources: take a higher priority than others
 * case real-time: realtime => EPERM sched_setscheduler | control-by root
 *   resources: become a real-time process, which others cannot interrupt
 * case raise-limit: limit => EPERM setrlimit | control-by nobody: root of a container may not either
 */
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "attack.h"

static long take_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct all[2] = {{1U << CAP_SYS_ADMIN, 1U << CAP_SYS_ADMIN, 0}, {0, 0, 0}};
    return syscall(SYS_capset, &header, all);
}

static long raise_limit(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_MSGQUEUE, &limit), "getrlimit");
    limit.rlim_max++;
    return setrlimit(RLIMIT_MSGQUEUE, &limit);
}

static long raise_ambient(void)
{
    /* Ambient needs inheritable first: whoever holds the capability may do both. */
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2];
    must(syscall(SYS_capget, &header, held), "capget");
    held[0].inheritable |= held[0].permitted;
    must(syscall(SYS_capset, &header, held), "capset");
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0);
}

ATTACK(identity)
{
    const char *act = argument(argc, argv, 1);
    if (strcmp(act, "capset") == 0)
        must(take_capabilities(), "capset");
    else if (strcmp(act, "setuid") == 0)
        must(setuid(0), "setuid");
    else if (strcmp(act, "setuid-other") == 0)
        must(setuid(54321), "setuid");
    else if (strcmp(act, "setgroups") == 0)
        must(setgroups(1, (gid_t[]){0}), "setgroups");
    else if (strcmp(act, "ambient") == 0)
        must(raise_ambient(), "prctl");
    else if (strcmp(act, "chown") == 0)
        must(chown("work", 54321, 54321), "chown");
    else if (strcmp(act, "nice") == 0)
        must(setpriority(PRIO_PROCESS, 0, -5), "setpriority");
    else if (strcmp(act, "realtime") == 0)
        must(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}), "sched_setscheduler");
    else if (strcmp(act, "limit") == 0)
        must(raise_limit(), "setrlimit");
    else
        saw("no such act");
    done();
}
