#include "egress/proxy.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/text.h"
#include "policy/host.h"

/* Decodes %40 and the like, in place. */
static size_t decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (at[0] == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
            char code[3] = {at[1], at[2], '\0'};
            *to++ = (char)strtoul(code, NULL, 16);
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    return (size_t)(to - text);
}

int proxy_parse(struct arena *arena, const char *url, struct proxy *proxy, struct err *err)
{
    enum { DEFAULT_PORT = 3128 };
    const char *scheme_end = strstr(url, "://");
    const char *rest = scheme_end ? scheme_end + 3 : url;
    if (scheme_end && strncasecmp(url, "http://", 7) != 0)
        return err_set(
            err,
            "the proxy's address does not begin with http://, the only protocol that bawn supports for proxies");
    char *authority = arena_copy(arena, rest, strcspn(rest, "/"));
    char *at = strrchr(authority, '@'), *host = at ? at + 1 : authority;
    struct host_object parsed;
    const char *problem = NULL, *hint = NULL;
    if (host_parse(arena, host, &parsed, &problem, &hint) < 0)
        /* The text is not shown: it may contain a part of the password. */
        return err_set(
            err, "the proxy's address cannot be read, %s (in a password, write %%2F for / and %%40 for @)",
            problem);
    if (at) {
        *at = '\0';
        size_t size = decode(authority);
        proxy->authorization = base64_of(arena, bytes_of(authority, size));
    }
    proxy->host = host_text(arena, &parsed);
    proxy->port = parsed.port ? parsed.port : DEFAULT_PORT;
    return 0;
}

/* Reads NO_PROXY as most programs do: "*", or names that include all names below them, with or without a leading dot and a port. */
bool proxy_is_excepted(const struct proxy *proxy, const char *host, uint16_t port)
{
    size_t host_size = strlen(host);
    for (const char *at = proxy->exceptions; at && *at;) {
        size_t size = strcspn(at, ", ");
        const char *entry = at, *colon = memchr(at, ':', size);
        at += size + (at[size] != '\0');
        uint16_t only = 0;
        if (colon && !memchr(colon + 1, ':', size - (size_t)(colon + 1 - entry))) {
            char digits[8] = "";
            size_t count = size - (size_t)(colon + 1 - entry);
            memcpy(digits, colon + 1, count < sizeof(digits) ? count : 0);
            if (!port_parse(digits, &only) || only != port)
                continue;
            size = (size_t)(colon - entry);
        }
        if (size == 1 && *entry == '*')
            return true;
        if (size > 1 && entry[0] == '*' && entry[1] == '.') {
            entry++;
            size--;
        }
        bool is_dotted = size && *entry == '.';
        if (is_dotted) {
            entry++;
            size--;
        }
        if (size == 0 || size > host_size || strncasecmp(host + host_size - size, entry, size) != 0)
            continue;
        if (host_size == size || host[host_size - size - 1] == '.')
            return true;
    }
    return false;
}

void proxy_add_request(const struct proxy *proxy, const char *host, uint16_t port, struct buf *out)
{
    const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";
    buf_printf(out, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n", open, host, close, port, open, host,
               close, port);
    if (proxy->authorization)
        buf_printf(out, "Proxy-Authorization: Basic %s\r\n", proxy->authorization);
    buf_add_str(out, "\r\n");
}

/* Does the status line, as far as it has come, report success? */
static bool agrees(const char *bytes, size_t size)
{
    static const char pattern[] = "HTTP/1.# 2##"; /* #: a digit */
    for (size_t i = 0; i < size && pattern[i]; i++) {
        if (pattern[i] == '#' ? !isdigit((unsigned char)bytes[i]) : bytes[i] != pattern[i])
            return false;
    }
    return size < sizeof(pattern) || bytes[sizeof(pattern) - 1] == ' ' || bytes[sizeof(pattern) - 1] == '\r';
}

static bool has_plain_feed(const char *bytes, size_t size)
{
    for (const char *at = bytes; (at = memchr(at, '\n', size - (size_t)(at - bytes))); at++) {
        if (at == bytes || at[-1] != '\r')
            return true;
    }
    return false;
}

ptrdiff_t proxy_read_answer(const char *bytes, size_t size)
{
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    size_t head = end ? (size_t)(end - bytes) + 4 : size;
    if (!agrees(bytes, head) || has_plain_feed(bytes, head))
        return -1;
    if (!end)
        return size >= PROXY_LARGEST_ANSWER ? -1 : 0;
    return (ptrdiff_t)head;
}
