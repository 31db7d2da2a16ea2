/*
 * --checkpoint: now and then, while a command runs, a child of the supervisor's takes a snapshot. It is a process of its
 * own, and a patient one, so that neither the command nor the supervisor waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "journal/journal.h"
#include "supervise/loop.h"

struct checkpoints {
    struct loop *loop;
    struct journal *journal;
    /* In the child. Returns how many trees had changed and were kept, or -1. */
    int (*take)(void *context, struct err *err);
    void *context;
    int timer_fd;       /* -1: none is wanted */
    int outcome_fd;     /* what the child at work says in the end; -1: none is at work */
    pid_t child;        /* which is that */
    uint64_t failures;  /* checkpoints that could not be taken … */
    struct err failure; /* … and why the last one could not */
    bool has_any;       /* something was kept */
};

#define CHECKPOINTS_NONE ((struct checkpoints){.timer_fd = -1, .outcome_fd = -1})

/* Loop, journal and `take` are filled in. It must stay where it is until checkpoints_end. */
int checkpoints_begin(struct checkpoints *checkpoints, uint64_t seconds, struct err *err) must_check;

/* The command has ended: a checkpoint that is being taken is given up. */
void checkpoints_end(struct checkpoints *checkpoints);
