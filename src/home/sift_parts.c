#include "home/sift_parts.h"

#include <string.h>

#include "base/pattern.h"

bool sift_is_listed(const char *const *list, struct span name)
{
    for (; *list; list++) {
        if (pattern_matches_name(*list, name.at, name.size))
            return true;
    }
    return false;
}

bool sift_is_plain_name(struct span name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:\"";
    for (size_t i = 0; i < name.size; i++) {
        bool is_scope = name.at[i] == '@' && (i == 0 || (i == 1 && *name.at == '"'));
        if (!strchr(plain, name.at[i]) && !is_scope)
            return false;
    }
    return true;
}

struct span sift_trim(struct span span)
{
    while (span.size && strchr(" \t\r\n", *span.at)) {
        span.at++;
        span.size--;
    }
    while (span.size && strchr(" \t\r\n", span.at[span.size - 1]))
        span.size--;
    return span;
}

size_t sift_size_up_to(struct span text, size_t at, const char *ends)
{
    size_t size = 0;
    while (at + size < text.size && !strchr(ends, text.at[at + size]))
        size++;
    return size;
}

void sift_add_value(struct buf *out, struct span value)
{
    bool in_url = false;
    for (size_t i = 0; i < value.size; i++) {
        if (i >= 3 && memcmp(value.at + i - 3, "://", 3) == 0) {
            size_t host = i;
            /* Up to the last @ before the path: a password may hold one itself. */
            for (size_t end = i; end < value.size && !strchr("/ \t\"'<>?#", value.at[end]); end++)
                host = value.at[end] == '@' ? end + 1 : host;
            i = host;
            in_url = true;
        }
        if (in_url && i < value.size && strchr("?#", value.at[i]))
            i += sift_size_up_to(value, i, " \t\"'<>");
        in_url = in_url && i < value.size && !strchr(" \t\"'<>", value.at[i]);
        if (i < value.size)
            buf_add_char(out, value.at[i]);
    }
}

bool sift_next_line(struct span *text, struct span *ret_line)
{
    if (!text->size)
        return false;
    const char *end = memchr(text->at, '\n', text->size);
    size_t size = end ? (size_t)(end - text->at) : text->size;
    *ret_line = (struct span){text->at, size};
    text->at += size + (end ? 1 : 0);
    text->size -= size + (end ? 1 : 0);
    return true;
}
