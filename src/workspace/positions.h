/* Where the branches, tags and logs of git repositories go when a live run is undone. */
#pragma once

#include "workspace/transition.h"

/* Decides about refs, logs, and what belongs to linked worktrees. Contents that it makes are put into the store. */
int positions_decide(const struct transition *transition, int top_fd, struct store *store,
                     struct arena *arena, decision_list *decisions, struct err *err) must_check;

/* Does the repository of the path still exist after the transition? */
bool positions_repository_stays(const struct transition *transition, const char *path);

/* If a repository has moved on, all of it but its objects is left alone: a half-applied repository would be broken. */
void positions_hold_moved(decision_list *decisions);
