#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.6, which the headers of some distributions lack. */
#define NOTIF_SET_FLAGS    _IOW('!', 4, uint64_t)
#define NOTIF_SYNC_WAKE_UP 1UL

bool seccomp_is_there(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Writes the caller's ids where the program compares with them. With other ids around, every id passes the comparison. */
static void fill_in_ids(struct sock_filter *code, size_t count, bool has_other_ids)
{
    const struct sock_filter any_id = {.code = BPF_JMP | BPF_JGE | BPF_K, .k = 0};
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    for (size_t i = 0; i < count; i++) {
        bool is_uid = code[i].k == SECCOMP_OWN_UID, is_gid = code[i].k == SECCOMP_OWN_GID;
        if (code[i].code != (BPF_JMP | BPF_JEQ | BPF_K) || !(is_uid || is_gid))
            continue;
        code[i].code = has_other_ids ? any_id.code : code[i].code;
        code[i].k = has_other_ids ? any_id.k : is_uid ? uid : gid;
    }
}

/* Calls that make processes are judged, or exist as ever. */
static void fill_in_counted(struct sock_filter *code, size_t count, bool is_judged)
{
    for (size_t i = 0; i < count; i++) {
        if (code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_COUNTED)
            code[i].k = is_judged ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    }
}

static int load(enum seccomp_kind kind, bool has_other_ids, bool counts_processes, unsigned flags,
                struct err *err)
{
    if ((size_t)kind >= SECCOMP_KINDS)
        return err_set(err, "cannot filter system calls: there is no filter number %u", (unsigned)kind);

    const struct seccomp_program *program = &seccomp_programs[kind];
    struct sock_filter code[SECCOMP_MOST_CODE];
    memcpy(code, program->code, program->count * sizeof(*code));
    fill_in_ids(code, program->count, has_other_ids);
    fill_in_counted(code, program->count, counts_processes);
    const struct sock_fprog argument = {.len = program->count, .filter = code};

    /* Kernels before 5.16 slow every filtered process down against a speculation between programs that share one
     * process (SSBD), unless told not to. The newer ones have stopped doing that by themselves. */
    flags |= SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    int result = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &argument);
    if (result >= 0)
        return result;

    int errnum = errno;
    err_sys(err, errnum, "cannot filter system calls");
    if (errnum == EBUSY)
        err_hint(err,
                 "A sandbox around this one judges system calls, and the kernel allows only one that does.");
    if (errnum == ENOSYS || errnum == EINVAL)
        err_hint(
            err,
            "This kernel is built without CONFIG_SECCOMP_FILTER, or a sandbox around this one forbids it.");
    return -1;
}

int seccomp_load(enum seccomp_kind kind, bool has_other_ids, struct err *err)
{
    return load(kind, has_other_ids, false, 0, err);
}

int seccomp_load_judged(enum seccomp_kind kind, bool counts_processes, struct err *err)
{
    int listener = load(kind, true, counts_processes,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, err);
    /* Caller and listener take turns, so they may share a processor: half the time of a call. Kernels before 6.6 do not know it. */
    if (listener >= 0)
        (void)ioctl(listener, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
    return listener;
}
