/* The logs of a repository's refs: which branches a run was on, and what of a log an undo brings back. */
#pragma once

#include "workspace/repo_texts.h"
#include "workspace/transition.h"

/* Calls `add` for each branch, or other name, that the log of HEAD says that HEAD left or came to during the run. */
typedef void reflogs_branch(void *context, const char *name, size_t size);
void reflogs_find_branches(const struct repo_texts *texts, reflogs_branch *add, void *context);

/* Logs stay, so that every commit can be found. A log that is gone comes back, and so do lines that were lost. */
int reflogs_decide(const struct repo_texts *texts, const struct transition *transition,
                   struct decision *decision, struct err *err) must_check;

/* The log of a branch that goes: goes with it, if the log of HEAD has the commit. */
void reflogs_decide_removed(const struct repo_texts *texts, struct decision *log, const char *value);

/*
 * The list of stashes is the log of a ref, so both go together. They go back if stashes were dropped and none was
 * added; otherwise they stay, and are named. Either decision may be NULL.
 */
#define REFLOGS_STASH     "refs/stash"
#define REFLOGS_STASH_LOG "logs/refs/stash"
void reflogs_decide_stash(const struct repo_texts *texts, const struct transition *transition,
                          struct decision *ref, struct decision *log);
