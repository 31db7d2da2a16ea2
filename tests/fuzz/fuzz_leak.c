/*
 * Any bytes, searched for leaks: however they are cut, the same is found; and a known value between two of them is found as it is and in
 * base64, whatever is around it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "fuzz.h"
#include "journal/leak.h"

static const char canary[] = "AKIAZ5CANARYQ2W3E4R5";

static void take_pieces(struct leak_search *search, struct bytes text, size_t piece)
{
    for (size_t at = 0; at < text.size; at += piece)
        leak_take(search, bytes_of(text.at + at, text.size - at < piece ? text.size - at : piece));
}

static enum leak_kind find_between(const struct leak_table *table, struct bytes before, const char *planted,
                                   struct bytes after, size_t piece)
{
    struct leak_search search;
    leak_begin(&search, table);
    take_pieces(&search, before, piece);
    take_pieces(&search, bytes_of("\0", 1), piece);
    take_pieces(&search, bytes_of(planted, strlen(planted)), piece);
    take_pieces(&search, bytes_of("\0", 1), piece);
    take_pieces(&search, after, piece);
    leak_end(&search);
    enum leak_kind kind = LEAK_NONE;
    for (size_t i = 0; i < search.found_count; i++)
        kind = search.found[i].kind > kind ? search.found[i].kind : kind;
    return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LONGEST = 65536 };
    struct bytes text = bytes_of((const char *)bytes, size), before = {0};
    if (size == 0 || size > LONGEST)
        return 0;
    bytes_take_line(&text, &before);
    struct leak_table table = {0};
    auto_buf struct buf encoded = {0};
    unsigned char digest[KEY_WORD_DIGEST];
    word_digest(table.salt, bytes_of(canary, strlen(canary)), digest);
    if (!leak_add_digest(&table, LEAK_CANARY, "x", strlen(canary), digest))
        abort();
    base64_add(&encoded, bytes_of(canary, strlen(canary)));
    enum leak_kind whole = find_between(&table, before, "", text, size);
    if (find_between(&table, before, "", text, 1) != whole ||
        find_between(&table, before, "", text, 5) != whole)
        abort();
    if (find_between(&table, before, canary, text, size) != LEAK_CANARY ||
        find_between(&table, before, buf_text(&encoded), text, 3) != LEAK_CANARY)
        abort();
    leak_table_free(&table);
    return 0;
}
