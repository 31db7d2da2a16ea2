/* What a workspace will hold once everything that is decided to go has gone: what goes, and what lies there today. */
#pragma once

#include "base/map.h"
#include "workspace/transition.h"

/* The index of a pack that goes with the rest. */
struct new_pack {
    const char *path;
    int index_fd;
};

/* Of repositories alone. A decision that no longer goes no longer counts. */
struct future {
    struct arena *arena;
    struct store store;
    int top_fd;
    struct map decided; /* by path: decisions that were to go */
    VEC(struct new_pack) packs;
};

int future_begin(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                 struct future *ret_future, struct err *err) must_check;
void future_end(struct future *future);

/* What was decided of a path, or NULL; and only where it goes. */
const struct decision *future_decided(const struct future *future, const char *path);
const struct decision *future_of(const struct future *future, const char *path);

/* Will there be something at a path? */
bool future_has(const struct future *future, const char *path);

/* The bytes or the text that an entry has, and the text that a path will have. False where there is none, or more than that. */
bool future_read_bytes(struct future *future, const struct entry *entry, size_t most, struct buf *ret_bytes);
bool future_read_entry(struct future *future, const struct entry *entry, size_t most, struct buf *ret_text);
bool future_read(struct future *future, const char *path, size_t most, struct buf *ret_text);

/* Why a file of git's must not go. */
extern const char future_unreadable[], future_names_missing[];

/* What is said of the first line that `why` objects to, or NULL. Lines that were there before are the user's own. */
typedef const char *future_judge_line(void *context, const char *line);
const char *future_why_line(struct future *future, const struct change *change, size_t most,
                            future_judge_line *why, void *context);

/*
 * Will an object store ("….git/objects/") have that object? What could not be looked through, behind links of the user's own,
 * gets the benefit of the doubt.
 */
bool future_has_object(const struct future *future, const char *objects, const char *digits);
