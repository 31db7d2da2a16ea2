/*
 * Joins what two sides have made of one text. Where both have changed the same lines, or lines that touch, that is a
 * clash: it is never decided here, but shown with all three texts. Pure functions of any bytes, in bounded time.
 */
#pragma once

#include "base/buf.h"

struct merge {
    const struct buf *base, *ours, *theirs;
    const char *our_name, *their_name; /* for the marks of clashes */
};

/* The joined text, with marks around each clash. Returns how many there are. */
size_t merge_texts(const struct merge *merge, struct buf *ret_text);

/* The clashes alone. Returns how many there are. */
size_t merge_clashes(const struct merge *merge, struct buf *ret_text);
