/*
 * Reports every program that a process or its descendants execute, by seccomp's user notification. The kernel stops the caller
 * until the listener lets it continue. The report is for a record, not for a decision: the caller's memory may change before
 * the kernel reads it.
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
    char parent[16];      /* its number; "": not known */
    char path[4096];      /* as given; "": could not be read, as from process 1's own memory */
    char arguments[4096]; /* each cut at 255 bytes and ended by NUL; the rest is omitted */
    size_t arguments_size;
    int pid_fd; /* POLLHUP when it has ended and its parent has waited for it; owned by the caller; -1: none */
    bool is_there; /* does the file exist, as the process sees it? */
};

/*
 * Takes a notice, and lets the process continue. Returns 1; 0 if there is none; -1 with errno if it cannot be read or answered.
 */
int exec_notice_take(int listener_fd, struct exec_notice *ret_notice) must_check;

/* The wait() status; false if this kernel does not report it (before 6.15). */
bool exec_read_end(int pid_fd, int *ret_status);
