/*
 * What a session's folder says about the workspace: how it was run, and which state came before it and which after.
 *
 *   about    mode, state and times
 *   start    the whole tree at the start of a live run, as long as its end has not been written down
 *   before, after   what the session changed: only the paths that differ
 *   checkpoints     what the workspace held during the run (checkpoint.h)
 *   upper, work     where an overlay keeps what is written, until that has been read into `after`
 */
#pragma once

#include "content/store.h"
#include "workspace/compare.h"

#define RECORD_MODES(X)                                                                                      \
    X(LIVE, "live")       /* the workspace was written directly */                                           \
    X(REVIEW, "review")   /* what was written waits until it is applied or discarded */                      \
    X(DISCARD, "discard") /* what was written is thrown away */                                              \
    X(APPLY, "apply")     /* a person applied what waited */                                                 \
    X(UNDO, "undo")       /* a person undid something */                                                     \
    X(BRANCH, "branch")   /* a linked worktree was written, on the branch that `of` names */

enum record_mode {
#define X(id, name) RECORD_##id,
    RECORD_MODES(X)
#undef X
};

#define RECORD_STATES(X)                                                                                     \
    X(RUNNING, "running") /* or killed before its end was written down */                                    \
    X(WAITING, "waiting") /* of a review: neither applied nor discarded, or not all of it */                 \
    X(DONE, "done")       /* what is in `after` is in the workspace */                                       \
    X(UNDONE, "undone")                                                                                      \
    X(DISCARDED, "discarded")                                                                                \
    X(SETTLING, "settling") /* files of the workspace are being replaced: to be finished */

enum record_state {
#define X(id, name) STATE_##id,
    RECORD_STATES(X)
#undef X
};

struct record {
    const char *name; /* of the session */
    enum record_mode mode;
    enum record_state state;
    struct timespec began, ended;
    const char *workspace; /* absolute */
    const char *prefix;    /* the directory in it that was kept, "" where that is all of it: ".git" */
    const char *of;        /* the session that was applied or undone, or the branch; "" for another run */
    uint64_t changes;      /* that a person would call so */
};

const char *record_mode_name(enum record_mode mode);
const char *record_state_name(enum record_state state);

int record_save(int folder_fd, const struct record *record, struct err *err) must_check;

/* Returns 1, or 0 where the session is not about a workspace. */
int record_load(int folder_fd, struct arena *arena, struct record *ret_record, struct err *err) must_check;

typedef VEC(struct record) record_list;

/* The records of all sessions in a folder, oldest first; of one workspace only, unless that is NULL. */
int record_list_all(int sessions_fd, struct arena *arena, const char *workspace, record_list *ret_records,
                    struct err *err) must_check;

/* Forgets the oldest settled sessions, so that `most` of them are left. What waits is never forgotten. */
void record_trim(int sessions_fd, size_t most);

/* Is it over: nothing waits, nothing is at work? */
bool record_is_over(const struct record *record);

/* Is a bawn at work in this session now? */
bool record_is_busy(int sessions_fd, const char *name);

/* How many changes a person would count. */
uint64_t record_count_changes(const struct tree *before, const struct tree *after);

/* Keeps what differs between two trees as `before` and `after`, or under other names. */
int record_save_changes(int folder_fd, const struct tree *before, const struct tree *after, struct err *err)
    must_check;

/* What is kept of a session, contents included, is there even if the machine stops in this moment. */
int record_wait_for_disk(struct store *store, int folder_fd, struct err *err) must_check;

/* Removes the trees of a session and its checkpoints, and its record with them. */
void record_forget(int folder_fd);
