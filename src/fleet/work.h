/* A worker: the process that runs one task in its own sandbox and leaves the result in the task's folder. Every engine starts it. */
#pragma once

#include "fleet/folder.h"
#include "session/caller.h"

/* What a worker and its engine have to say to each other; -1: nothing. Nothing that a worker executes inherits them. */
struct engine_words {
    int tell_fd; /* a socket that gets this process's id when the command has ended */
    int go_fd;   /* a socket that gets a byte when the turn of the task has come, or ends without one */
};

/*
 * Runs the task, unless it has a result or was cancelled. Waits for another worker of the same task first. Standard output and error of
 * this process become files of the task. `typed`: this process's arguments. Returns 0 if the task is settled, 1 if it was interrupted
 * and has to be run again; -1 with an error.
 */
int fleet_work(const struct caller *caller, const struct fleet *fleet, const char *id,
               const struct engine_words *words, char *const *typed, struct err *err) must_check;

/* --- collect.c --- */

/* What a worker knows of an attempt besides the run itself. */
struct attempt {
    const char *id;
    int folder_fd; /* bawn's own */
    int output_fd; /* of the results */
    bool is_apart; /* the two are not the same */
    int engine_fd;
    uint64_t number; /* 1 is the first */
    struct timespec began;
    uint64_t output_dropped;
    const char *state; /* bawn's state folder */
};

struct run;

/*
 * Writes the patch and the journal, and then the result, each by rename. Returns 1 without a result if this process was asked to end
 * before; -1 with an error.
 */
int attempt_collect(const struct attempt *attempt, const struct run *run, struct arena *arena,
                    struct err *err) must_check;

/* An attempt that does not count: what its session kept aside is discarded. */
void attempt_discard(const char *state, struct arena *arena, const char *session);
