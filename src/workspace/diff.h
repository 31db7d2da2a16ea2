/*
 * Which lines differ between two texts (Myers' algorithm), in bounded time: texts that have little in common are shown
 * as one replaced by the other. Any bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

struct line {
    const char *text;
    size_t size; /* with the newline, which the last one may lack */
};

typedef VEC(struct line) line_list;

void lines_split(const char *text, size_t size, line_list *ret_lines);

struct line_edit {
    char kind;       /* ' ' both have it, '-' only the old, '+' only the new */
    size_t old, new; /* the line's number in each, or that of the next one, counted from 0 */
};

typedef VEC(struct line_edit) edit_list;

void lines_compare(const line_list *old, const line_list *new, edit_list *ret_edits);

/* Is it a text that can be shown line by line? */
bool lines_are_text(const char *bytes, size_t size);

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
