/*
 * What a sandbox wrote of where a repository's branches stand is taken over only where git can go on with it: a branch
 * whose commit is not there, a HEAD that says nothing or an index of junk would leave the user with a repository that is broken.
 * Objects are looked for by their names; none is unpacked, and git is not asked.
 */
#pragma once

#include "workspace/transition.h"

/* Of the decisions to go, holds those back that would break a repository. To be called when all else is decided. */
int repo_check_hold_broken(const struct transition *transition, struct arena *arena, decision_list *decisions,
                           struct err *err) must_check;
