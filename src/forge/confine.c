/* This process reads what the sandbox sends. If it is taken over, it has the ends of one connection, and can open, run or dial nothing. */
#include <sys/resource.h>

#include "forge/forge.h"
#include "kernel/landlock.h"
#include "kernel/own_calls.h"
#include "kernel/process.h"

/* clang-format off */
#define CALLS(X) \
    X(read) X(write) X(close) X(ppoll) X(shutdown) X(sendto) X(fstat) \
    X(mmap) X(munmap) X(mprotect) X(mremap) X(madvise) X(brk) \
    X(exit) X(exit_group) X(futex) X(gettid) X(getpid) \
    X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack) X(restart_syscall) X(sched_yield) \
    X(clock_gettime) X(getrandom)
#if defined(__x86_64__)
#define OLD_CALLS(X) X(poll)
#else
#define OLD_CALLS(X)
#endif
/* clang-format on */

static int load_filter(struct err *err)
{
    struct sock_filter code[] = {OWN_CALLS_BEGIN CALLS(OWN_CALL) OLD_CALLS(OWN_CALL) OWN_CALLS_END};
    return own_calls_load(code, array_len(code), err);
}

static int restrict_files(struct err *err)
{
    struct landlock landlock;
    int abi = landlock_abi();
    if (abi == 0)
        return 0; /* without Landlock, bawn runs only if the user gave this wall up */
    return landlock_begin(abi, LANDLOCK_FILES, &landlock, err) < 0 ? -1 : landlock_enforce(&landlock, err);
}

int forge_confine(struct err *err)
{
    if (process_limit(RLIMIT_FSIZE, 0, err) < 0 || process_dump_no_core(err) < 0 ||
        process_no_new_privileges(err) < 0 || process_leave_root(err) < 0 || restrict_files(err) < 0 ||
        process_drop_capabilities(err) < 0)
        return -1;
    return process_become_opaque(err) < 0 ? -1 : load_filter(err);
}
