/*
 * The wall of kernel interfaces: which system calls exist for the command and everything that it starts.
 *
 * The programs are made at build time by tools/seccomp-compile.c from seccomp_calls.h, which says what is allowed and
 * why; nothing is decided, and no library is asked, at run time.
 *
 * Loading may only take away, and cannot be undone: from then on the calling thread, its children and what they execute
 * see the calls of the program and no others. It must be the last step of locking down: mounting, joining namespaces
 * and the like are refused afterwards to ourselves too. It must not be called while other threads run: they would stay
 * outside.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "kernel/seccomp_kinds.h"

struct seccomp_program {
    unsigned short count;
    const struct sock_filter *code;
};

/* One a kind, for the architecture that is built for. */
extern const struct seccomp_program seccomp_programs[SECCOMP_KINDS];

/* Does this kernel take filters? */
bool seccomp_is_there(void);

/*
 * The thread must have set no_new_privs. `has_other_ids` says that files and processes may get other ids than the caller's:
 * then the kernel alone judges them.
 */
int seccomp_load(enum seccomp_kind kind, bool has_other_ids, struct err *err) must_check;

/*
 * The same for a program that has calls judged. Returns the listener's descriptor (kernel/judged_call.h). Once a call was taken there, only a
 * signal that ends the caller interrupts it: a call that was carried out is not carried out again. With `counts_processes`, calls that make a
 * process or a thread are judged, too.
 */
int seccomp_load_judged(enum seccomp_kind kind, bool counts_processes, struct err *err) must_check;
