/*
 * Makes or joins a namespace.
 *
 * Why: in a user namespace of its own a process has every capability, and nearly every kernel bug that gives root begins
 * there. seccomp cannot see clone3's flags, so that the call does not exist.
 * Seen: CVE-2022-0185, CVE-2023-0386, CVE-2024-1086 and many more.
 *
 * case unshare-user: unshare 0x10000000 => EPERM unshare
 *   kernel: make a user namespace, in which one has every capability
 * case unshare-mount: unshare 0x00020000 => EPERM unshare | control-in U
 *   kernel: make a mount namespace
 * case unshare-pid: unshare 0x20000000 => EPERM unshare | control-in U
 *   kernel: make a pid namespace
 * case unshare-net: unshare 0x40000000 => EPERM unshare | control-in U
 *   kernel: make a network namespace
 * case unshare-ipc: unshare 0x08000000 => EPERM unshare | control-in U
 *   kernel: make an IPC namespace
 * case unshare-uts: unshare 0x04000000 => EPERM unshare | control-in U
 *   kernel: make a UTS namespace
 * case unshare-cgroup: unshare 0x02000000 => EPERM unshare | control-in U
 *   kernel: make a control-group namespace
 * case unshare-time: unshare 0x00000080 => EPERM unshare | control-in U
 *   kernel: make a time namespace
 * case unshare-user-high-bits: unshare 0x110000000 => EPERM unshare | control EINVAL unshare
 * case clone-user: clone 0x10000000 => EPERM clone
 *   kernel: make a user namespace with clone
 * case clone-user-and-mount: clone 0x10020000 => EPERM clone
 *   kernel: make a user and a mount namespace with clone
 * case clone-pid: clone 0x20000000 => EPERM clone | control-in U
 *   kernel: make a pid namespace with clone
 * case clone3-user: clone3 0x10000000 => ENOSYS clone3
 *   kernel: make a user namespace with clone3, whose flags no filter sees
 * case clone3-plain: clone3 0 => ENOSYS clone3
 * case join-host-mounts: join /proc/{victim}/ns/mnt => ENOENT open | control-by root
 *   processes: join the mount namespace of a host process
 * case join-host-user: join /proc/{victim}/ns/user => ENOENT open | control EINVAL setns
 *   processes: join the user namespace of a host process
 * case join-init-mounts: join /proc/1/ns/mnt => EACCES open | control-args join /proc/{victim}/ns/mnt | control-by root
 *   processes: join the mount namespace of the sandbox's process 1
 * case join-init-user: join /proc/1/ns/user => EACCES open | control-args join /proc/{victim}/ns/user | control EINVAL setns
 *   processes: join the user namespace of the sandbox's process 1
 * case join-own-user: join /proc/self/ns/user => EPERM setns | control EINVAL setns
 *   kernel: join its own user namespace again, for its capabilities
 * case join-own-mounts: join /proc/self/ns/mnt => EPERM setns | control-in m
 *   kernel: join its own mount namespace again
 */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "attack.h"

static _Noreturn void end_as(long child, const char *step)
{
    must(child, step);
    if (child == 0)
        _exit(0);
    waitpid((pid_t)child, NULL, __WALL);
    done();
}

ATTACK(namespace)
{
    const char *act = argument(argc, argv, 1);
    if (strcmp(act, "join") == 0) {
        int fd = open(argument(argc, argv, 2), O_RDONLY);
        must(fd, "open");
        must(setns(fd, 0), "setns");
        done();
    }
    unsigned long flags = (unsigned long)number_argument(argc, argv, 2);
    if (strcmp(act, "clone") == 0)
        end_as(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0), "clone");
    if (strcmp(act, "clone3") == 0) {
        struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
        end_as(syscall(SYS_clone3, &arguments, sizeof(arguments)), "clone3");
    }
    must(syscall(SYS_unshare, flags), "unshare");
    done();
}
