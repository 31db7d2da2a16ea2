#include "home/sift_parts.h"

#include <string.h>

#include "base/pattern.h"

bool sift_is_listed(const char *const *list, struct bytes name)
{
    for (; *list; list++) {
        if (pattern_matches_name(*list, name.at, name.size))
            return true;
    }
    return false;
}

bool sift_is_plain_name(struct bytes name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:\"";
    for (size_t i = 0; i < name.size; i++) {
        bool is_scope = name.at[i] == '@' && (i == 0 || (i == 1 && *name.at == '"'));
        if (!strchr(plain, name.at[i]) && !is_scope)
            return false;
    }
    return true;
}

struct bytes sift_trim(struct bytes text)
{
    while (text.size && strchr(" \t\r\n", *text.at)) {
        text.at++;
        text.size--;
    }
    while (text.size && strchr(" \t\r\n", text.at[text.size - 1]))
        text.size--;
    return text;
}

size_t sift_size_up_to(struct bytes text, size_t at, const char *ends)
{
    size_t size = 0;
    while (at + size < text.size && !strchr(ends, text.at[at + size]))
        size++;
    return size;
}

static const char host_ends[] = "/ \t\"'<>?#";

/* Skips user name and password, up to the last @ before the path: a password may contain an @. */
static size_t host_of_url(struct bytes value, size_t begin)
{
    size_t host = begin;
    for (size_t end = begin; end < value.size && !strchr(host_ends, value.at[end]); end++)
        host = value.at[end] == '@' ? end + 1 : host;
    return host;
}

static bool begins_host(struct bytes value, size_t at)
{
    return at >= 3 && memcmp(value.at + at - 3, "://", 3) == 0;
}

/* A host, and a port of digits: anything else after a colon is a password. */
static bool is_host(struct bytes host)
{
    size_t colon = sift_size_up_to(host, 0, ":");
    if (host.size && *host.at == '[')
        return true;
    for (size_t i = colon + 1; i < host.size; i++) {
        if (!strchr("0123456789", host.at[i]))
            return false;
    }
    return true;
}

bool sift_is_understood(struct bytes value)
{
    bool in_path = false;
    for (size_t i = 0; i < value.size; i++) {
        if (begins_host(value, i)) {
            struct bytes host = {value.at + host_of_url(value, i), 0};
            host.size = sift_size_up_to(value, (size_t)(host.at - value.at), host_ends);
            i = (size_t)(host.at - value.at) + host.size;
            in_path = i < value.size && value.at[i] == '/';
            if (!is_host(host))
                return false;
        }
        in_path = in_path && i < value.size && !strchr(" \t\"'<>", value.at[i]);
        if (i < value.size && value.at[i] == '@' && !in_path)
            return false;
    }
    return true;
}

void sift_add_value(struct buf *out, struct bytes value)
{
    bool in_url = false;
    for (size_t i = 0; i < value.size; i++) {
        if (begins_host(value, i)) {
            i = host_of_url(value, i);
            in_url = true;
        }
        if (in_url && i < value.size && strchr("?#", value.at[i]))
            i += sift_size_up_to(value, i, " \t\"'<>");
        in_url = in_url && i < value.size && !strchr(" \t\"'<>", value.at[i]);
        if (i < value.size)
            buf_add_char(out, value.at[i]);
    }
}
