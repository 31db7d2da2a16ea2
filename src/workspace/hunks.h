/*
 * The difference of two texts in pieces that a person takes or leaves one by one. Pure functions of any bytes.
 */
#pragma once

#include "base/buf.h"
#include "workspace/lines.h"

/* Edits from `from` to before `to`: the first and the last differ, what both have may lie between them. */
struct hunk {
    size_t from, to;
};

struct hunks {
    line_list old, new; /* they point into the texts, which must stay */
    edit_list edits;
    VEC(struct hunk) list;
};

void hunks_find(const struct buf *old, const struct buf *new, struct hunks *ret_hunks);
void hunks_free(struct hunks *hunks);
#define auto_hunks __attribute__((cleanup(hunks_free)))

/* The same hunk with the lines around it that are shown. */
struct hunk hunks_with_context(const struct hunks *hunks, size_t number);

/* Parts a hunk wherever both texts have a line in its middle. Returns into how many. */
size_t hunks_split(struct hunks *hunks, size_t number);

/* The old text with only those hunks changed that are taken: one answer a hunk. */
void hunks_compose(const struct hunks *hunks, const bool *are_taken, struct buf *ret_text);
