/*
 * The text of git's `packed-refs`: its refs in a list, and the text with some of them changed. The text comes from a
 * sandbox; a text with a line that git does not write is not sound, and is not edited. Pure functions.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

struct packed_ref {
    const char *name, *value;
    const char *text; /* the line, and the line of what a tag stands for */
};

struct packed_refs {
    bool is_there, is_sound;
    const char *head; /* the first line, a comment; "" if there is none */
    VEC(struct packed_ref) lines;
    struct map by_name;
};

void packed_refs_parse(struct arena *arena, const struct buf *text, struct packed_refs *ret_refs);
void packed_refs_free(struct packed_refs *refs);

/* The value of a ref, or NULL. */
const char *packed_refs_find(const struct packed_refs *refs, const char *name);

/* The ref gets the line that it has in `from`; NULL: it gets none. */
struct packed_edit {
    const char *name;
    const struct packed_refs *from;
};

typedef VEC(struct packed_edit) packed_edits;

void packed_refs_edit(packed_edits *edits, const char *name, const struct packed_refs *from);

/* Writes the refs with the edits. `other` has the head if `refs` has none. */
void packed_refs_write(const struct packed_refs *refs, const struct packed_refs *other,
                       const packed_edits *edits, struct buf *ret_text);
