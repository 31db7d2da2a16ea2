/*
 * A session as one page of HTML that needs nothing else: no script, no font, no picture, and nothing may be loaded.
 * Whatever the journal holds came from inside, or may have been changed since: all of it is escaped.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "journal/read.h"

struct page_change {
    char letter; /* A, D, M … */
    const char *path;
    const char *risk; /* why it would run or be obeyed on the host; or NULL */
};

struct page {
    const char *session;
    const char *home;      /* shown as ~; may be NULL */
    const char *integrity; /* a sentence: does the chain hold? */
    bool is_whole;
    VEC(struct journal_record) records;
    VEC(struct page_change) changes;
    uint64_t change_count; /* in all */
};

void page_add(struct buf *out, struct arena *arena, const struct page *page);
