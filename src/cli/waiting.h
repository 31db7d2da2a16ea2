/*
 * What of a review still waits. The record of a review has its changes as two trees, `before` and `after`. A change that was
 * applied while others wait is the same in both from then on, and so is one that was discarded: `diff`, `sessions` and
 * `discard` count the rest. Undoing an apply makes what it applied wait again, and nothing else; undoing
 * that undo turns it round.
 */
#pragma once

#include "cli/dialogue.h"

/* Adds to dialogue->applied what the decisions will apply. */
void waiting_note_applied(struct dialogue *dialogue, const decision_list *decisions);

/* An apply has left some changes: those in dialogue->applied do not wait any more. */
void waiting_drop_applied(struct dialogue *dialogue);

/* After an apply, complete or not: marks the review as done or discarded if nothing of it waits any more. */
void waiting_end(const struct choice *choice, const struct dialogue *dialogue);

/* The chosen session, an apply or an undo of one, was undone: what it had applied of the review waits again, or the other way round. */
void waiting_turn(const struct world *world, const struct choice *choice, const char *review);

/* Has a part of the review been applied, and not undone? */
bool waiting_is_part(const struct choice *choice, const struct record *review);
