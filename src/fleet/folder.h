/*
 * The folders of a fleet. Everything that a verb or a worker needs to know is in bawn's own folder for it, so that no daemon is needed and any
 * of them can be killed at any time. That folder always lies in bawn's state folder, which no sandbox sees: what is obeyed is what the user said.
 *
 *   fleet.json          the command, its rules, and the ids of the tasks in their order
 *   ID/task.json        the line of the task file
 *   ID/lock             the worker of the task holds it
 *   ID/started          the process number of the worker, its start time, the number of the attempt, and the machine
 *   ID/session          the session of the attempt, once it has one
 *   ID/cancelled        somebody cancelled the task
 *   ID/patch, result.json
 *
 * With --out, another folder gets ID/stdout, ID/stderr and ID/journal.jsonl, and copies of fleet.json, ID/patch and ID/result.json. A sandbox may
 * write there, so no verb obeys anything in it: it is written through no symlink, and only `logs` and the last lines of a task are read back.
 *
 * The state of a task is decided by these files alone. result.json appears by rename, when all the rest is there. A task that has one is
 * never run again, unless a person names a failed one to `bawn fleet retry`. Only the worker that holds the lock writes to ID, except for
 * `cancelled`.
 */
#pragma once

#include <sys/types.h>

#include "base/map.h"
#include "base/names.h"
#include "fleet/result.h"
#include "fleet/task.h"
#include "session/load.h"

#define FLEET_RESULT    "result.json"
#define FLEET_CANCELLED "cancelled"
#define FLEET_PATCH     "patch"
#define FLEET_JOURNAL   "journal.jsonl"
#define FLEET_LOG       "workers.log" /* beside the folders of the tasks */

/*    state              name           title */
#define TASK_STATES(X)                                                                                       \
    X(TASK_WAITING, "waiting", "has not begun")                                                              \
    X(TASK_RUNNING, "running", "a worker holds its lock")                                                    \
    X(TASK_INTERRUPTED, "interrupted", "its worker ended without a result")                                  \
    X(TASK_CANCELLED, "cancelled", "somebody cancelled it")                                                  \
    X(TASK_DONE, "done", "its command ended with status 0")                                                  \
    X(TASK_FAILED, "failed", "its command ended with another status")

enum task_state { TASK_STATES(ID_OF) TASK_STATE_COUNT };

const char *task_state_name(enum task_state value);

/* A task that begins when another one is done. */
struct task_order {
    const char *id, *after;
};

struct fleet {
    struct arena arena;
    const char *path;              /* where the results are: absolute, and no part of it is a symlink */
    const char *own;               /* bawn's own folder: the same, or with --out another one */
    int fd;                        /* of the own folder */
    const char *engine;            /* "local" */
    const char *directory;         /* where it was started */
    const char *agent;             /* --agent, or NULL */
    VEC(struct argument) rules;    /* --read PATH and the like */
    wall_set degraded;             /* --degrade */
    bool has_walls;                /* --walls … */
    enum foundation on;            /* … and which; otherwise as this machine has them */
    const char *const *command;    /* with braces; ended by NULL */
    VEC(const char *) ids;         /* of the tasks, in the order of their file */
    VEC(struct task_order) orders; /* those of one task follow each other … */
    struct map first_orders;       /* … and this has the first: id → struct task_order */
};

#define FLEET_NONE ((struct fleet){.fd = -1})

/* Makes the folders, with a folder for each task. fleet.json is written last: without it the folder is no fleet. */
int fleet_make(struct fleet *fleet, const char *state, const task_list *tasks, struct err *err) must_check;

/* Opens the fleet that has its results in this folder, or whose own folder this is. */
int fleet_open(const char *path, const char *state, struct fleet *ret_fleet, struct err *err) must_check;
void fleet_free(struct fleet *fleet);
#define auto_fleet __attribute__((cleanup(fleet_free)))

/* Are the results kept in another folder than bawn's own? */
bool fleet_is_apart(const struct fleet *fleet);

/* Opens the folder for the output of a task, through no symlink. `makes_it`: also if it is missing. */
int fleet_open_output(const struct fleet *fleet, const char *id, bool makes_it, struct err *err) must_check;

/* --- place.c: where the folders are --- */

/* The folders of fleets in bawn's state folder, without symlinks. */
const char *fleets_folder(struct arena *arena, const char *state);

/* bawn's own folder for the fleet that has its results there. */
const char *fleet_own_folder(struct arena *arena, const char *state, const char *path);

/* Notes where the results lie, so that no later run in a project around them can write them (policy/compose.c). */
int fleet_note_place(const struct fleet *fleet, const char *state, struct err *err) must_check;

/* Opens the directory, which is made if it is missing, through no symlink. Returns a descriptor for paths below it (O_PATH). */
int fleet_make_directory(const char *path, struct err *err) must_check;

/* Opens the folder of a task. Returns -1 with an error for a name that is no task's. */
int fleet_open_task(const struct fleet *fleet, const char *id, struct err *err) must_check;

/* Reads a small file of a folder that may be missing or cut off; "" then. */
const char *fleet_read(struct arena *arena, int folder_fd, const char *name, size_t most);

/* Adds the last bytes of a file of a task. Returns -1 with errno. */
int fleet_read_tail(int folder_fd, const char *name, size_t most, struct buf *out);

/* Makes an empty file in it: FLEET_CANCELLED. */
int fleet_mark(int folder_fd, const char *name, struct err *err) must_check;
bool fleet_has(int folder_fd, const char *name);

/* The state of a task, with its result if it has one. */
enum task_state fleet_state(const struct fleet *fleet, struct arena *arena, const char *id,
                            struct result *ret_result);

/* May a task begin, by the states of those that it comes after? */
enum task_turn { TURN_NOW, TURN_LATER, TURN_NEVER /* one of them failed, or was cancelled */ };

enum task_turn fleet_turn(const struct fleet *fleet, const char *id);

/* Those that a task comes after: the orders from the one returned on, as far as they have its id. NULL: none. */
const struct task_order *fleet_orders(const struct fleet *fleet, const char *id);

/* The worker that holds the lock of a task; a descriptor for process_signal(), or -1. */
int fleet_worker(struct arena *arena, int folder_fd);
