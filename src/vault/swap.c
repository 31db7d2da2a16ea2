#include "vault/swap.h"

#include <string.h>

#include "base/base64.h"
#include "base/token.h"
#include "vault/head.h"

bool secret_is_usable(struct bytes value)
{
    for (size_t i = 0; i < value.size; i++) {
        if (value.at[i] <= ' ' || value.at[i] >= 0x7f)
            return false;
    }
    return value.size >= SECRET_SHORTEST && value.size <= SECRET_LONGEST;
}

/* "USER:PASSWORD" in base64, of which one is the placeholder. */
static bool swap_basic(struct bytes encoded, struct bytes placeholder, struct bytes secret, struct buf *out)
{
    auto_buf struct buf plain = {0}, swapped = {0};
    if (!base64_decode(&plain, encoded))
        return false;
    const char *colon = plain.size ? memchr(plain.bytes, ':', plain.size) : NULL;
    if (!colon)
        return false;
    struct bytes user = bytes_of(plain.bytes, (size_t)(colon - plain.bytes));
    struct bytes password = bytes_of(colon + 1, plain.size - user.size - 1);
    bool is_user = bytes_equal(user, placeholder), is_password = bytes_equal(password, placeholder);
    if (is_user)
        user = secret;
    if (is_password)
        password = secret;
    if (!is_user && !is_password)
        return false;
    buf_add(&swapped, user.at, user.size);
    buf_add_char(&swapped, ':');
    buf_add(&swapped, password.at, password.size);
    base64_add(out, bytes_of(swapped.bytes, swapped.size));
    explicit_bzero(swapped.bytes, swapped.size);
    return true;
}

bool swap_value(struct bytes value, struct bytes placeholder, struct bytes secret, struct buf *out)
{
    const char *space = value.size ? memchr(value.at, ' ', value.size) : NULL;
    struct bytes scheme = bytes_of(value.at, space ? (size_t)(space - value.at) : 0);
    struct bytes word = space ? bytes_after(value, scheme.size + 1) : value;
    bool is_word = token_stands_for(word, placeholder);
    auto_buf struct buf swapped = {0};
    if (!is_word && !(bytes_are(scheme, "basic") && swap_basic(word, placeholder, secret, &swapped)))
        return false;
    if (is_word)
        buf_add(&swapped, secret.at, secret.size);
    buf_add(out, value.at, (size_t)(word.at - value.at));
    buf_add(out, swapped.bytes, swapped.size);
    explicit_bzero(swapped.bytes, swapped.size);
    return true;
}

bool patterns_have(const struct patterns *patterns, struct bytes from)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (bytes_equal(patterns->at[i].from, from))
            return true;
    }
    return false;
}

bool patterns_set(struct patterns *patterns, struct arena *arena, int *slot, struct bytes from,
                  struct bytes to)
{
    enum { FILLING = 'x' };
    if (from.size == 0 || (*slot < 0 && patterns->count == SCRUB_MOST_PATTERNS))
        return false;
    if (*slot < 0)
        *slot = (int)patterns->count++;
    char *text = arena_room(arena, from.size);
    memset(text, FILLING, from.size);
    memcpy(text, to.at, to.size < from.size ? to.size : from.size);
    patterns->at[*slot] = (struct pattern_pair){from, bytes_of(text, from.size)};
    patterns->begins[(unsigned char)*from.at] = true;
    return true;
}

bool patterns_exchange(struct patterns *patterns, struct bytes from, struct bytes to)
{
    if (from.size == 0 || patterns->count == SCRUB_MOST_PATTERNS)
        return false;
    patterns->at[patterns->count++] = (struct pattern_pair){from, to};
    patterns->begins[(unsigned char)*from.at] = true;
    return true;
}

bool patterns_add(struct patterns *patterns, struct arena *arena, struct bytes from, struct bytes to)
{
    int slot = -1;
    return patterns_have(patterns, from) || patterns_set(patterns, arena, &slot, from, to);
}

/* The longest pattern that begins here; NULL: none. *ret_is_open: the bytes end in the middle of one. */
static const struct pattern_pair *match(const struct patterns *patterns, struct bytes here, bool *ret_is_open)
{
    const struct pattern_pair *longest = NULL;
    *ret_is_open = false;
    for (size_t i = 0; i < patterns->count; i++) {
        const struct pattern_pair *pattern = &patterns->at[i];
        size_t known = here.size < pattern->from.size ? here.size : pattern->from.size;
        if (memcmp(here.at, pattern->from.at, known) != 0)
            continue;
        if (known < pattern->from.size)
            *ret_is_open = true;
        else if (!longest || pattern->from.size > longest->from.size)
            longest = pattern;
    }
    return longest;
}

/* Passes bytes on until one is open, or to the end. Returns how many it took. */
static size_t scan(struct scrub *scrub, struct bytes bytes, bool is_end, struct buf *out)
{
    size_t at = 0;
    while (at < bytes.size) {
        size_t plain = at;
        while (at < bytes.size && !scrub->patterns->begins[(unsigned char)bytes.at[at]])
            at++;
        buf_add(out, bytes.at + plain, at - plain);
        if (at == bytes.size)
            break;
        bool is_open;
        const struct pattern_pair *found = match(scrub->patterns, bytes_after(bytes, at), &is_open);
        if (is_open && !is_end)
            break;
        if (found)
            scrub->found = found->from;
        buf_add(out, found ? found->to.at : bytes.at + at, found ? found->to.size : 1);
        at += found ? found->from.size : 1;
    }
    return at;
}

void scrub_take(struct scrub *scrub, struct bytes bytes, struct buf *out)
{
    struct buf *held = &scrub->held;
    if (held->size) {
        buf_add(held, bytes.at, bytes.size);
        size_t taken = scan(scrub, bytes_of(held->bytes, held->size), false, out);
        memmove(held->bytes, held->bytes + taken, held->size - taken);
        held->size -= taken;
        return;
    }
    size_t taken = scan(scrub, bytes, false, out);
    if (taken < bytes.size)
        buf_add(held, bytes.at + taken, bytes.size - taken);
}

void scrub_end(struct scrub *scrub, struct buf *out)
{
    scan(scrub, bytes_of(scrub->held.bytes, scrub->held.size), true, out);
    scrub->held.size = 0;
}

void scrub_free(struct scrub *scrub)
{
    if (scrub->held.bytes)
        explicit_bzero(scrub->held.bytes, scrub->held.capacity);
    buf_free(&scrub->held);
}
