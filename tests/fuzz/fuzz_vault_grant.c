/*
 * A refresh of a login, as a request's content, as an answer, as a login file and as lines: what is found lies in the text, a swap changes nothing
 * else, what is written can be read, and no token of an answer is in our own.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "home/login.h"
#include "vault/grant.h"

static const struct bytes stand_in = {"\1\1\1\1\1\1\1\1",
                                      8}; /* in no token: JSON has no such byte in a string */

static void request(bool is_form, struct bytes content)
{
    struct bytes token;
    auto_buf struct buf same = {0}, swapped = {0};
    if (!grant_find(is_form, content, &token))
        return;
    if (token.at < content.at || token.at + token.size > content.at + content.size)
        abort();
    grant_add(false, content, token, token, &same);
    if (same.size != content.size || memcmp(same.bytes, content.at, content.size) != 0)
        abort();
    grant_add(is_form, content, token, bytes_of("a/b", 3), &swapped);
    if (swapped.size != content.size - token.size + (is_form ? 5 : 3))
        abort();
}

/* The claims of a JWT may hold whatever they like. */
static void check_clean(const struct buf *clean, struct bytes token, const struct token_set *set)
{
    struct bytes core = token_core(token);
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (token_core(set->at[kind]).size != set->at[kind].size)
            return;
    }
    if (clean->size && core.size > 16 && memmem(clean->bytes, clean->size, core.at, core.size))
        abort();
}

static void answer(struct bytes text)
{
    struct token_set set, again;
    struct bytes placeholders[TOKEN_KIND_COUNT] = {{0}, stand_in, stand_in, stand_in, stand_in};
    auto_buf struct buf clean = {0}, own = {0}, lines = {0};
    if (!grant_read_answer(text, &set))
        return;
    grant_add_answer(text, &set, placeholders, &clean);
    grant_add_own_answer(&set, placeholders, &own);
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (set.at[kind].size)
            check_clean(&own, set.at[kind], &set);
    }
    token_set_add(&set, &lines);
    if (!token_set_read(bytes_of(lines.bytes, lines.size), &again))
        abort();
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (set.at[kind].size && !bytes_equal(set.at[kind], again.at[kind]))
            abort();
    }
}

static void file(struct bytes text)
{
    kept_tokens none = {0};
    struct login_entry entry;
    struct login_entry wanted = {.tokens = {[TOKEN_REFRESH] = bytes_of("a-new-token", 11)}, .expires = 1};
    auto_buf struct buf masked = {0}, some = {0}, written = {0};
    struct json_value root;
    if (login_mask(text, "file", NULL, &none, &masked) && !json_read(masked.bytes, masked.size, &root))
        abort();
    if (login_mask(text, "file", "a b", &none, &some) && !json_read(some.bytes, some.size, &root))
        abort();
    if (login_entry_read(text, "a", &entry) && !login_entry_write(text, "a", &wanted, 1, &written))
        abort();
    if (written.size && !json_read(written.bytes, written.size, &root))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size);
    struct token_set set;
    request(false, text);
    request(true, text);
    answer(text);
    file(text);
    if (token_set_read(text, &set) && set.at[TOKEN_ACCESS].size && !token_is_plain(set.at[TOKEN_ACCESS]))
        abort();
    return 0;
}
