/*
 * Checkpoints: what a workspace held in the middle of a live run. Each is kept in the session's folder as what differs from
 * the run's start, so that it costs what the run had changed by then:
 *
 *   checkpoints/N-before, checkpoints/N-after    as `before` and `after` of the session; one without `after` is none
 *
 * And the way back to one: both sides of a transition from what the run left to what was there then.
 */
#pragma once

#include "workspace/compare.h"

struct checkpoint {
    uint64_t number;
    struct timespec taken;
};

typedef VEC(struct checkpoint) checkpoint_list;

/* Those of a session, oldest first. What cannot be read is none. */
void checkpoint_list_all(int session_fd, checkpoint_list *ret_checkpoints);

/*
 * Keeps the state of a workspace, `now`, beside the session's start. Returns 1, or 0 where the last checkpoint is the same.
 * Of very many every other one is let go.
 */
int checkpoint_save(int session_fd, const struct tree *start, const struct tree *now, struct err *err)
    must_check;

/* Both sides of one. Returns 1, or 0 where there is none of that number. */
int checkpoint_load(int session_fd, uint64_t number, struct tree *ret_before, struct tree *ret_after,
                    struct err *err) must_check;

/* Removes all of a session. */
void checkpoint_forget_all(int session_fd);

/* The folder of those of a session, or -1 where there is none; and is this the name of a tree in it? */
int checkpoint_open_folder(int session_fd);
bool checkpoint_is_tree(const char *name);

/* Two partial trees: what is there, and what shall be. Their entries are borrowed. */
struct way {
    struct tree from, to;
};

/* From the end of a session, whose changes are `before` and `after`, to its checkpoint `cp_before` and `cp_after`. */
void way_to_checkpoint(const struct tree *before, const struct tree *after, const struct tree *cp_before,
                       const struct tree *cp_after, struct way *ret_way);

/*
 * Since then an undo has taken a part of it back. Where that undo found what the way begins with, it begins with what the
 * undo left; elsewhere a person's changes were joined or overwritten, and the way stays as it is.
 */
void way_continue(struct way *way, const struct tree *undo_before, const struct tree *undo_after);

void way_free(struct way *way);
#define auto_way __attribute__((cleanup(way_free)))
