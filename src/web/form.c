#include <string.h>

#include "base/text.h"
#include "web/visit.h"

/* One name or value. Returns NULL where it is wrong: half a %XX, or a NUL. */
static const char *decode(struct arena *arena, const char *text, size_t size)
{
    char *out = arena_room(arena, size + 1);
    size_t filled = 0;
    for (size_t i = 0; i < size; i++) {
        char byte = text[i] == '+' ? ' ' : text[i];
        if (byte == '%') {
            int high = size - i > 2 ? text_hex_digit(text[i + 1]) : -1;
            int low = size - i > 2 ? text_hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return NULL;
            byte = (char)(high * 16 + low);
            i += 2;
        }
        if (!byte)
            return NULL;
        out[filled++] = byte;
    }
    out[filled] = '\0';
    return out;
}

bool form_parse(struct arena *arena, const char *text, size_t size, form_list *ret_fields)
{
    enum { MOST_FIELDS = 20000 };
    const char *end = text + size;
    while (text < end) {
        const char *stop = memchr(text, '&', (size_t)(end - text));
        stop = stop ? stop : end;
        const char *equals = memchr(text, '=', (size_t)(stop - text));
        if (!equals || ret_fields->count == MOST_FIELDS)
            return false;
        struct form_field field = {decode(arena, text, (size_t)(equals - text)),
                                   decode(arena, equals + 1, (size_t)(stop - equals - 1))};
        if (!field.name || !field.value)
            return false;
        vec_push(ret_fields, field);
        text = stop + (stop < end);
    }
    return true;
}
