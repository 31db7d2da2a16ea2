/*
 * Changes the workspace for a person, as apply and undo do: shows what it would do, asks, does it, and says what was left
 * alone.
 */
#pragma once

#include "base/style.h"
#include "cli/choose.h"
#include "workspace/reconcile.h"
#include "workspace/transition.h"

/* What shall become of files that the user has changed since. Overwriting them is the transition's. */
enum conflicts {
    CONFLICTS_STAY,
    CONFLICTS_MERGE, /* joined where nothing clashes */
    CONFLICTS_MARK,  /* joined, with marks where something does */
    CONFLICTS_OURS,  /* the session's change is given up */
};

struct dialogue {
    enum record_mode mode;
    const struct record *of;
    struct transition transition;
    enum conflicts conflicts;
    bool asks;
    const char *question;
    const char *done; /* "taken back", "applied" */
    /* Says of a change that it must wait for a person, and why; NULL: none must. */
    const char *(*holds_back)(void *context, const struct change *change);
    void *context;
    revision_list befores, afters; /* of the trees of the session that is applied, when that is done */
    bool is_complete;              /* afterwards: nothing was left alone, and no path was left out */
    bool has_run;                  /* afterwards: something was changed */
    bool is_void;                  /* afterwards: the session has been given up, all of it */
};

/* Returns the exit status. */
int dialogue_run_all(const struct world *world, struct choice *choice, struct dialogue *dialogue);

/* The last step of it: carries out what is decided to go, and says what was left alone. */
int dialogue_run(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                 const decision_list *decisions);

/* What of the session is still to be applied and shown, when some of it was given up or became another text. */
int dialogue_revise(const struct choice *choice, struct dialogue *dialogue, struct err *err) must_check;

/* Of what is decided to go into a workspace, holds back what would break a repository, and fits the directories to that. */
int dialogue_hold_broken(const struct choice *choice, const struct dialogue *dialogue,
                         decision_list *decisions, struct err *err) must_check;

/* A new directory of which nothing goes is not made, and an old one of which something stays is not removed. */
void dialogue_fit_directories(decision_list *decisions);
void dialogue_free(struct dialogue *dialogue);

/* Sets the state in a session's record. */
void mark_state(const struct choice *choice, const char *name, enum record_state state);

/* The lines at which both sides clash, as a person reads them: mine, those before, the session's. */
void conflict_add(struct buf *out, const struct style *style, const char *clashes);
