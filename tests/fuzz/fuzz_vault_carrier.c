/*
 * The first line is a secret, the second a request's target, the rest is content, or what a command prints. Wherever PLACEHOLDER becomes the
 * secret, nothing around it changes its meaning: no parameter, segment, string or line is added. However content is cut, it comes out the same.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vault/carrier.h"
#include "vault/credential.h"
#include "vault/swap.h"

static const struct bytes placeholder = {"PLACEHOLDER", 11};

static size_t count(struct bytes text, const char *marks)
{
    size_t found = 0;
    for (size_t i = 0; i < text.size; i++)
        found += text.at[i] && strchr(marks, text.at[i]);
    return found;
}

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static bool is_visible(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!isgraph((unsigned char)text.at[i]))
            return false;
    }
    return true;
}

static void aim(enum carrier kind, struct bytes value, struct bytes target)
{
    auto_buf struct buf written = {0}, out = {0};
    const struct secret_carrier carrier = {kind, kind == CARRIER_QUERY ? "key" : NULL};
    bool is_path = kind == CARRIER_PATH;
    if (!carrier_write(is_path ? WRITING_PATH : WRITING_PERCENT, value, &written)) {
        check(written.size == 0);
        return;
    }
    bool is_swapped =
        carrier_swap_target(&carrier, target, placeholder, bytes_of(written.bytes, written.size), &out);
    struct bytes swapped = bytes_of(out.bytes, out.size);
    check(is_swapped || out.size == 0);
    if (!is_swapped)
        return;
    check(count(swapped, "/?#&;=\\") == count(target, "/?#&;=\\"));
    check(is_visible(swapped) || !is_visible(target));
    check(!is_path || !memmem(written.bytes, written.size, "%2F", 3));
}

static void fill(enum writing writing, struct bytes value, struct bytes content)
{
    auto_buf struct buf written = {0}, whole = {0};
    if (!carrier_write(writing, value, &written))
        return;
    struct patterns patterns = {0};
    check(patterns_exchange(&patterns, placeholder, bytes_of(written.bytes, written.size)));
    for (size_t piece = 0; piece < 14; piece++) {
        auto_buf struct buf out = {0};
        struct scrub scrub = {.patterns = &patterns};
        size_t step = piece ? piece : content.size + 1;
        for (size_t at = 0; at < content.size; at += step)
            scrub_take(&scrub, bytes_of(content.at + at, content.size - at < step ? content.size - at : step),
                       &out);
        scrub_end(&scrub, &out);
        scrub_free(&scrub);
        if (!piece) {
            whole = out;
            out = (struct buf){0};
            continue;
        }
        check(out.size == whole.size && (!out.size || memcmp(out.bytes, whole.bytes, out.size) == 0));
    }
    /* In a string of JSON, each quote of the value has a backslash before it that has none itself. */
    for (size_t i = 0; writing == WRITING_JSON && i < written.size; i++) {
        check(written.bytes[i] != '"');
        if (written.bytes[i] == '\\')
            check(++i < written.size);
    }
}

static void issue(struct bytes text)
{
    enum { NOW = 1000 };
    struct credential credential;
    if (credential_read(text, NOW, &credential) != CREDENTIAL_READ)
        return;
    check(!credential.expires || credential.expires > NOW);
    check(!credential.value.size || (credential.value.at >= text.at &&
                                     credential.value.at + credential.value.size <= text.at + text.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size), value, target;
    issue(text);
    if (!bytes_take_line(&text, &value) || !bytes_take_line(&text, &target))
        return 0;
    if (!memmem(value.at, value.size, placeholder.at, placeholder.size)) {
        aim(CARRIER_QUERY, value, target);
        aim(CARRIER_PATH, value, target);
    }
    static const enum writing writings[] = {WRITING_PERCENT, WRITING_PATH, WRITING_JSON, WRITING_PLAIN};
    for (size_t i = 0; i < array_len(writings); i++)
        fill(writings[i], value, text);
    issue(text);
    return 0;
}
