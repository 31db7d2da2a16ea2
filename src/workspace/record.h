/*
 * The record of a session: its mode, its state, and what it changed in the workspace. It is in the session's folder:
 *
 *   about           mode, state and times
 *   start           the whole tree at the start of a live run, until the end of the run is saved
 *   before, after   the paths that the session changed, as partial trees
 *   checkpoints     what the workspace contained during the run (checkpoint.h)
 *   unfinished      of an undo: it has left something
 *   reported        that it could not be repaired for want of memory, processes or room, which is tried again at each command
 *   rewritten       texts that were merged, or made of hunks, as a tree that keeps them in the store: the next apply may use them
 *   deciding        which verb decides about the changes; locked meanwhile (deciding.c)
 *   whole           of an undo that was reversed: it had taken back its session as a whole
 *   dropped-before, dropped-after
 *                   what was discarded of a review while the rest waits, or was applied: `bawn undo` makes it wait again
 *   kept-worktree, kept-admin
 *                   of a discarded worktree: its files, and git's folder for it (session/branch_keep.c)
 *   upper, work     the layers of an overlay, until `upper` has been read into `after`
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/names.h"
#include "content/store.h"
#include "workspace/compare.h"

#define RECORD_UNFINISHED "unfinished"
#define RECORD_REWRITTEN  "rewritten"
#define RECORD_REPORTED   "reported"
#define RECORD_WAITS      "waits"
#define RECORD_DECIDING   "deciding"
#define RECORD_WHOLE      "whole"
/* Of a live run, what its record does not list (live.c): new objects of a repository; that git packed objects or refs. */
#define RECORD_OBJECTS "objects"
#define RECORD_PACKED  "packed"

#define RECORD_DROPPED_BEFORE "dropped-before"
#define RECORD_DROPPED_AFTER  "dropped-after"
#define RECORD_KEPT_WORKTREE  "kept-worktree"
#define RECORD_KEPT_ADMIN     "kept-admin"

#define RECORD_MODES(X)                                                                                      \
    X(RECORD_LIVE, "live")       /* the command wrote to the workspace itself */                             \
    X(RECORD_REVIEW, "review")   /* the changes wait until a person applies or discards them */              \
    X(RECORD_DISCARD, "discard") /* the changes are thrown away */                                           \
    X(RECORD_APPLY, "apply")     /* a person applied changes that waited */                                  \
    X(RECORD_UNDO, "undo")       /* a person undid a session */                                              \
    X(RECORD_BRANCH, "branch")   /* the command wrote to a linked worktree, on the branch `of` */

enum record_mode { RECORD_MODES(ID_OF) };

#define RECORD_STATES(X)                                                                                     \
    X(STATE_RUNNING, "running") /* or killed before the end of the run was saved */                          \
    X(STATE_WAITING, "waiting") /* of a review: some changes are neither applied nor discarded */            \
    X(STATE_DONE, "done")       /* the workspace contains what is in `after` */                              \
    X(STATE_UNDONE, "undone")                                                                                \
    X(STATE_DISCARDED, "discarded")                                                                          \
    X(STATE_REPLACING, "replacing") /* files of the workspace are; the next command finishes it */

enum record_state { RECORD_STATES(ID_OF) };

/* --- clock_steps.c --- */

/*
 * Was the clock stepped, during a run or since? The clock that people set is compared with the one that counts since the machine was
 * started (CLOCK_BOOTTIME), which nobody sets. Slewing moves both. Once the machine was started anew nothing can be said.
 */

/* Zeroed: not known. */
struct clock_ends {
    char boot[40];                /* which start of the machine: boot_id */
    struct timespec began, ended; /* of CLOCK_BOOTTIME */
};

void clock_ends_begin(struct clock_ends *ret_ends);
void clock_ends_end(struct clock_ends *ends);

/* In seconds: above zero if the clock was set forward. The moments are those that it showed at both ends. 0: by less than two, or not known. */
int64_t clock_step_during(const struct clock_ends *ends, struct timespec began, struct timespec ended);
int64_t clock_step_since(const struct clock_ends *ends, struct timespec ended);

/* --- record.c --- */

struct record {
    const char *name; /* of the session */
    enum record_mode mode;
    enum record_state state;
    struct timespec began, ended;
    struct clock_ends clock;
    const char *workspace; /* absolute */
    const char *prefix;    /* the directory of the workspace that the trees are about; "" for all of it */
    const char *of;        /* the session that was applied or undone, or the branch; "" for another run */
    uint64_t changes;      /* as changes_count() counts them */
};

const char *record_mode_name(enum record_mode mode);
const char *record_state_name(enum record_state state);

/* The run begins, or ends, now. */
void record_begin(struct record *record);
void record_end(struct record *record);

int record_save(int folder_fd, const struct record *record, struct err *err) must_check;

/* Returns 1, or 0 if the session has no record of a workspace. */
int record_load(int folder_fd, struct arena *arena, struct record *ret_record, struct err *err) must_check;

typedef VEC(struct record) record_list;

/* Lists the records of all sessions in a folder, oldest first (sessions_sort). `workspace` limits the list to one workspace; NULL: all. */
int record_list_all(int sessions_fd, struct arena *arena, const char *workspace, record_list *ret_records,
                    struct err *err) must_check;

typedef VEC(const char *) name_list;

/*
 * Forgets the oldest sessions of the workspace that are over, until `most` of them are left. A session that waits is never
 * forgotten. Adds the names of those that could have been undone, oldest first; they lie in the arena.
 */
void record_trim(int sessions_fd, struct arena *arena, const char *workspace, size_t most,
                 name_list *forgotten);

/* Is the session over? Then nothing waits and nothing is being replaced. */
bool record_is_over(const struct record *record);

/* Is a bawn process working on this session now? */
bool record_is_busy(int sessions_fd, const char *name);

/* The same for an opened folder. If none is, the folder stays locked until it is closed, so that none begins meanwhile. */
bool record_has_lock(int folder_fd);

/* Counts the changes between two trees, as changes_count() does. */
uint64_t record_count_changes(const struct tree *before, const struct tree *after);

/* A text that differs when `before` or `after` was saved again: what a person was shown is then not what is there. */
const char *record_trees_state(struct arena *arena, int folder_fd);

/* Saves the changes between two trees as `before` and `after`. */
int record_save_changes(int folder_fd, const struct tree *before, const struct tree *after, struct err *err)
    must_check;

/* Waits until the session's record, its trees and their contents are on the disk. */
int record_wait_for_disk(struct store *store, int folder_fd, struct err *err) must_check;

/* Makes an empty file in the session's folder: RECORD_UNFINISHED, RECORD_WHOLE, RECORD_OBJECTS or RECORD_PACKED. And asks whether it is there. */
void record_note(int folder_fd, const char *note);
bool record_has_note(int folder_fd, const char *note);

/* Removes the record of a session, its trees and its checkpoints. */
void record_forget(int folder_fd);

/*
 * deciding.c: one process at a time applies, discards or undoes what a session changed. The lock is taken before the changes are looked at, and kept until
 * the outcome is recorded: what a person was asked about is then what happens. Undos, and applies of a part, concern the session that they are of in the
 * end, and take its lock.
 */
struct decider {
    char verb[16]; /* "apply"; "": not known */
    pid_t process;
    struct timespec began;
};

/* Takes the lock. Returns its descriptor, -1, or DECIDING_IS_ANOTHER if another process has it. */
enum { DECIDING_IS_ANOTHER = -2 };
int deciding_begin(int folder_fd, const char *verb, struct decider *ret_other, struct err *err) must_check;
void deciding_end(int deciding_fd);
bool deciding_is_under_way(int folder_fd);

/*
 * live.c: the record of a live run. The changes between the trees of its start and end, as far as they count. Git moves objects
 * and branches from file to file, also while the user works elsewhere. What it moved, and did not change, does not count.
 */
struct live {
    const char *directory; /* of the content store */
    const char *workspace;
    const struct tree *start, *end;
    bool is_kept; /* the record is kept even if nothing has changed */
};

/* Saves the changes as `before` and `after`, unless there are none and the record is not kept. Counts them as changes_count() does. */
int live_save_changes(const struct live *live, int folder_fd, uint64_t *ret_count, struct err *err)
    must_check;
