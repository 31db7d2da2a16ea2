/* Conflicts of an apply or an undo: files that both the user and the session have changed. */
#pragma once

#include "cli/dialogue.h"

/*
 * Merges or drops the conflicts, as the flags say. A conflict that stays gets a reason and the lines that clash.
 * Returns 0, or the exit status after saying what is wrong.
 */
int conflicts_resolve(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                      decision_list *decisions);
