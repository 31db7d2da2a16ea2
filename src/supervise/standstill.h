/*
 * Brings everything inside to a standstill, from outside: while a pin is down nothing inside shall use that, while bawn itself is stopped
 * nothing inside shall run unwatched, and while a person answers nothing inside shall write to the terminal. The control group is frozen where the sandbox has one. Elsewhere each process gets SIGSTOP, parents
 * first, so that none sees its child stop, and process 1 before all of them, so that it reports nothing; they go on in the opposite order. A
 * process that was stopped before stays so.
 *
 * Invariants, without a control group:
 *
 *   1. Nobody outside is signalled, whoever gets the number of a process that has ended. A process is opened first (kernel/children.c) and
 *      then counts as inside if its parent does, which is there too, or if its parent is process 1, which nobody has waited for.
 *   2. One or two descriptors are open at a time, however many processes there are.
 *   3. All stands still when two passes one after the other find that no thread runs, and that none was given a processor in between: processes
 *      that continue each other and stop themselves are never seen running. Every thread counts: the first one may wait in vfork(), be traced, or
 *      have ended, while others run.
 *
 * By signals this is no wall: processes that run can continue others as fast as they are stopped. Then the standstill is not reached, and the
 * caller is told. Nor does it have to last: a timer of a process's own can continue it. The kernel counts how often each process was given a
 * processor, so that standstill_is_unbroken() tells. A pin that is down ends the run within ten seconds (supervise/pins.c). If bawn is killed meanwhile, the kernel kills
 * process 1 with it.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/hash.h"
#include "kernel/process.h"
#include "launch/launch.h"

struct inside_process {
    pid_t pid;
    uint64_t start;
};
typedef VEC(struct inside_process) inside_list;

/* What a look at all processes has found. */
struct standstill_stock {
    bool any_runs;
    bool is_counted;                   /* how often each thread was given a processor is known */
    unsigned char marks[BLAKE2B_SIZE]; /* of all threads together: the same while none runs */
};

struct standstill {
    const struct launched *launched;
    unsigned wanted; /* by how many callers: all goes on when none is left */
    bool is_by_cgroup;
    bool was_broken; /* something ran although it was wanted */
    struct standstill_stock stock;
    inside_list stopped;            /* in the order in which they were */
    void (*give_up)(void *context); /* ends it for those who only wait for a person; may be NULL */
    void *context;
};

/* Each call is followed by one of standstill_end(), whatever it returns: whether all stands still. Takes a fifth of a second at most. */
bool standstill_begin(struct standstill *standstill);
void standstill_end(struct standstill *standstill);

/* Has nothing inside run since it was reached? Asked while it lasts. */
bool standstill_is_unbroken(struct standstill *standstill);

/* The command is to end, and has to hear of it: nobody waits for a person's answer any more. */
void standstill_give_up(struct standstill *standstill);
