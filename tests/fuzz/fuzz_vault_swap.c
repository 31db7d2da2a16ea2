/*
 * The first line is a secret, the rest is an answer: whatever is in it and however it is cut, the secret does not come out, no length
 * changes, and what is no secret passes. A second word of the line is another secret.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vault/swap.h"

static void clean(const struct bytes *secrets, size_t count, struct bytes answer, size_t piece,
                  struct buf *out)
{
    struct arena arena = {0};
    struct patterns patterns = {0};
    struct scrub scrub = {.patterns = &patterns};
    for (size_t i = 0; i < count; i++)
        patterns_add(&patterns, &arena, secrets[i], bytes_of("\1\1", 2));
    for (size_t at = 0; at < answer.size; at += piece)
        scrub_take(&scrub, bytes_of(answer.at + at, answer.size - at < piece ? answer.size - at : piece),
                   out);
    scrub_end(&scrub, out);
    scrub_free(&scrub);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size), line;
    if (!bytes_take_line(&text, &line) || line.size == 0)
        return 0;
    const char *space = memchr(line.at, ' ', line.size);
    struct bytes secrets[2] = {bytes_of(line.at, space ? (size_t)(space - line.at) : line.size)};
    secrets[1] = space ? bytes_after(line, secrets[0].size + 1) : secrets[0];
    for (size_t i = 0; i < 2; i++) { /* a placeholder and its filling are in no secret here */
        if (!secrets[i].size || memchr(secrets[i].at, '\1', secrets[i].size) ||
            memchr(secrets[i].at, 'x', secrets[i].size))
            return 0;
    }
    auto_buf struct buf whole = {0}, pieces = {0}, swapped = {0};
    clean(secrets, 2, text, text.size ? text.size : 1, &whole);
    clean(secrets, 2, text, 3, &pieces);
    if (whole.size != text.size || pieces.size != text.size ||
        (text.size && memcmp(whole.bytes, pieces.bytes, text.size) != 0))
        abort();
    for (size_t i = 0; i < 2; i++) {
        if (whole.size && memmem(whole.bytes, whole.size, secrets[i].at, secrets[i].size))
            abort();
    }
    if (swap_value(text, secrets[0], bytes_of("NEWSECRET", 9), &swapped) && swapped.size == 0)
        abort();
    return 0;
}
