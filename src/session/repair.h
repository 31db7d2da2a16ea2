/*
 * Repair of sessions whose bawn was killed: the throw-away home, new content in flagged places, the record of the
 * changes, an unfinished apply or undo. The next bawn command that deals with sessions repairs them and says so.
 *
 * Each session is repaired in a child with limits on memory and time, so a repair that crashes or hangs does not
 * stop the command. A session whose repair fails is set aside and named once.
 */
#pragma once

#include "session/caller.h"

/* Lists one directory, which is usually empty. */
void repair_killed(const struct caller *caller);

/* Tries again the sessions that were set aside, without a time limit. Returns whether all repairs succeeded. */
bool repair_set_aside(const struct caller *caller, size_t *ret_count);
