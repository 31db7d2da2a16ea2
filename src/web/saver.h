/*
 * Lines for the end of a policy file, the user's own or a repository's: first a draft of what the file becomes, then the file. It runs in a child of
 * the actor, as a verb does, and prints to standard output.
 */
#pragma once

#include "session/caller.h"
#include "web/acts.h"
#include "web/web.h"

/* ACT_DRAFT prints JSON, ACT_SAVE a sentence. Returns the exit status. */
int saver_run(const struct caller *caller, const struct web_place *place, const struct act_order *order);
