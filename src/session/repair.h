/*
 * What a bawn that was killed left undone: its throw-away home, new content in flagged places, the record of what the run
 * changed, an apply or undo that was begun. The next bawn command that deals with sessions puts it right, and says so.
 *
 * Each session is repaired in a child with bounds of memory and time: a repair that crashes or hangs takes no command down. The
 * session is then set aside and named once.
 */
#pragma once

#include "session/caller.h"

/* Costs one look into a folder that is empty as a rule. */
void repair_killed(const struct caller *caller);

/* Tries the sessions again that were set aside, for as long as it takes. Returns whether all of them could be repaired. */
bool repair_set_aside(const struct caller *caller, size_t *ret_count);
