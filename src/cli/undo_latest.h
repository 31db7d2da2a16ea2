/* What `bawn undo` without the name of a session means. */
#pragma once

#include "cli/args.h"
#include "cli/choose.h"
#include "cli/world.h"

/* Notes in its session's folder that an undo has left something that it should have taken back. */
void undo_note_unfinished(int folder_fd);

/*
 * `record` is the latest session that can be undone. Changes it to another one if that is meant. If nobody can tell what
 * is meant, names the sessions. Returns 0, or the exit status.
 */
int undo_check_latest(const struct world *world, const struct args *args, const struct choice *choice,
                      const struct record **record);
