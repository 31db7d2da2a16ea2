/*
 * The lines that differ between two texts (Myers' algorithm), and the hunks that a person takes or leaves. The time
 * is bounded: if two texts have little in common, one replaces the other as a whole. Pure functions of any bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

struct line {
    const char *text;
    size_t size; /* with the newline, which the last line may lack */
};

typedef VEC(struct line) line_list;

bool line_is_same(const struct line *a, const struct line *b);

void lines_split(const char *text, size_t size, line_list *ret_lines);

struct line_edit {
    char kind;       /* ' ' in both texts, '-' only in the old, '+' only in the new */
    size_t old, new; /* the number of the line in each text, or of the next line, from 0 */
};

typedef VEC(struct line_edit) edit_list;

void lines_compare(const line_list *old, const line_list *new, edit_list *ret_edits);

/* Is it text that can be shown line by line? */
bool lines_are_text(const char *bytes, size_t size);

/* The edits from `from` to before `to`. The first and the last one differ; equal lines may lie between them. */
struct hunk {
    size_t from, to;
};

struct hunks {
    line_list old, new; /* they point into the texts, which must outlive them */
    edit_list edits;
    VEC(struct hunk) list;
};

void hunks_find(const struct buf *old, const struct buf *new, struct hunks *ret_hunks);
void hunks_free(struct hunks *hunks);
#define auto_hunks __attribute__((cleanup(hunks_free)))

/* Returns the hunk with the equal lines that are shown around it. */
struct hunk hunks_with_context(const struct hunks *hunks, size_t number);

/* Splits a hunk at each equal line inside it. Returns the number of parts. */
size_t hunks_split(struct hunks *hunks, size_t number);

/* Composes the old text with the hunks that are taken; `are_taken` has one answer for each. */
void hunks_compose(const struct hunks *hunks, const bool *are_taken, struct buf *ret_text);

/* --- merge --- */

/*
 * Three-way merge of a text. Lines that both sides changed, or changed lines that touch, are a clash. A clash is
 * never resolved here: the result contains all three texts. Pure functions of any bytes, in bounded time.
 */

struct merge {
    const struct buf *base, *ours, *theirs;
    const char *our_name, *their_name; /* for the markers of clashes */
};

/* Merges the texts, with markers around each clash. Returns the number of clashes. */
size_t merge_texts(const struct merge *merge, struct buf *ret_text);

/* The clashes only. Returns their number. */
size_t merge_clashes(const struct merge *merge, struct buf *ret_text);
