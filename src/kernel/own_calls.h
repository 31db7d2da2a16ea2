/*
 * A helper's own list of system calls. Those on the list are there; all others fail with EPERM.
 *
 *     struct sock_filter code[] = {OWN_CALLS_BEGIN CALLS(OWN_CALL) OWN_CALLS_END};
 *     own_calls_load(code, array_len(code), err);
 *
 * The command's list is another one (kernel/seccomp.h).
 */
#pragma once

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/attr.h"
#include "base/err.h"

#if defined(__x86_64__)
#define OWN_CALLS_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define OWN_CALLS_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* A call of another architecture would be another call of the same number. The call's number is loaded then. */
#define OWN_CALLS_BEGIN                                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),                                 \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_CALLS_ARCHITECTURE, 1, 0),                                   \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),                                                 \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),

#define OWN_CALL(name)                                                                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),

#define OWN_CALLS_END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),

/* For the calling thread, which must have set no_new_privs. */
int own_calls_load(struct sock_filter *code, size_t count, struct err *err) must_check;
