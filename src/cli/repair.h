/*
 * What a bawn that was killed left undone: its throw-away home, new content in flagged places, the record of what the run
 * changed, an apply or undo that was begun. Put right by the next bawn command, whichever it is, which says so.
 */
#pragma once

#include "cli/world.h"

/* Costs one look into a folder that is empty as a rule. */
void repair_killed(const struct world *world, const char *state_directory);
