/*
 * What this program itself may do: sockets, time, memory, threads, and to read what name lookups need. It speaks with
 * strangers all day; whoever takes it over must find nothing here to write, run or look into.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/egress.h"
#include "kernel/landlock.h"
#include "kernel/process.h"

/* clang-format off */
#define CALLS(X) \
    X(read) X(write) X(readv) X(writev) X(pread64) X(close) X(close_range) X(fcntl) X(ioctl) X(lseek) X(dup) \
    X(openat) X(fstat) X(newfstatat) X(statx) X(faccessat) X(faccessat2) X(readlinkat) X(getdents64) X(fstatfs) \
    X(pipe2) X(splice) X(epoll_create1) X(epoll_ctl) X(epoll_pwait) X(ppoll) X(eventfd2) \
    X(socketpair) X(connect) X(bind) X(listen) X(accept4) X(shutdown) X(getsockname) X(getpeername) \
    X(getsockopt) X(setsockopt) X(sendto) X(recvfrom) X(sendmsg) X(recvmsg) X(sendmmsg) X(recvmmsg) \
    X(mmap) X(munmap) X(mprotect) X(mremap) X(madvise) X(brk) X(membarrier) \
    X(clone) X(clone3) X(exit) X(exit_group) X(futex) X(set_robust_list) X(rseq) X(gettid) X(getpid) X(tgkill) \
    X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack) X(restart_syscall) X(sched_yield) \
    X(sched_getaffinity) X(prlimit64) X(clock_gettime) X(clock_nanosleep) X(gettimeofday) X(getrandom) X(uname) \
    X(sysinfo) X(getuid) X(geteuid) X(getgid) X(getegid) \
    X(getppid) X(timerfd_create) X(timerfd_settime) X(clock_getres)
/* The older forms of the same, which only some architectures have. */
#define OLD_CALLS(X) X(open) X(stat) X(lstat) X(access) X(readlink) X(poll) X(epoll_wait) X(time) X(arch_prctl) X(pipe)
/* clang-format on */

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static int load_filter(struct err *err)
{
#define X(name)                                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        /* Of sockets those that lead to hosts and to the services that look names up. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        CALLS(X)
#if defined(__x86_64__)
            OLD_CALLS(X)
#endif
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
#undef X
    const struct sock_fprog program = {.len = array_len(code), .filter = code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_sys(err, errno, "cannot filter system calls");
    return 0;
}

/* Where libc and its modules for name lookups look. The caller's home is not among them. */
static const char *const readable[] = {
    "/etc",       "/usr",       "/lib",         "/lib64",   "/run",        "/proc/sys/kernel",
    "/nix/store", "/gnu/store", "/var/lib/sss", "/var/run", "/dev/urandom"};

static int restrict_files(struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi == 0)
        return 0; /* without it bawn itself starts only where its user has given that wall up */
    if (landlock_begin(abi, true, &landlock, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(readable); i++) {
        auto_fd int fd = open(readable[i], O_PATH | O_CLOEXEC);
        if (fd >= 0 && landlock_allow(&landlock, fd, LANDLOCK_SEE, err) < 0)
            return -1;
    }
    return landlock_enforce(&landlock, err);
}

int sandbox_enter(struct err *err)
{
    /* No file of any size: there is none to write, and no core either. */
    if (process_limit(RLIMIT_FSIZE, 0, err) < 0 || process_limit(RLIMIT_CORE, 0, err) < 0 ||
        process_no_new_privileges(err) < 0 || process_leave_root(err) < 0 || restrict_files(err) < 0 ||
        process_drop_capabilities(err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot become opaque");
    return load_filter(err);
}
