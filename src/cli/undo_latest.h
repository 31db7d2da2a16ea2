/* What `bawn undo` without the name of a session means. */
#pragma once

#include "cli/args.h"
#include "cli/choose.h"
#include "cli/world.h"

/*
 * `record` is the latest session that can be undone. Changes it to another one if that is meant. If nobody can tell what
 * is meant, names the sessions. Returns 0, or the exit status.
 */
int undo_check_latest(const struct world *world, const struct args *args, const struct choice *choice,
                      const struct record **record);
