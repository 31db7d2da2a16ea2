#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

bool seccomp_is_there(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int seccomp_load(enum seccomp_kind kind, struct err *err)
{
    if ((size_t)kind >= SECCOMP_KINDS)
        return err_set(err, "cannot filter system calls: there is no filter number %u", (unsigned)kind);

    const struct seccomp_program *program = &seccomp_programs[kind];
    /* The kernel copies the code; the type has no const only because it is old. */
    const struct sock_fprog argument = {.len = program->count, .filter = (struct sock_filter *)program->code};

    /* Kernels before 5.16 slow every filtered process down against a speculation between programs that share one
     * process (SSBD), unless told not to. The newer ones have stopped doing that by themselves. */
    unsigned flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &argument) == 0)
        return 0;

    int errnum = errno;
    err_sys(err, errnum, "cannot filter system calls");
    if (errnum == ENOSYS || errnum == EINVAL)
        err_hint(
            err,
            "This kernel is built without CONFIG_SECCOMP_FILTER, or a sandbox around this one forbids it.");
    return -1;
}
