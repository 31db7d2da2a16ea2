/*
 * Any bytes as the values of two secret variables, a line each, and a text: what is written down of the text has neither value
 * in it, no user or password before a host, and nothing of what `password=` introduces.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "journal/journal.h"

enum { CHECKED = 16 }; /* longer than the beginnings of makers' keys, which stay */

static const char *take_variable(struct arena *arena, const char *name, const char **at, const char *end)
{
    const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
    size_t size = (size_t)((line_end ? line_end : end) - *at);
    const char *variable = arena_printf(arena, "%s=%.*s", name, (int)size, *at);
    *at += size + (line_end != NULL);
    return variable;
}

/* Was it left out, which stands in the text just once? With brackets in it, it could come about anew. */
static void check_left_out(struct arena *arena, const char *secret, size_t size, const char *text,
                           const char *out)
{
    const char *copy = arena_copy(arena, secret, size), *first = strstr(text, copy);
    if (size >= CHECKED && !strpbrk(copy, "[]") && first && !strstr(first + 1, copy) && strstr(out, copy))
        abort();
}

static void check_values(struct arena *arena, const struct secrets *secrets, const char *text,
                         const char *out)
{
    for (size_t i = 0; i < secrets->known.count; i++)
        check_left_out(arena, secrets->known.at[i].value, secrets->known.at[i].size, text, out);
}

static void check_addresses(struct arena *arena, const char *text, const char *out)
{
    for (const char *at = text; (at = strstr(at, "://"));) {
        at += strlen("://");
        size_t size = strcspn(at, "@/?# \t\n\"'");
        if (at[size] == '@')
            check_left_out(arena, at, size, text, out);
    }
}

static void check_passwords(struct arena *arena, const char *text, const char *out)
{
    for (const char *at = text; (at = strstr(at, "password="));) {
        at += strlen("password=");
        if (isalnum((unsigned char)*at))
            check_left_out(arena, at, strcspn(at, " \t\n\"'&,;)}"), text, out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LONGEST = 65536 };
    struct arena arena = {0};
    const char *at = (const char *)bytes, *end = at + size;
    if (size == 0 || size > LONGEST)
        return 0;
    const char *environment[3] = {0};
    environment[0] = take_variable(&arena, "A_TOKEN", &at, end);
    environment[1] = take_variable(&arena, "B_PASSWORD", &at, end);
    size_t text_size = strnlen(at, (size_t)(end - at)); /* as the journal has it: up to a NUL */
    struct secrets secrets;
    secrets_find(&arena, environment, &secrets);
    auto_buf struct buf out = {0};
    const char *text = arena_copy(&arena, at, text_size);
    redact_add(&out, &secrets, text, text_size);
    check_values(&arena, &secrets, text, buf_text(&out));
    check_addresses(&arena, text, buf_text(&out));
    check_passwords(&arena, text, buf_text(&out));
    secrets_free(&secrets);
    arena_free(&arena);
    return 0;
}
