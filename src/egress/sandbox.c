/*
 * The program parses input from untrusted peers. If one takes it over, there must be nothing to write, to run or to read but the
 * files of name lookups. It may use sockets, time, memory and threads.
 */
#include "egress/egress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/landlock.h"
#include "kernel/own_calls.h"
#include "kernel/process.h"

/* clang-format off */
#define CALLS(X) \
    X(read) X(write) X(readv) X(writev) X(pread64) X(close) X(close_range) X(fcntl) X(ioctl) X(lseek) X(dup) \
    X(openat) X(fstat) X(newfstatat) X(statx) X(faccessat) X(faccessat2) X(readlinkat) X(getdents64) X(fstatfs) \
    X(pipe2) X(splice) X(epoll_create1) X(epoll_ctl) X(epoll_pwait) X(ppoll) X(eventfd2) \
    X(socketpair) X(connect) X(bind) X(accept4) X(shutdown) X(getsockname) X(getpeername) \
    X(getsockopt) X(setsockopt) X(sendto) X(recvfrom) X(sendmsg) X(recvmsg) X(sendmmsg) X(recvmmsg) \
    X(mmap) X(munmap) X(mprotect) X(mremap) X(madvise) X(brk) X(membarrier) \
    X(exit) X(exit_group) X(futex) X(set_robust_list) X(rseq) X(gettid) X(getpid) \
    X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack) X(restart_syscall) X(sched_yield) \
    X(sched_getaffinity) X(clock_gettime) X(clock_nanosleep) X(gettimeofday) X(getrandom) X(uname) \
    X(sysinfo) X(getuid) X(geteuid) X(getgid) X(getegid) \
    X(getppid) X(timerfd_create) X(timerfd_settime) X(clock_getres)
/* Older forms of the same calls, which only some architectures have. */
#define OLD_CALLS(X) X(open) X(stat) X(lstat) X(access) X(readlink) X(poll) X(epoll_wait) X(time) X(arch_prctl) X(pipe)
/* clang-format on */

/* Modules of "hosts:" that look names up themselves. All others ask a local service through a Unix socket. */
static bool is_self_sufficient(const char *module, size_t size)
{
    static const char *const modules[] = {"files", "dns", "myhostname", "hesiod"};
    for (size_t i = 0; i < array_len(modules); i++) {
        if (strlen(modules[i]) == size && memcmp(modules[i], module, size) == 0)
            return true;
    }
    return false;
}

bool sandbox_needs_services(const char *nsswitch)
{
    for (const char *line = nsswitch; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, " \t");
        if (strncmp(at, "hosts:", 6) != 0)
            continue;
        for (at += 6; *(at += strspn(at, " \t")) && !strchr("\n#", *at);) {
            size_t size = *at == '[' ? strcspn(at, "]\n") : strcspn(at, " \t\n[#");
            if (*at != '[' && !is_self_sufficient(at, size))
                return true;
            at += size + (at[size] == ']');
        }
    }
    return false;
}

/* Unix sockets lead to many services, a container daemon among them. So they are allowed only if name lookups need one. */
static bool needs_services(void)
{
    enum { LARGEST = 64 * 1024 };
    auto_fd int fd = open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC);
    auto_buf struct buf text = {0};
    return fd >= 0 && (buf_read(&text, fd, LARGEST) < 0 || sandbox_needs_services(buf_text(&text)));
}

/* Allows a call if its first argument passes the test. */
#define IF_FIRST(name, test, value)                                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4),                                                   \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),                          \
        BPF_JUMP(BPF_JMP | (test) | BPF_K, value, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),

/* clang-format off */
/* Sockets for TCP and UDP, for local name services, and for the kernel's routes. */
#define SOCKETS(to_services) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 13), \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 5, 0), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, to_services, 7, 6), \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 4, 0), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 3, 2), \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_ROUTE, 1, 0), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
/* clang-format on */

static int load_filter(struct err *err)
{
    const unsigned to_services = needs_services() ? AF_UNIX : AF_INET, own = (unsigned)getpid();
    struct sock_filter code[] = {
        OWN_CALLS_BEGIN SOCKETS(to_services)
        /* Threads and nothing else. The flags of clone3 cannot be seen; libc then asks for clone. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        IF_FIRST(clone, BPF_JSET, CLONE_THREAD)
        /* Only on this process, and not on others of the same user. */
        IF_FIRST(prlimit64, BPF_JEQ, 0) IF_FIRST(tgkill, BPF_JEQ, own) CALLS(OWN_CALL)
#if defined(__x86_64__)
            OLD_CALLS(OWN_CALL)
#endif
                OWN_CALLS_END
    };
    return own_calls_load(code, array_len(code), err);
}

/* Files that libc and its modules for name lookups read. The caller's home is not among them. */
static const char *const readable[] = {
    "/etc",       "/usr",       "/lib",         "/lib64",      "/proc/sys/kernel",
    "/nix/store", "/gnu/store", "/var/lib/sss", "/dev/urandom"};

static int allow_reading(const struct landlock *landlock, int directory_fd, const char *name, struct err *err)
{
    auto_fd int fd = openat(directory_fd, name, O_PATH | O_CLOEXEC);
    return fd >= 0 ? landlock_allow(landlock, fd, LANDLOCK_SEE, err) : 0;
}

/* Folders of services in /run. Folders of users are left out: they have registry logins and display keys. */
static int allow_services_folders(const struct landlock *landlock, struct err *err)
{
    DIR *run = opendir("/run");
    int result = 0;
    for (const struct dirent *at; run && result == 0 && (at = readdir(run));) {
        bool is_private = strcmp(at->d_name, "user") == 0 || strcmp(at->d_name, "secrets") == 0;
        if (at->d_name[0] != '.' && !is_private && (at->d_type == DT_DIR || at->d_type == DT_REG))
            result = allow_reading(landlock, dirfd(run), at->d_name, err);
    }
    if (run)
        closedir(run);
    return result;
}

static int restrict_files(struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi == 0)
        return 0; /* without Landlock, bawn runs only if the user gave this wall up */
    if (landlock_begin(abi, LANDLOCK_FILES, &landlock, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(readable); i++) {
        if (allow_reading(&landlock, AT_FDCWD, readable[i], err) < 0)
            return -1;
    }
    if (allow_services_folders(&landlock, err) < 0)
        return -1;
    return landlock_enforce(&landlock, err);
}

int sandbox_enter(struct err *err)
{
    /* RLIMIT_FSIZE 0: no file can grow, and no core is dumped. */
    if (process_limit(RLIMIT_FSIZE, 0, err) < 0 || process_dump_no_core(err) < 0 ||
        process_no_new_privileges(err) < 0 || process_leave_root(err) < 0 || restrict_files(err) < 0 ||
        process_drop_capabilities(err) < 0)
        return -1;
    return process_become_opaque(err) < 0 ? -1 : load_filter(err);
}
