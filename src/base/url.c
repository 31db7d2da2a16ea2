#include "base/url.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char scheme[] = "https://";

/* No quotes, brackets, dollars or backslashes, which some program on the way might take for more than a character. */
static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte && strchr("-._~/?#&=%:+,;@!*", byte));
}

static bool is_of_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '.' || byte == '-';
}

size_t url_span(const char *text, size_t size)
{
    size_t span = 0;
    while (span < size && is_plain(text[span]))
        span++;
    return span;
}

/* One character of a query at *at, which is moved behind it; -1 where it is none. */
static int take_decoded(const char *text, size_t size, size_t *at)
{
    if (*at >= size || text[*at] == '&' || text[*at] == '#')
        return -1;
    if (text[*at] != '%')
        return (unsigned char)text[(*at)++];
    int high = *at + 2 < size ? text_hex_digit(text[*at + 1]) : -1;
    int low = *at + 2 < size ? text_hex_digit(text[*at + 2]) : -1;
    *at += 3;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* "http://localhost:1455/…" or "http://127.0.0.1:1455/…", percent-encoded: its port, or 0. */
static uint16_t port_of_loopback(const char *value, size_t size)
{
    static const char *const starts[] = {"http://localhost:", "http://127.0.0.1:"};
    enum { UNPRIVILEGED = 1024, LARGEST = 65535, DIGITS_MOST = 5 };
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        size_t at = 0, matched = 0;
        while (starts[i][matched] && take_decoded(value, size, &at) == starts[i][matched])
            matched++;
        if (starts[i][matched])
            continue;
        unsigned port = 0, digits = 0;
        int byte = take_decoded(value, size, &at);
        for (; byte >= '0' && byte <= '9' && digits < DIGITS_MOST; digits++) {
            port = port * 10 + (unsigned)(byte - '0');
            byte = take_decoded(value, size, &at);
        }
        bool is_end = byte == '/' || byte == -1;
        return is_end && port >= UNPRIVILEGED && port <= LARGEST ? (uint16_t)port : 0;
    }
    return 0;
}

/* The answer's port, where the query names one redirect_uri and no second. */
static uint16_t find_answer_port(const char *text, size_t size)
{
    static const char name[] = "redirect_uri=";
    const char *query = memchr(text, '?', size);
    uint16_t port = 0;
    unsigned count = 0;
    for (const char *at = query; at;) {
        size_t left = size - (size_t)(++at - text);
        if (left > strlen(name) && memcmp(at, name, strlen(name)) == 0) {
            port = port_of_loopback(at + strlen(name), left - strlen(name));
            count++;
        }
        at = memchr(at, '&', left);
    }
    return count == 1 ? port : 0;
}

bool url_parse(const char *text, size_t size, struct url *ret_url)
{
    size_t start = strlen(scheme), end = start;
    if (size > URL_LONGEST || size <= start || memcmp(text, scheme, start) != 0 ||
        url_span(text, size) != size)
        return false;
    while (end < size && is_of_name(text[end]))
        end++;
    bool is_whole = end == size || text[end] == '/' || text[end] == '?';
    if (!is_whole || end == start)
        return false;
    *ret_url = (struct url){text + start, end - start, find_answer_port(text, size)};
    return true;
}

bool url_has_host(const struct url *url, const char *host)
{
    return strlen(host) == url->host_size && strncasecmp(url->host, host, url->host_size) == 0;
}
