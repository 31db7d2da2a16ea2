/*
 * Opens an existing file for writing, and leaves it at that: the control must not harm the machine.
 *
 * Why: a file that the kernel executes or obeys is a way out: core_pattern and uevent_helper run a program on the host,
 * and another process's memory is that process.
 * Seen: uid 0 mapped to uid 0 opens core_pattern and /etc/shadow for writing without any capability.
 *
 * case open-core-pattern: /proc/sys/kernel/core_pattern => EACCES open | control-by root
 * case open-hostname-sysctl: /proc/sys/kernel/hostname => EACCES open | control-by root
 * case open-userns-limit: /proc/sys/user/max_user_namespaces => EACCES open | control-in Ur
 * case open-sysrq-trigger: /proc/sysrq-trigger => EACCES open | control-by root | if /proc/sysrq-trigger
 * case open-uevent-helper: /sys/kernel/uevent_helper => ENOENT open | control-by root | if /sys/kernel/uevent_helper
 * case open-hugepages: /sys/kernel/mm/transparent_hugepage/enabled => EACCES open | control-by root | if /sys/kernel/mm/transparent_hugepage/enabled
 * case open-cpu-online: /sys/devices/system/cpu/cpu1/online => EACCES open | control-by root | if /sys/devices/system/cpu/cpu1/online
 * case open-cgroup-procs: {cgroup_procs} => ENOENT open; EACCES open | control-by root
 * case open-own-cgroup-procs: /sys/fs/cgroup/cgroup.procs => EACCES open | control-args {cgroup_procs} | control-by root
 * case open-passwd: /etc/passwd => EACCES open; root: EROFS open | control-by root
 * case open-shadow: /etc/shadow => ENOENT open | control-by root
 * case open-program: /usr/bin/env => EACCES open; root: EROFS open | control-by root
 * case open-init-memory: /proc/1/mem => EACCES open | control-args /proc/{victim}/mem
 * case open-host-memory: /proc/{victim}/mem => ENOENT open
 * case open-init-oom-score: /proc/1/oom_score_adj => EACCES open | control-args /proc/{victim}/oom_score_adj
 */
#include "attack.h"

int main(int argc, char **argv)
{
    must(open(argument(argc, argv, 1), O_WRONLY), "open");
    done();
}
