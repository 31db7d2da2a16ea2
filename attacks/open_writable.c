/*
 * Opens an existing file for writing, and leaves it at that: the control must not harm the machine.
 *
 * Why: a file that the kernel executes or obeys is a way out: core_pattern and uevent_helper run a program on the host,
 * and another process's memory is that process.
 * Seen: uid 0 mapped to uid 0 opens core_pattern and /etc/shadow for writing without any capability.
 *
 * case open-core-pattern: /proc/sys/kernel/core_pattern => EACCES open | control-by root
 *   persistence: open core_pattern for writing, which the kernel runs as root
 * case open-hostname-sysctl: /proc/sys/kernel/hostname => EACCES open | control-by root
 *   kernel: open a kernel setting for writing
 * case open-userns-limit: /proc/sys/user/max_user_namespaces => EACCES open | control-in Ur
 *   kernel: open the limit on user namespaces for writing
 * case open-sysrq-trigger: /proc/sysrq-trigger => EACCES open | control-by root | if /proc/sysrq-trigger
 *   kernel: open the magic key for writing
 * case open-uevent-helper: /sys/kernel/uevent_helper => ENOENT open | control-by root | if /sys/kernel/uevent_helper
 *   persistence: open uevent_helper for writing, which the kernel runs as root
 * case open-hugepages: /sys/kernel/mm/transparent_hugepage/enabled => EACCES open | control-by root | if /sys/kernel/mm/transparent_hugepage/enabled
 *   kernel: open a memory setting of the kernel for writing
 * case open-cpu-online: /sys/devices/system/cpu/cpu1/online => EACCES open | control-by root | if /sys/devices/system/cpu/cpu1/online
 *   kernel: open a CPU's switch for writing
 * case open-cgroup-procs: {cgroup_procs} => ENOENT open; EACCES open | control-by root
 * case open-own-cgroup-procs: /sys/fs/cgroup/cgroup.procs => EACCES open | control-args {cgroup_procs} | control-by root
 *   resources: open the control group's list of processes for writing, to leave it
 * case open-passwd: /etc/passwd => EACCES open | control-by root | decoy-args {home}/.bashrc
 *   persistence: open /etc/passwd for writing
 * case open-shadow: /etc/shadow => ENOENT open | control-by root
 * case open-program: /usr/bin/env => EACCES open; root: EROFS open | control-by root | decoy-args {home}/.bashrc
 *   persistence: open a program of /usr/bin for writing
 * case open-init-memory: /proc/1/mem => EACCES open | control-args /proc/{victim}/mem
 *   processes: open the memory of the sandbox's process 1
 * case open-host-memory: /proc/{victim}/mem => ENOENT open
 *   processes: open the memory of a host process
 * case open-init-oom-score: /proc/1/oom_score_adj => EACCES open | control-args /proc/{victim}/oom_score_adj
 *   resources: open the score that decides who goes when memory runs out
 * case open-own-oom-score: /proc/self/oom_score_adj => EROFS open
 *   resources: open its own such score, to be no longer the first to go
 * case open-own-autogroup: /proc/self/autogroup => EROFS open | if /proc/self/autogroup
 *   resources: open the share of a processor that its session has, with bawn in it
 */
#include "attack.h"

ATTACK(open_writable)
{
    must(open(argument(argc, argv, 1), O_WRONLY), "open");
    done();
}
