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
#include "report/summary.h"

struct page {
    const char *session;
    const char *home;      /* shown as ~; may be NULL */
    const char *integrity; /* a sentence: does the chain hold? */
    bool is_whole;
    VEC(struct journal_record) records;
    const struct changed *changed;
};

void page_add(struct buf *out, struct arena *arena, const struct page *page);
