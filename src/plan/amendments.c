#include "plan/amendments.h"

#include <string.h>

static struct amendment *change_of(struct amendments *amendments, size_t number)
{
    for (size_t i = 0; i < amendments->changes.count; i++) {
        if (amendments->changes.at[i].number == number)
            return &amendments->changes.at[i];
    }
    vec_push(&amendments->changes, (struct amendment){.number = number});
    return &amendments->changes.at[amendments->changes.count - 1];
}

void amend_presence(struct amendments *amendments, size_t number, bool is_missing)
{
    change_of(amendments, number)->presence = is_missing ? PRESENCE_MISSING : PRESENCE_THERE;
}

void amend_layer(struct amendments *amendments, size_t number, const char *folder)
{
    change_of(amendments, number)->layer = folder;
}

void amend_copy(struct amendments *amendments, size_t number, const char *folder)
{
    change_of(amendments, number)->copy = folder;
}

void amend_hide(struct amendments *amendments, const char *path)
{
    vec_push(&amendments->further, (struct operation){.kind = OP_HIDE, .path = path});
}

void amend_give(struct amendments *amendments, const char *path, bool is_written)
{
    vec_push(&amendments->further,
             (struct operation){.kind = is_written ? OP_BIND_WRITE : OP_BIND_READ, .path = path});
}

size_t amended_count(const struct operations *planned, const struct amendments *amendments)
{
    return planned->count + (amendments ? amendments->further.count : 0);
}

static void apply(const struct amendment *change, struct operation *operation)
{
    if (change->presence != PRESENCE_AS_PLANNED)
        operation->missing = change->presence == PRESENCE_MISSING;
    if (change->layer)
        operation->overlay = change->layer;
    if (change->copy)
        operation->source = change->copy;
}

struct operation amended_operation(const struct operations *planned, const struct amendments *amendments,
                                   size_t number)
{
    if (number >= planned->count)
        return amendments->further.at[number - planned->count];
    struct operation operation = planned->at[number];
    for (size_t i = 0; amendments && i < amendments->changes.count; i++) {
        if (amendments->changes.at[i].number == number)
            apply(&amendments->changes.at[i], &operation);
    }
    return operation;
}

struct operations amended_operations(struct arena *arena, const struct operations *planned,
                                     const struct amendments *amendments)
{
    struct operations all = *planned;
    if (!amendments || (!amendments->changes.count && !amendments->further.count))
        return all;
    all.count = all.capacity = amended_count(planned, amendments);
    all.at = arena_alloc(arena, all.count * sizeof(*all.at));
    memcpy(all.at, planned->at, planned->count * sizeof(*all.at));
    for (size_t i = planned->count; i < all.count; i++)
        all.at[i] = amended_operation(planned, amendments, i);
    for (size_t i = 0; i < amendments->changes.count; i++)
        apply(&amendments->changes.at[i], &all.at[amendments->changes.at[i].number]);
    return all;
}

void amendments_free(struct amendments *amendments)
{
    vec_free(&amendments->changes);
    vec_free(&amendments->further);
}
