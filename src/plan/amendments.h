/*
 * Amendments: what a run finds and prepares after its plan was made. The plan is const and stays as it was shown and recorded;
 * the launcher and the guard read it together with its amendments.
 *
 * An amendment names an operation by its number in the plan. Hidden paths that the run found, and what a person gave to the running command,
 * count as further operations, with numbers after those of the plan.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "plan/operations.h"

struct amendment {
    enum { PRESENCE_AS_PLANNED, PRESENCE_THERE, PRESENCE_MISSING } presence;
    const char *layer, *copy; /* NULL: none */
};

struct amendments {
    VEC(struct amendment) changes; /* by the operation's number: what changes nothing is zero */
    VEC(struct operation) further;
};

/* FREEZE: a file at the path now exists and can be pinned, or exists no longer. */
void amend_presence(struct amendments *amendments, size_t number, bool is_missing);

/* WRITE and SEED: the folder of the overlay's upper layer. */
void amend_layer(struct amendments *amendments, size_t number, const char *folder);

/* WRITE: the copy that is shown instead. FREEZE: the place in such a copy that is frozen as well, where the host can reach it. */
void amend_copy(struct amendments *amendments, size_t number, const char *folder);

/* Also hides a path in a tree that is shown. */
void amend_hide(struct amendments *amendments, const char *path);

/* A tree that a person gave for writing, or a place in it that can only be read. */
void amend_give(struct amendments *amendments, const char *path, bool is_written);

/* The number of operations with the amendments, and one of them. `amendments` may be NULL. */
size_t amended_count(const struct operations *planned, const struct amendments *amendments);
struct operation amended_operation(const struct operations *planned, const struct amendments *amendments,
                                   size_t number);

/* All operations: those of the plan itself without amendments, else in the arena. Must not be changed. */
struct operations amended_operations(struct arena *arena, const struct operations *planned,
                                     const struct amendments *amendments);

void amendments_free(struct amendments *amendments);
