/* The parts of `bawn undo`. */
#pragma once

#include "cli/args.h"
#include "cli/choose.h"
#include "cli/world.h"

/*
 * undo_latest.c: what `bawn undo` without the name of a session means. `record` is the latest session that can be undone.
 * Changes it to another one if that is meant. If nobody can tell what is meant, names the sessions. Returns 0, or the exit
 * status.
 */
int undo_check_latest(const struct world *world, const struct args *args, const struct choice *choice,
                      const struct record **record);

/* undo_list.c: are its changes in the workspace, so that they can be taken back? */
bool undo_is_possible(const struct record *record);

/* `bawn undo --list`: the sessions of a workspace that can be undone, with their checkpoints. */
int undo_list(const struct world *world, struct choice *choice);
