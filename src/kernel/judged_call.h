/*
 * System calls that a seccomp program hands to a listener. The kernel stops the caller until the listener has answered.
 *
 * A caller's memory and descriptors can be changed by its other threads while it waits. So a judgement is about a copy, and the listener does
 * itself what it has judged. judged_call_let() is only for calls that are judged by nothing but their registers.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct judged_call {
    int listener_fd;
    pid_t thread; /* the caller's */
    int number;   /* of the system call */
    uint64_t arguments[6];
    uint64_t id;
};

/* Waits for a call. Returns 1; 0 if its caller is gone again; -1 with errno, also when nobody is left who could call. */
int judged_call_take(int listener_fd, struct judged_call *ret_call) must_check;

/* Does the caller still wait? Until then its number in /proc was not another's. */
bool judged_call_waits(const struct judged_call *call);

/* The call returns 0, or fails with errnum. A caller that is gone is no error. */
void judged_call_answer(const struct judged_call *call, int errnum);

/* The kernel carries the call out. */
void judged_call_let(const struct judged_call *call);

/*
 * The call returns a new descriptor of the caller's, for the file that `fd` is open on. Returns 0, or an errno with which the call has still to be
 * answered.
 */
int judged_call_give(const struct judged_call *call, int fd, bool closes_on_exec) must_check;

/* Puts the file that `fd` is open on in the place of a descriptor of the caller's, which keeps its flag for exec. Returns 0 or an errno. */
int judged_call_replace(const struct judged_call *call, int fd, int number) must_check;

/* The inode of a socket that the caller has open under this number. Returns 0 or an errno. */
int judged_call_socket(const struct judged_call *call, int fd, uint64_t *ret_inode) must_check;

/* Was the caller's descriptor opened with O_PATH? Most calls do not take such a one. */
bool judged_call_has_path_only(const struct judged_call *call, int fd);

/* Opens (O_PATH) a descriptor of the caller's, or its directory (AT_FDCWD). Returns -1 with errno. */
int judged_call_open(const struct judged_call *call, int fd) must_check;
