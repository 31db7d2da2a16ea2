/*
 * The server parses what anybody on this machine sends. If one takes it over, there must be nothing to write
 * and nothing to run, and no socket to open. It reads the state of bawn, because that is its job.
 */
#include <fcntl.h>

#include "base/fd.h"
#include "kernel/landlock.h"
#include "kernel/own_calls.h"
#include "kernel/process.h"
#include "web/web.h"

/* clang-format off */
#define CALLS(X) \
    X(read) X(write) X(readv) X(writev) X(pread64) X(pwrite64) X(close) X(fcntl) X(lseek) X(dup) X(flock) X(ftruncate) X(memfd_create) \
    X(openat) X(openat2) X(fstat) X(newfstatat) X(statx) X(faccessat) X(faccessat2) X(readlinkat) X(getdents64) X(fstatfs) \
    X(epoll_ctl) X(epoll_pwait) X(ppoll) X(inotify_add_watch) X(inotify_rm_watch) X(ioctl) \
    X(accept4) X(shutdown) X(getsockname) X(getpeername) X(getsockopt) X(setsockopt) \
    X(sendto) X(recvfrom) X(sendmsg) X(recvmsg) X(sendfile) \
    X(mmap) X(munmap) X(mprotect) X(mremap) X(madvise) X(brk) \
    X(exit) X(exit_group) X(futex) X(getpid) X(gettid) X(getuid) X(geteuid) X(getgid) X(getegid) \
    X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack) X(restart_syscall) X(sched_yield) \
    X(clock_gettime) X(clock_nanosleep) X(gettimeofday) X(getrandom) X(uname) X(sysinfo)
/* Older forms of the same calls, which only some architectures have. */
#define OLD_CALLS(X) X(open) X(stat) X(lstat) X(access) X(readlink) X(poll) X(epoll_wait) X(time) X(accept)
/* clang-format on */

#if !defined(__x86_64__)
#undef OLD_CALLS
#define OLD_CALLS(X)
#endif

static int load_filter(struct err *err)
{
    struct sock_filter code[] = {OWN_CALLS_BEGIN CALLS(OWN_CALL) OLD_CALLS(OWN_CALL) OWN_CALLS_END};
    return own_calls_load(code, array_len(code), err);
}

static int allow_reading(const struct landlock *landlock, const char *path, struct err *err)
{
    auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
    return fd >= 0 ? landlock_allow(landlock, fd, LANDLOCK_SEE, err) : 0;
}

static int restrict_files(const struct web_place *place, struct err *err)
{
    struct landlock landlock;
    auto_arena struct arena arena = {0};
    const char *const readable[] = {arena_printf(&arena, "%s/bawn", place->state), place->store,
                                    "/usr/share/zoneinfo", "/etc/localtime"};
    if (landlock_begin(landlock_abi(), LANDLOCK_FILES | LANDLOCK_TCP, &landlock, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(readable); i++) {
        if (allow_reading(&landlock, readable[i], err) < 0)
            return -1;
    }
    return landlock_enforce(&landlock, err);
}

int web_sandbox_enter(const struct web_place *place, struct err *err)
{
    if (landlock_abi() == 0) {
        err_set(err, "this kernel has no Landlock, which must confine the page's server");
        return err_hint(err, "bawn doctor says how to turn it on");
    }
    if (process_dump_no_core(err) < 0 || process_no_new_privileges(err) < 0 ||
        restrict_files(place, err) < 0 || process_drop_capabilities(err) < 0)
        return -1;
    return process_become_opaque(err) < 0 ? -1 : load_filter(err);
}
