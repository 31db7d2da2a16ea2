/*
 * Checkpoints: what a workspace contained in the middle of a live run. A checkpoint is saved in the session's folder
 * as the changes since the start of the run, so that it costs no more than those:
 *
 *   checkpoints/N-before, checkpoints/N-after    partial trees, as `before` and `after` of the session
 *
 * `N-after` is saved last: without it there is no checkpoint N.
 *
 * This file also composes the way back to a checkpoint: a transition from the end of the run to the checkpoint.
 */
#pragma once

#include "workspace/compare.h"

struct checkpoint {
    uint64_t number;
    struct timespec taken;
};

typedef VEC(struct checkpoint) checkpoint_list;

/* Lists the checkpoints of a session, oldest first. Damaged ones are left out. */
void checkpoint_list_all(int session_fd, checkpoint_list *ret_checkpoints);

/*
 * Saves `now` as a checkpoint. Returns 1, or 0 if nothing changed since the last one. If there are very many
 * checkpoints, every other one is removed.
 */
int checkpoint_save(int session_fd, const struct tree *start, const struct tree *now, struct err *err)
    must_check;

/* Loads both trees of a checkpoint. Returns 1, or 0 if it does not exist. */
int checkpoint_load(int session_fd, uint64_t number, struct tree *ret_before, struct tree *ret_after,
                    struct err *err) must_check;

/* Removes all checkpoints of a session. */
void checkpoint_forget_all(int session_fd);

/* Opens the folder of a session's checkpoints; -1 if there is none. checkpoint_is_tree: is this the name of a tree in it? */
int checkpoint_open_folder(int session_fd);
bool checkpoint_is_tree(const char *name);

/* Two partial trees: what the workspace contains, and what it shall contain. Their entries are borrowed. */
struct way {
    struct tree from, to;
};

/* The way from the end of a session (`before`, `after`) to its checkpoint (`cp_before`, `cp_after`). */
void way_to_checkpoint(const struct tree *before, const struct tree *after, const struct tree *cp_before,
                       const struct tree *cp_after, struct way *ret_way);

/*
 * Continues a way after an undo took a part of the session back. Where the undo found the entry that the way begins
 * with, the way now begins with the entry that the undo left. Elsewhere a person's changes were merged or
 * overwritten, and the way stays as it is.
 */
void way_continue(struct way *way, const struct tree *undo_before, const struct tree *undo_after);

void way_free(struct way *way);
