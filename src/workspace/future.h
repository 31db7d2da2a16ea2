/*
 * The future of a workspace: what it will contain after all decisions to go have been carried out. Only paths of git
 * repositories are known here. A decision that is held back later no longer counts.
 */
#pragma once

#include "base/map.h"
#include "workspace/transition.h"

/* The index of a git pack that is among the changes. */
struct new_pack {
    const char *path;
    int index_fd;
};

struct future {
    struct arena *arena;
    struct store store;
    int top_fd;
    struct map decided; /* by path: the decisions that were to go at the beginning */
    VEC(struct new_pack) packs;
};

int future_begin(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                 struct future *ret_future, struct err *err) must_check;
void future_end(struct future *future);

/* The decision about a path, or NULL. future_of: only if it still goes. */
const struct decision *future_decided(const struct future *future, const char *path);
const struct decision *future_of(const struct future *future, const char *path);

/* Will the path exist? */
bool future_has(const struct future *future, const char *path);

/*
 * Reads the bytes or the text of an entry, or the text that a path will have. False if there is none, or if it is
 * larger than `most`.
 */
bool future_read_bytes(struct future *future, const struct entry *entry, size_t most, struct buf *ret_bytes);
bool future_read_entry(struct future *future, const struct entry *entry, size_t most, struct buf *ret_text);
bool future_read(struct future *future, const char *path, size_t most, struct buf *ret_text);

/*
 * Will an object directory ("….git/objects/") have that object? True if the directory cannot be searched, because it
 * lies behind symlinks of the user.
 */
bool future_has_object(const struct future *future, const char *objects, const char *digits);
