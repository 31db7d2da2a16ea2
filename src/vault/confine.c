/*
 * Both processes parse bytes of untrusted peers. If one is taken over, there is nothing to write, to run or to dial: sockets come from
 * outside, and the only files are those of the machine's trust store.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "kernel/landlock.h"
#include "kernel/own_calls.h"
#include "kernel/process.h"
#include "vault/vault.h"

/* clang-format off */
#define CALLS(X) \
    X(read) X(write) X(readv) X(writev) X(pread64) X(close) X(fcntl) X(lseek) X(fstat) X(newfstatat) X(getdents64) \
    X(epoll_create1) X(epoll_ctl) X(epoll_pwait) X(ppoll) X(socketpair) X(shutdown) X(getsockopt) X(setsockopt) \
    X(sendto) X(recvfrom) X(sendmsg) X(recvmsg) \
    X(mmap) X(munmap) X(mprotect) X(mremap) X(madvise) X(brk) X(mlock) X(munlock) \
    X(exit) X(exit_group) X(futex) X(gettid) X(getpid) X(getuid) X(geteuid) X(getgid) X(getegid) \
    X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack) X(restart_syscall) X(sched_yield) \
    X(clock_gettime) X(gettimeofday) X(getrandom) X(sched_getaffinity)
/* The back reads certificates when it first needs one. */
#define FILE_CALLS(X) X(openat) X(readlinkat)
#if defined(__x86_64__)
#define OLD_CALLS(X) X(epoll_wait) X(poll) X(time)
#define OLD_FILE_CALLS(X) X(open) X(stat) X(lstat) X(readlink)
#else
#define OLD_CALLS(X)
#define OLD_FILE_CALLS(X)
#endif
/* clang-format on */

static int load_filter(bool reads_files, struct err *err)
{
    struct sock_filter with_files[] = {OWN_CALLS_BEGIN CALLS(OWN_CALL) OLD_CALLS(OWN_CALL)
                                           FILE_CALLS(OWN_CALL) OLD_FILE_CALLS(OWN_CALL) OWN_CALLS_END};
    struct sock_filter without_files[] = {OWN_CALLS_BEGIN CALLS(OWN_CALL) OLD_CALLS(OWN_CALL) OWN_CALLS_END};
    return reads_files ? own_calls_load(with_files, array_len(with_files), err)
                       : own_calls_load(without_files, array_len(without_files), err);
}

/* Where distributions keep the certificates of their trust stores. */
static const char *const trust_stores[] = {"/etc/ssl",
                                           "/etc/pki",
                                           "/etc/ca-certificates",
                                           "/usr/lib/ssl",
                                           "/usr/share/ca-certificates",
                                           "/usr/share/pki",
                                           "/usr/local/share/ca-certificates",
                                           "/var/lib/ca-certificates",
                                           "/usr/share/ssl",
                                           "/nix/store",
                                           "/gnu/store"};

static int restrict_files(bool reads_trust_store, struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi == 0)
        return 0; /* without Landlock, bawn runs only if the user gave this wall up */
    if (landlock_begin(abi, LANDLOCK_FILES, &landlock, err) < 0)
        return -1;
    for (size_t i = 0; reads_trust_store && i < array_len(trust_stores); i++) {
        auto_fd int fd = open(trust_stores[i], O_PATH | O_CLOEXEC);
        if (fd >= 0 && landlock_allow(&landlock, fd, LANDLOCK_SEE, err) < 0)
            return -1;
    }
    return landlock_enforce(&landlock, err);
}

int confine(bool is_back, struct err *err)
{
    /* RLIMIT_FSIZE 0: no file can grow, and no core is dumped. */
    if (process_limit(RLIMIT_FSIZE, 0, err) < 0 || process_dump_no_core(err) < 0 ||
        process_no_new_privileges(err) < 0 || process_leave_root(err) < 0 ||
        restrict_files(is_back, err) < 0 || process_drop_capabilities(err) < 0 ||
        process_become_opaque(err) < 0)
        return -1;
    /* The back sees bawn's end by its link: the signal would end a refresh, too. */
    if (is_back && prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot outlive bawn");
    return load_filter(is_back, err);
}
