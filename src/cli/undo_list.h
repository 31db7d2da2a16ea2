/* `bawn undo --list`: the sessions of a workspace that can be undone, with their checkpoints. */
#pragma once

#include "cli/choose.h"

/* Are its changes in the workspace, so that they can be taken back? */
bool undo_is_possible(const struct record *record);

int undo_list(const struct world *world, struct choice *choice);
