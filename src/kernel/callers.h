/*
 * What a listener of judged calls (judged_call.h) remembers of its callers: for a thread that calls again, its directory in /proc.
 *
 * An open directory of /proc belongs to one process for ever. If that process has ended, nothing is found in it, whoever has got its number since. So
 * what is read there is of the thread whose call is judged, and no other check is needed.
 */
#pragma once

#include <sys/stat.h>

#include "kernel/judged_call.h"

struct caller {
    pid_t thread; /* 0: none */
    int fd;       /* its directory in /proc; -1: it has called once */
};

enum { CALLERS = 16 };

struct callers {
    struct caller at[CALLERS]; /* by the thread's number */
    bool share_descriptors; /* processes, and not only threads, may have a table of descriptors in common */
};

/* A process of the callers' is about to share its table of descriptors with a new process. */
void callers_note_sharing(struct callers *callers);

/*
 * The path of what the caller has open as descriptor `fd`, if nobody can put something else there before the call is answered: the caller has
 * one thread, and shares the table with no process. Then a call that was judged by this descriptor and its other registers may go on.
 * `ret_status`: NULL, or what is known of the object. Returns whether all that is so; in doubt it is not.
 */
bool callers_settled_place(struct callers *callers, const struct judged_call *call, int fd, char *ret_place,
                           size_t capacity, struct stat *ret_status);
