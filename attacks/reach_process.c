/*
 * Reads another process's memory, takes its descriptors, changes its limits or its place in the scheduler.
 *
 * Why: ptrace by other names. A supervisor's or an init's memory holds what was scrubbed from the environment, and its
 * descriptors lead out.
 * Seen: sandboxes that refused ptrace and forgot process_vm_readv; pidfd_getfd (2020) is in few lists.
 *
 * case read-host-process-memory: read {victim} => ESRCH process_vm_readv | control EFAULT process_vm_readv
 *   processes: read the memory of a host process
 * case read-init-memory: read 1 => EPERM process_vm_readv | control-args read {victim} | control EFAULT process_vm_readv
 *   processes: read the memory of the sandbox's process 1
 * case take-host-descriptor: getfd {victim} => ESRCH pidfd_open
 *   processes: take a descriptor out of a host process
 * case take-init-descriptor: getfd 1 => EPERM pidfd_getfd | control-args getfd {victim}
 *   processes: take a descriptor out of the sandbox's process 1
 * case limit-host-process: limit {victim} => ESRCH prlimit | harms victim-limits
 *   processes: change the limits of a host process
 * case limit-init: limit 1 => EPERM prlimit | control-args limit {victim}
 *   processes: change the limits of the sandbox's process 1
 * case renice-host-process: nice {victim} => ESRCH setpriority | harms victim-nice
 *   processes: lower the priority of a host process
 * case renice-init: nice 1 => EPERM setpriority | control-args nice {victim}
 *   processes: lower the priority of the sandbox's process 1
 * case renice-own-group: nice-group 0 => EPERM setpriority
 *   processes: change the priority of its process group, which bawn may be in
 * case idle-init: idle 1 => EPERM sched_setscheduler | control-args idle {victim}
 *   processes: give the sandbox's process 1 a processor only where nobody wants one
 * case bind-init: bind 1 => EPERM sched_setaffinity | control-args bind {victim}
 *   processes: bind the sandbox's process 1 to a processor
 * case slow-disk-init: disk 1 => EPERM ioprio_set | control-args disk {victim}
 *   processes: let the sandbox's process 1 wait for the disk longer than others
 * case renice-itself: nice 0 => done
 * case idle-itself: idle 0 => done
 * case compare-host-process: kcmp {victim} => ESRCH kcmp
 *   processes: compare itself with a host process (kcmp)
 */
#include <sched.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "attack.h"

ATTACK(reach_process)
{
    const char *act = argument(argc, argv, 1);
    pid_t pid = (pid_t)number_argument(argc, argv, 2);
    if (strcmp(act, "read") == 0) {
        char byte;
        struct iovec here = {&byte, 1},
                     there = {(void *)1, 1}; /* nothing is mapped there: EFAULT once it may look */
        must(process_vm_readv(pid, &here, 1, &there, 1, 0), "process_vm_readv");
    } else if (strcmp(act, "getfd") == 0) {
        long fd = syscall(SYS_pidfd_open, pid, 0);
        must(fd, "pidfd_open");
        must(syscall(SYS_pidfd_getfd, fd, 0, 0), "pidfd_getfd");
    } else if (strcmp(act, "limit") == 0) {
        struct rlimit limit;
        must(prlimit(pid, RLIMIT_FSIZE, NULL, &limit), "prlimit");
        limit.rlim_cur = 4096;
        must(prlimit(pid, RLIMIT_FSIZE, &limit, NULL), "prlimit");
    } else if (strcmp(act, "nice") == 0) {
        must(setpriority(PRIO_PROCESS, (id_t)pid, 19), "setpriority");
    } else if (strcmp(act, "nice-group") == 0) {
        must(setpriority(PRIO_PGRP, (id_t)pid, getpriority(PRIO_PGRP, (id_t)pid)),
             "setpriority"); /* as it is */
    } else if (strcmp(act, "idle") == 0) {
        must(sched_setscheduler(pid, SCHED_IDLE, &(struct sched_param){0}), "sched_setscheduler");
    } else if (strcmp(act, "bind") == 0) {
        cpu_set_t processors;
        must(sched_getaffinity(pid, sizeof(processors), &processors), "sched_getaffinity");
        must(sched_setaffinity(pid, sizeof(processors), &processors), "sched_setaffinity");
    } else if (strcmp(act, "disk") == 0) {
        enum { WHO_PROCESS = 1, BEST_EFFORT_LAST = 2 << 13 | 7 };
        must(syscall(SYS_ioprio_set, WHO_PROCESS, pid, BEST_EFFORT_LAST), "ioprio_set");
    } else if (strcmp(act, "kcmp") == 0) {
        must(syscall(SYS_kcmp, getpid(), pid, 0, 0, 0), "kcmp");
    } else {
        saw("no such act");
    }
    done();
}
