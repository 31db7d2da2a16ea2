/* What `bawn undo` can go back to: before a session, or a checkpoint of it. */
#pragma once

#include "cli/choose.h"
#include "workspace/checkpoint.h"

/* Does what it changed stand in the workspace, to be taken back? */
bool undo_is_possible(const struct record *record);

/* The way from what a session left to what was there before it, or at one of its checkpoints. */
struct undo_target {
    struct way way;
    VEC(struct tree) trees; /* whose entries the way borrows, beside those of the choice */
    bool is_checkpoint;
    struct timespec taken; /* of the checkpoint */
};

/* The run that --to is about: the named one, or the latest of this workspace. Returns 0, or the exit status. */
int undo_choose_run(const struct world *world, const struct choice *choice, const struct record **ret_record);

/* The session's trees are open in the choice. `to` is what was typed; NULL: before it. Returns 0, or the exit status. */
int undo_find_target(const struct world *world, const struct choice *choice, const struct record *record,
                     const char *to, struct undo_target *ret_target);
void undo_target_free(struct undo_target *target);

/* --list */
int undo_list(const struct world *world, struct choice *choice);
