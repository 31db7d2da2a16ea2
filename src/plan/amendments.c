#include "plan/amendments.h"

static struct amendment *change_of(struct amendments *amendments, size_t number)
{
    while (amendments->changes.count <= number)
        vec_push(&amendments->changes, (struct amendment){0});
    return &amendments->changes.at[number];
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
    if (amendments && number < amendments->changes.count)
        apply(&amendments->changes.at[number], &operation);
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
    for (size_t i = 0; i < all.count; i++)
        all.at[i] = amended_operation(planned, amendments, i);
    return all;
}

void amendments_free(struct amendments *amendments)
{
    vec_free(&amendments->changes);
    vec_free(&amendments->further);
}
