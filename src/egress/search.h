/*
 * Searches a request of plain HTTP for secrets of the host (journal/leak.h). With `leak block` its bytes wait here until what follows has been
 * searched: the head and the last SEARCH_HELD_BACK bytes of the content at least.
 *
 * A NULL search finds nothing and holds nothing back.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "journal/leak.h"

enum { SEARCH_HELD_BACK = 80 * 1024 }; /* for the largest head, and 64 KiB */

struct search {
    struct leak_search leaks; /* the caller reads what was found, and resets found_count */
    bool is_searched;         /* the content of this request: there is one, and it is not compressed */
    struct buf held;          /* bytes of this request that wait */
};

/* The table must stay. */
struct search *search_new(const struct leak_table *table);
void search_free(struct search *search);

/* Must a secret be stopped? */
bool search_blocks(const struct search *search);

/* And is there one? */
bool search_has_stopped(const struct search *search);

/* The whole head of a request. Its content, if it has any, is searched from now on, unless it is compressed. */
void search_head(struct search *search, struct bytes head);

/* Part of the content. */
void search_content(struct search *search, struct bytes bytes, bool is_end);

/* A text that is whole. */
void search_text(struct search *search, struct bytes text);

/* Adds bytes of the request to `out`, or lets them wait. */
void search_pass(struct search *search, struct bytes bytes, struct buf *out);

/* Adds the bytes that wait. */
void search_end(struct search *search, struct buf *out);
