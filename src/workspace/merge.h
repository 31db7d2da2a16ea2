/*
 * Three-way merge of a text. Lines that both sides changed, or changed lines that touch, are a clash. A clash is
 * never resolved here: the result contains all three texts. Pure functions of any bytes, in bounded time.
 */
#pragma once

#include "base/buf.h"

struct merge {
    const struct buf *base, *ours, *theirs;
    const char *our_name, *their_name; /* for the markers of clashes */
};

/* Merges the texts, with markers around each clash. Returns the number of clashes. */
size_t merge_texts(const struct merge *merge, struct buf *ret_text);

/* The clashes only. Returns their number. */
size_t merge_clashes(const struct merge *merge, struct buf *ret_text);
