#include "web/html.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

/* One conversion, from behind its percent sign on. Returns where the literal goes on. */
static const char *add_value(struct html *page, const char *at, va_list *values)
{
    if (*at == 's') {
        text_add_html(&page->out, va_arg(*values, const char *));
        return at + 1;
    }
    if (strncmp(at, "zu", 2) == 0) {
        buf_printf(&page->out, "%zu", va_arg(*values, size_t));
        return at + 2;
    }
    if (strncmp(at, "llu", 3) == 0) {
        buf_printf(&page->out, "%llu", va_arg(*values, unsigned long long));
        return at + 3;
    }
    const char letter[] = {*at == 'c' ? (char)va_arg(*values, int) : '%', '\0'};
    text_add_html(&page->out, letter);
    return at + 1;
}

void html_format(struct html *page, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    while (*format) {
        size_t plain = strcspn(format, "%");
        buf_add(&page->out, format, plain);
        format += plain;
        if (*format)
            format = add_value(page, format + 1, &values);
    }
    va_end(values);
}

void html_add_bytes(struct html *page, const char *bytes, size_t size)
{
    auto_buf struct buf printable = {0};
    for (size_t at = 0; at < size;) {
        const char *tab = memchr(bytes + at, '\t', size - at);
        size_t part = tab ? (size_t)(tab - bytes) - at : size - at;
        text_add_printable(&printable, bytes + at, part);
        if (tab)
            buf_add_char(&printable, '\t');
        at += part + (tab != NULL);
    }
    text_add_html_as_is(&page->out, buf_text(&printable));
}

size_t html_piece(const char *bytes, size_t size, size_t most)
{
    enum { LETTER_LONGEST = 4 };
    if (size <= most)
        return size;
    for (size_t back = 0; back < LETTER_LONGEST && back < most; back++) {
        if (((unsigned char)bytes[most - back] & 0xC0) != 0x80)
            return most - back;
    }
    return most;
}

const char *url_part(struct arena *arena, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    auto_buf struct buf out = {0};
    for (; *text; text++) {
        if (strchr(plain, *text))
            buf_add_char(&out, *text);
        else
            buf_printf(&out, "%%%02X", (unsigned char)*text);
    }
    return arena_copy(arena, buf_text(&out), out.size);
}

void html_join(struct html *page, const struct html *part)
{
    buf_add(&page->out, buf_text(&part->out), part->out.size);
}

void html_free(struct html *page)
{
    buf_free(&page->out);
}
