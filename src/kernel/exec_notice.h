/*
 * Word of every program that a process or its descendants are about to execute, by seccomp's user notification: the kernel
 * holds the caller up until the listener has let it go on. For a record, not for a decision: what the caller's memory says
 * may have changed by the time at which the kernel reads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

/* From now on this process needs a listener. Returns the listener's descriptor. The thread must have set no_new_privs. */
int exec_notice_begin(struct err *err) must_check;

struct exec_notice {
    pid_t pid;
    char parent[16];      /* its number; "" where it is not known */
    char path[4096];      /* as it was given; "" where that could not be read, as of process 1's own memory */
    char arguments[4096]; /* each cut at 255 bytes and ended by NUL; the rest is left out */
    size_t arguments_size;
    int pid_fd; /* rings by POLLHUP when it has ended and its parent has taken note; the taker's; -1: none */
    bool is_there; /* is there such a file, as the process sees it? */
};

/*
 * Takes one, and lets the caller go on. Returns 1, 0 where there is none (any more), -1 with errno where it cannot be heard or
 * answered.
 */
int exec_notice_take(int listener_fd, struct exec_notice *ret_notice) must_check;

/* As wait() has it; false where this kernel does not tell (before 6.15). */
bool exec_read_end(int pid_fd, int *ret_status);
