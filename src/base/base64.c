#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        uint32_t group = 0;
        for (size_t j = 0; j < 3; j++)
            group = group << 8 | (i + j < bytes.size ? (unsigned char)bytes.at[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            buf_add_char(out, i + j <= bytes.size ? digits[group >> (18 - 6 * j) & 63] : '=');
    }
}

const char *base64_of(struct arena *arena, struct bytes bytes)
{
    auto_buf struct buf text = {0};
    base64_add(&text, bytes);
    return arena_copy(arena, text.bytes, text.size);
}

/* The number of padding characters at the end: 0, 1 or 2. */
static size_t padding_of(struct bytes text)
{
    size_t count = 0;
    while (count < 2 && count < text.size && text.at[text.size - 1 - count] == '=')
        count++;
    return count;
}

bool base64_decode(struct buf *out, struct bytes text)
{
    size_t before = out->size, padding = padding_of(text), sized = text.size - padding;
    uint32_t group = 0;
    if (text.size % 4)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        const char *digit = i < sized && text.at[i] ? strchr(digits, text.at[i]) : NULL;
        if (i < sized && !digit) {
            out->size = before;
            return false;
        }
        group = group << 6 | (digit ? (uint32_t)(digit - digits) : 0);
        size_t wanted = i + 1 == text.size ? 3 - padding : 3;
        for (size_t j = 0; i % 4 == 3 && j < wanted; j++)
            buf_add_char(out, (char)(group >> (16 - 8 * j) & 255));
    }
    /* The unused bits of the last digit are zero: there is one spelling only. */
    uint32_t unused = padding == 2 ? 0xffffU : padding == 1 ? 0xffU : 0;
    if (group & unused & 0xffffff)
        out->size = before;
    return !(group & unused & 0xffffff);
}
