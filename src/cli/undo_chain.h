/*
 * Undos of undos. An undo is of a run, of an apply, or of another undo, and each undo of an undo turns the effect round:
 * the undo of a run takes back, the undo of that undo (a redo) brings back, the undo of a redo takes back again.
 */
#pragma once

#include "cli/choose.h"

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
