/*
 * Seccomp's user notifications: the kernel stops a process at certain calls until a listener outside lets it continue. A notice
 * is for a record or a question and no wall: the caller's memory may change before the kernel reads it.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

struct notice {
    uint64_t id;
    pid_t pid; /* of the thread, as the listener's side sees it */
    int call;  /* SYS_… */
    uint64_t arguments[6];
};

/* Does the listener answer at once? Then signals wait for it. A process that is held for a person can be stopped and interrupted; it asks again then. */
enum notice_patience { NOTICE_AT_ONCE, NOTICE_HELD };

/*
 * Loads the filter. From now on this process needs a listener. Returns the listener's descriptor; -1 with errno. The thread must have set
 * no_new_privs.
 */
int notice_begin(struct sock_filter *code, unsigned short count, enum notice_patience patience);

/* Takes a notice. Returns 1; 0 if there is none; -1 with errno if it cannot be read. */
int notice_take(int listener_fd, struct notice *ret_notice) must_check;

/*
 * Another process takes notices, and passes some of them on through a pipe that makes nobody wait. Telling returns 0 or an errno; EAGAIN: a thousand others
 * wait. Taking returns 1, or 0 if there is none.
 */
int notice_tell(int pipe_fd, const struct notice *notice);
int notice_take_told(int pipe_fd, struct notice *ret_notice) must_check;

/* The call is carried out, or ends with errnum (0: it only seems to be carried out). Returns as notice_continue() does. */
int notice_send(int listener_fd, uint64_t id, int errnum, bool is_continued) must_check;

/* Lets the process continue with its call. Returns 1; 0 if it was killed meanwhile; -1 with errno. */
int notice_continue(int listener_fd, const struct notice *notice) must_check;

/* The same for errnum 0; else the call fails with errnum. */
int notice_answer(int listener_fd, uint64_t id, int errnum) must_check;

/* Does the process still wait for this answer? */
bool notice_is_valid(int listener_fd, uint64_t id);
