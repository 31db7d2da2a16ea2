/*
 * Makes a system call that no program of a project needs, with arguments that do no harm.
 *
 * Why: each is a large and often privileged part of the kernel, or hangs on the caller's session and not on any
 * namespace (keys). io_uring carries out calls that no filter sees.
 * Seen: io_uring has been behind most public kernel exploits since 2021; keyrings leak into containers;
 * bpf CVE-2021-3490, perf CVE-2023-2235, userfaultfd as every exploit's helper.
 *
 * case io-uring: io_uring_setup => ENOSYS io_uring_setup
 *   kernel: set up io_uring, which carries out calls that no filter sees
 * case keyctl: keyctl => ENOSYS keyctl
 *   kernel: ask for the process's keyring
 * case add-key: add_key => ENOSYS add_key
 *   kernel: add a key to the keyring of the session
 * case request-key: request_key => ENOSYS request_key | control ENOKEY request_key
 *   kernel: look for a key of the session
 * case bpf: bpf => EPERM bpf | control-by root
 *   kernel: make a BPF map
 * case perf: perf_event_open => EPERM perf_event_open
 *   kernel: count events with perf
 * case userfaultfd: userfaultfd => EPERM userfaultfd
 *   kernel: take over page faults with userfaultfd
 * case fanotify: fanotify_init => EPERM fanotify_init | control-by root
 *   kernel: listen to what the machine's files go through (fanotify)
 * case kernel-log: syslog => EPERM syslog | control-by root
 *   kernel: ask for the kernel's log
 * case kexec: kexec_load => EPERM kexec_load | control ~ | control-by root
 *   kernel: load another kernel
 * case init-module: init_module => EPERM init_module | control ~ | control-by root
 *   kernel: load a kernel module from memory
 * case finit-module: finit_module => EPERM finit_module | control ~ | control-by root
 *   kernel: load a kernel module from a file
 * case delete-module: delete_module => EPERM delete_module | control ~ | control-by root
 *   kernel: unload a kernel module
 * case swapon: swapon => EPERM swapon | control ENOENT swapon | control-by root
 *   kernel: add swap space
 * case accounting: acct => EPERM acct | control ~ | control-by root
 *   kernel: switch process accounting on
 * case reboot: reboot => EPERM reboot | control EINVAL reboot | control-by root
 *   kernel: call reboot, with numbers that make it do nothing
 * case set-time: settimeofday => EPERM settimeofday | control EINVAL settimeofday | control-by root
 *   kernel: set the clock, to a value that is refused anyway
 * case set-clock: clock_settime => EPERM clock_settime | control EINVAL clock_settime | control-by root
 *   kernel: set the clock by the newer call, to a value that is refused anyway
 * case adjust-time: adjtimex => EPERM adjtimex
 *   kernel: look at how the clock is corrected
 * case quota: quotactl => EPERM quotactl | control ~ | control-by root
 *   kernel: ask for disk quotas
 * case hang-up: vhangup => EPERM vhangup | control-by nobody: it would end the caller's terminal
 * case hostname: sethostname => EPERM sethostname | control-in u
 *   kernel: set the host's name (to what it is)
 * case domainname: setdomainname => EPERM setdomainname | control-in u
 *   kernel: set the domain's name (to what it is)
 * case persona-read-implies-exec: personality => EPERM personality
 *   kernel: make all readable memory executable
 * case persona-ask: personality_ask => done
 * case new-call: number_600 => ENOSYS number_600 | control ~ENOSYS
 * case local-descriptors: modify_ldt => ENOSYS modify_ldt | only-on x86_64
 *   kernel: read the x86 descriptor table (modify_ldt)
 * case io-ports: iopl => EPERM iopl | only-on x86_64 | control-by root
 *   kernel: ask for the machine's I/O ports
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/personality.h>
#include <sys/time.h>
#include <sys/timex.h>

#include "attack.h"

#ifndef SYS_modify_ldt
#define SYS_modify_ldt -1
#define SYS_iopl       -1
#endif

static long load_bpf(void)
{
    union bpf_attr attributes = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
}

static long count_events(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attributes),
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .exclude_kernel = 1};
    return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long set_up_ring(void)
{
    char parameters[120] = {0}; /* struct io_uring_params */
    return syscall(SYS_io_uring_setup, 1, parameters);
}

/* Out of range, so that the clock stays as it is where the call exists. */
static long set_clock(int by_timeval)
{
    struct timeval value = {0, 2000000};
    struct timespec precise = {0, 2000000000};
    return by_timeval ? syscall(SYS_settimeofday, &value, NULL) : syscall(SYS_clock_settime, 0, &precise);
}

static long make_call(const char *name)
{
    char host[65] = {0};
    struct timex nothing = {0};
    if (strcmp(name, "io_uring_setup") == 0)
        return set_up_ring();
    if (strcmp(name, "keyctl") == 0)
        return syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -2 /* of the process */, 1);
    if (strcmp(name, "add_key") == 0)
        return syscall(SYS_add_key, "user", "bawn-escape", "x", 1, -2);
    if (strcmp(name, "request_key") == 0)
        return syscall(SYS_request_key, "user", "bawn-escape-none", NULL, -2);
    if (strcmp(name, "bpf") == 0)
        return load_bpf();
    if (strcmp(name, "perf_event_open") == 0)
        return count_events();
    if (strcmp(name, "userfaultfd") == 0)
        return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
    if (strcmp(name, "fanotify_init") == 0)
        return syscall(SYS_fanotify_init, 0, O_RDONLY);
    if (strcmp(name, "syslog") == 0)
        return syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0);
    if (strcmp(name, "kexec_load") == 0)
        return syscall(SYS_kexec_load, 0, 0, NULL, ~0UL);
    if (strcmp(name, "init_module") == 0)
        return syscall(SYS_init_module, NULL, 0, "");
    if (strcmp(name, "finit_module") == 0)
        return syscall(SYS_finit_module, -1, "", 0);
    if (strcmp(name, "delete_module") == 0)
        return syscall(SYS_delete_module, "bawn-escape-none", O_NONBLOCK);
    if (strcmp(name, "swapon") == 0)
        return syscall(SYS_swapon, "/bawn-escape-none", 0);
    if (strcmp(name, "acct") == 0)
        return syscall(SYS_acct, "/bawn-escape-none");
    if (strcmp(name, "reboot") == 0)
        return syscall(SYS_reboot, 0, 0, 0, NULL); /* not its magic numbers */
    if (strcmp(name, "settimeofday") == 0 || strcmp(name, "clock_settime") == 0)
        return set_clock(*name == 's');
    if (strcmp(name, "adjtimex") == 0)
        return syscall(SYS_adjtimex, &nothing);
    if (strcmp(name, "quotactl") == 0)
        return syscall(SYS_quotactl, ~0U, "/bawn-escape-none", 0, NULL);
    if (strcmp(name, "vhangup") == 0)
        return syscall(SYS_vhangup);
    if (strcmp(name, "sethostname") == 0)
        return gethostname(host, 64) < 0 ? -1 : syscall(SYS_sethostname, host, strlen(host));
    if (strcmp(name, "setdomainname") == 0)
        return getdomainname(host, 64) < 0 ? -1 : syscall(SYS_setdomainname, host, strlen(host));
    if (strcmp(name, "personality") == 0)
        return syscall(SYS_personality, READ_IMPLIES_EXEC);
    if (strcmp(name, "personality_ask") == 0)
        return syscall(SYS_personality, 0xffffffff);
    if (strcmp(name, "number_600") == 0)
        return syscall(600);
    if (strcmp(name, "modify_ldt") == 0)
        return syscall(SYS_modify_ldt, 0, host, 1);
    if (strcmp(name, "iopl") == 0)
        return syscall(SYS_iopl, 0);
    saw("no such call");
}

ATTACK(call)
{
    const char *name = argument(argc, argv, 1);
    must(make_call(name), name);
    done();
}
