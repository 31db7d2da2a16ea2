/*
 * Amendments: findings and preparations of a run whose plan is already made. The plan is const and stays the one that was shown
 * and recorded; the launcher and the guard read the plan together with its amendments.
 *
 * An amendment names an operation by its number in the plan. Hidden paths that the run found count as further operations,
 * numbered behind those of the plan.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "plan/operations.h"

struct amendment {
    size_t number;
    enum { PRESENCE_AS_PLANNED, PRESENCE_THERE, PRESENCE_MISSING } presence;
    const char *layer, *copy; /* NULL: none */
};

struct amendments {
    VEC(struct amendment) changes;
    VEC(const char *) hidden;
};

/* FREEZE: something stands at the path by now and can be pinned, or nothing does any more. */
void amend_presence(struct amendments *amendments, size_t number, bool is_missing);

/* WRITE and SEED: the folder of the overlay that takes what is written there. */
void amend_layer(struct amendments *amendments, size_t number, const char *folder);

/* WRITE: the copy that is shown in its place. */
void amend_copy(struct amendments *amendments, size_t number, const char *folder);

/* A path in a tree that is shown, to be hidden as well. */
void amend_hide(struct amendments *amendments, const char *path);

/* How many operations there are with the amendments, and one of them. `amendments` may be NULL. */
size_t amended_count(const struct operations *planned, const struct amendments *amendments);
struct operation amended_operation(const struct operations *planned, const struct amendments *amendments,
                                   size_t number);

/* All of them: in the arena, or those of the plan itself where there is no amendment. Not to be changed. */
struct operations amended_operations(struct arena *arena, const struct operations *planned,
                                     const struct amendments *amendments);

void amendments_free(struct amendments *amendments);
