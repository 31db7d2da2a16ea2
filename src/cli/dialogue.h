/* The dialogue of apply and undo: shows the changes, asks, replaces the files, and reports what was left alone. */
#pragma once

#include "base/style.h"
#include "cli/choose.h"
#include "session/arrivals.h"
#include "workspace/reconcile.h"
#include "workspace/transition.h"

/* What happens to conflicts. Overwriting them is a flag of the transition. */
enum conflicts {
    CONFLICTS_STAY,
    CONFLICTS_MERGE, /* merged if no lines clash */
    CONFLICTS_MARK,  /* merged, with conflict markers where lines clash */
    CONFLICTS_OURS,  /* the session's change is dropped */
};

struct dialogue {
    enum record_mode mode;
    const struct record *of;
    struct transition transition;
    enum conflicts conflicts;
    bool asks;
    const char *question;
    const char *done; /* "taken back", "applied" */
    /* Why a change must wait for approval, or NULL. A NULL callback approves all. */
    const char *(*needs_approval)(void *context, const struct change *change);
    /* The same for the commits, of which all or none are applied. Called where a ref moves. */
    const char *(*commits_need_approval)(void *context, const struct arrivals *arrivals,
                                         const decision_list *decisions);
    void *context;
    struct arrivals arrivals;      /* what an apply would bring into the repository */
    revision_list befores, afters; /* to the record of the applied session, made at the end */
    revision_list applied;         /* whole changes that were applied; for waiting.c */
    VEC(const char *) dropped; /* paths of changes that are discarded, in whole or in part; for waiting.c */
    bool leaves;               /* some changes are conflicts, or held back */
    bool is_complete;          /* result: no change was left alone, and no path was left out */
    bool has_run;              /* result: files were changed */
    bool is_void;              /* result: no change of the session is left */
};

/* Returns the exit status. */
int dialogue_run(const struct world *world, struct choice *choice, struct dialogue *dialogue);

/* The last step: replaces the files that were decided on, and reports what was left alone. */
int dialogue_finish(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                    const decision_list *decisions);

/* Revises the record of the applied session after changes were dropped or merged. */
int dialogue_revise(const struct choice *choice, struct dialogue *dialogue, struct err *err) must_check;

/* Looks at the commits that the decisions to go would bring, if they are an apply's. */
int dialogue_look_at_commits(const struct world *world, const struct choice *choice,
                             struct dialogue *dialogue, const decision_list *decisions, struct err *err)
    must_check;

/* Excludes changes that would break a repository, and fits the directories to the rest. */
int dialogue_exclude_broken(const struct choice *choice, const struct dialogue *dialogue,
                            decision_list *decisions, struct err *err) must_check;

/* A new directory is not made if nothing in it is; an old one is not removed if a file in it stays. */
void dialogue_fit_directories(decision_list *decisions);

/* Is it a new directory that is not named, above a named path that goes? */
bool dialogue_must_make(const struct choice *choice, const decision_list *decisions, size_t number);
void dialogue_free(struct dialogue *dialogue);

/* --- conflicts.c: files that both the user and the session have changed --- */

/*
 * Merges or drops the conflicts, as the flags say. A conflict that stays gets a reason and the lines that clash.
 * Returns 0, or the exit status after saying what is wrong.
 */
int conflicts_resolve(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                      decision_list *decisions);

/* --- waiting.c --- */

/*
 * What of a review still waits. The record of a review has its changes as two trees, `before` and `after`. A change that was
 * applied while others wait is the same in both from then on, and so is one that was discarded: `diff`, `sessions` and
 * `discard` count the rest. Undoing an apply makes what it applied wait again, and nothing else; undoing
 * that undo turns it round.
 */

/* Adds to dialogue->applied what the decisions will apply. */
void waiting_note_applied(struct dialogue *dialogue, const decision_list *decisions);

/* An apply has left some changes: those in dialogue->applied do not wait any more. */
void waiting_drop_applied(struct dialogue *dialogue);

/*
 * What is discarded of a review is kept beside its trees until `bawn undo` makes it wait again. Called before dialogue->afters revise them. What was
 * discarded as a whole is still in them: the state of the session alone says so.
 */
int waiting_keep_dropped(const struct choice *choice, const struct dialogue *dialogue, struct err *err)
    must_check;
bool waiting_has_dropped(int folder_fd, const struct record *review);

/* Makes it wait again, as far as it was named. Returns how many files in *ret_files. */
int waiting_bring_back(const struct choice *choice, const struct record *review, uint64_t *ret_files,
                       struct err *err) must_check;

/* After an apply, complete or not: marks the review as done or discarded if nothing of it waits any more. */
void waiting_end(const struct choice *choice, const struct dialogue *dialogue);

/* The chosen session, an apply or an undo of one, was undone: what it had applied of the review waits again, or the other way round. */
void waiting_turn(const struct world *world, const struct choice *choice, const char *review);

/* Has a part of the review been applied, and not undone? */
bool waiting_is_part(const struct choice *choice, const struct record *review);
