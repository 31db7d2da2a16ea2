#include "egress/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct search *search_new(const struct leak_table *table)
{
    struct search *search = must_realloc(NULL, 1, sizeof(*search));
    *search = (struct search){0};
    leak_begin(&search->leaks, table);
    return search;
}

void search_free(struct search *search)
{
    if (search)
        buf_free(&search->held);
    free(search);
}

bool search_blocks(const struct search *search)
{
    return search && search->leaks.table->answer == LEAK_BLOCK;
}

bool search_has_stopped(const struct search *search)
{
    return search_blocks(search) && search->leaks.found_count;
}

void search_text(struct search *search, struct bytes text)
{
    if (!search)
        return;
    leak_take(&search->leaks, text);
    leak_end(&search->leaks);
}

/* In a header for credentials a key is expected: there, only what must not be in the sandbox is a leak. */
void search_head(struct search *search, struct bytes head)
{
    struct bytes line;
    while (search && bytes_take_line(&head, &line)) {
        const char *colon = memchr(line.at, ':', line.size);
        search->leaks.skips_formats =
            colon && key_is_expected_in(bytes_of(line.at, (size_t)(colon - line.at)));
        search_text(search, line);
        search->leaks.skips_formats = false;
    }
}

void search_content(struct search *search, struct bytes bytes, bool is_end)
{
    if (!search || !search->is_searched)
        return;
    leak_take(&search->leaks, bytes);
    if (is_end)
        leak_end(&search->leaks);
}

static void release(struct buf *held, size_t kept, struct buf *out)
{
    size_t released = held->size > kept ? held->size - kept : 0;
    if (!released)
        return;
    buf_add(out, held->bytes, released);
    memmove(held->bytes, held->bytes + released, kept);
    held->size = kept;
}

void search_pass(struct search *search, struct bytes bytes, struct buf *out)
{
    if (!search_blocks(search) || !search->is_searched) {
        buf_add(out, bytes.at, bytes.size);
        return;
    }
    buf_add(&search->held, bytes.at, bytes.size);
    release(&search->held, SEARCH_HELD_BACK, out);
}

void search_end(struct search *search, struct buf *out)
{
    if (!search)
        return;
    release(&search->held, 0, out);
    search->is_searched = false;
}
