/*
 * Engines start workers and wait for them. An engine is a small table of functions; results, states and retries are the folder's, so that
 * an engine that dies loses nothing.
 */
#pragma once

#include "fleet/folder.h"

/* The tasks that an engine is to run, and how. */
struct fleet_job {
    const struct fleet *fleet;
    const char *const *ids;
    size_t count;
    size_t at_once; /* how many workers; at least 1 */
    const char *const *environment;
    void (*progress)(void *context); /* is called when a worker has ended */
    void *context;
    struct engine_state *state; /* the engine's own, from submit to its last poll */
    int wake_fd;                /* readable when poll has something to do, beside SIGCHLD; -1: none */
};

struct fleet_engine {
    const char *name;
    /* Takes all tasks of the job. */
    int (*submit)(struct fleet_job *job, struct err *err);
    /* Waits until something has happened. Returns how many tasks have no end yet; after 0 or -1 the job is over. */
    int (*poll)(struct fleet_job *job, struct err *err);
    /* Ends all workers of the job that run, and starts no other. Their tasks have no result. */
    void (*cancel)(struct fleet_job *job);
    /* Takes back what earlier jobs of this fleet have in a queue; all: also what runs. NULL: there is no queue. */
    void (*withdraw)(const struct fleet *fleet, const char *const *environment, bool is_all);
};

extern const struct fleet_engine engine_local, engine_slurm;

/* The task of an element of an array job: a line of that list. NULL: there is none. */
const char *slurm_task(const struct fleet *fleet, struct arena *arena, const char *list, const char *index);

/* The names of all engines, for messages. */
#define ENGINE_NAMES "local and slurm"

/* NULL: there is no engine of this name. */
const struct fleet_engine *engine_find(const char *name);

/*
 * Runs the tasks to their end. SIGINT, SIGTERM and SIGHUP cancel the job; then 1 is returned, and the tasks that had no result have
 * none.
 */
int fleet_run(const struct fleet_engine *engine, struct fleet_job *job, struct err *err) must_check;

/* A task that has no result does not begin any more. All are forbidden before one is cancelled: a free place would go to the next. */
int fleet_forbid(const struct fleet *fleet, const char *id, struct err *err) must_check;

/* Cancels a task: one that runs is asked to end, and killed if it does not. Returns whether it has no result now. */
int fleet_cancel(const struct fleet *fleet, const char *id, bool *ret_is_cancelled, struct err *err)
    must_check;

/* Lets tasks be run again that were interrupted or cancelled; with `names_it`, also one that failed. */
int fleet_reset(const struct fleet *fleet, const char *id, bool names_it, bool *ret_runs, struct err *err)
    must_check;
