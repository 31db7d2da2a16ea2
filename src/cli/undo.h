/* The parts of `bawn undo`. */
#pragma once

#include "cli/args.h"
#include "cli/choose.h"
#include "cli/world.h"
#include "session/branch.h"
#include "workspace/transition.h"

/*
 * undo_latest.c: what `bawn undo` without the name of a session means. `record` is the latest session that can be undone.
 * Changes it to another one if that is meant. If nobody can tell what is meant, names the sessions. Returns 0, or the exit
 * status.
 */
int undo_check_latest(const struct world *world, const struct args *args, struct choice *choice,
                      const struct record **record);

/* undo_list.c: are its changes in the workspace, so that they can be taken back? */
bool undo_is_possible(const struct record *record);

/*
 * undo_discard.c: was the session discarded, or a part of it, so that it can be brought back? No file of the workspace changes then: its changes wait again,
 * or the worktree of its branch is made again. Returns the exit status.
 */
bool undo_is_of_discard(const struct choice *choice, const struct record *record);
int undo_discard(const struct world *world, struct choice *choice, const struct record *record);

/* The same file: the copy of a worktree that a discard keeps in the session's folder. Without its progress. */
struct branch_copy undo_branch_copy(const struct choice *choice, const struct record *record, int folder_fd);

/* `bawn undo --list`: the sessions of a workspace that can be undone, with their checkpoints. */
int undo_list(const struct world *world, struct choice *choice);

/* undo_stays.c: says what of a repository an undo of a live run has not taken back, and is not named as kept. */
struct dialogue;
void undo_say_stays(const struct world *world, const struct choice *choice, const struct dialogue *dialogue,
                    const decision_list *decisions);

/* --- undo_chain.c --- */

/*
 * Undos of undos. An undo is of a run, of an apply, or of another undo, and each undo of an undo turns the effect round:
 * the undo of a run takes back, the undo of that undo (a redo) brings back, the undo of a redo takes back again.
 */

/* The session of this name, among those of the workspace; NULL: it has been forgotten. */
const struct record *undo_find_record(const struct choice *choice, const char *name);

/* Does the undo bring back what another undo took back? */
bool undo_is_redo(const struct choice *choice, const struct record *undo);

/* The run or apply that the undo is about in the end. */
const char *undo_origin(const struct choice *choice, const struct record *undo);

/* The undo that `bawn redo` reverses: the named one, that of the named session, or the latest change here. Returns 0, or the exit status. */
int redo_choose(const struct world *world, const struct choice *choice, const struct record *latest,
                const struct record **ret_record);

/* Sets the states after a session was taken back whole. */
void undo_mark_chain(const struct choice *choice, const struct record *record);
