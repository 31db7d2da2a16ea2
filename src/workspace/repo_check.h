/*
 * Checks what a sandbox wrote to a git repository before it is applied. A branch without its commit, a HEAD without a
 * meaning or an unreadable index would leave the user with a broken repository. Objects are looked up by name only:
 * nothing is unpacked, and git does not run.
 */
#pragma once

#include "workspace/transition.h"

/* Holds back the decisions that would break a repository. Called after all other decisions are made. */
int repo_check_hold_broken(const struct transition *transition, struct arena *arena, decision_list *decisions,
                           struct err *err) must_check;
