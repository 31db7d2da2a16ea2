#include "egress/http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/method.h"
#include "base/text.h"

/* The parts of a head that tell the host, the size of the body, and an upgrade. */
struct head {
    unsigned hosts, lengths, encodings, upgrades;
    uint64_t length;
    bool is_old /* HTTP/1.0 */, is_foreign /* of another version, or it asks for a tunnel */;
    bool host_is_right, wants_websocket, is_coded, expects;
    bool may_be_unread; /* its content, as the next request: some servers ignore the content of this method */
};

static size_t token_size(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && (isalnum((unsigned char)text[at]) || memchr("!#$%&'*+-.^_`|~", text[at], 15)))
        at++;
    return at;
}

static bool is_token(const char *text, size_t size)
{
    return size > 0 && token_size(text, size) == size;
}

static bool is_host(const char *text, size_t size, const char *host, uint16_t port)
{
    if (!host)
        return true;
    size_t length = strlen(host);
    if (size < length || strncasecmp(text, host, length) != 0)
        return false;
    char with_port[8];
    int digits = snprintf(with_port, sizeof(with_port), ":%u", port);
    size_t rest = size - length;
    return rest == 0 || (rest == (size_t)digits && memcmp(text + length, with_port, rest) == 0);
}

/* "GET /path HTTP/1.1", or version 1.0. A target that is a URL must name the same host. */
static const char *read_request_line(const char *line, size_t size, const char *host, uint16_t port,
                                     struct head *head)
{
    const char *end = line + size, *space = memchr(line, ' ', size);
    if (!space || !is_token(line, (size_t)(space - line)))
        return "the request line is malformed";
    head->is_foreign = space - line == 7 && memcmp(line, "CONNECT", 7) == 0;
    if (head->is_foreign)
        return "CONNECT asks for another connection";
    head->may_be_unread = !method_has_content(bytes_of(line, (size_t)(space - line)));
    const char *target = space + 1, *last = memrchr(target, ' ', (size_t)(end - target));
    head->is_foreign =
        !last || end - last != 9 || (memcmp(last, " HTTP/1.1", 9) != 0 && memcmp(last, " HTTP/1.0", 9) != 0);
    if (head->is_foreign)
        return "the request is not HTTP/1.1";
    head->is_old = last[8] == '0';
    size_t target_size = (size_t)(last - target);
    if (target_size == 0 || memchr(target, ' ', target_size))
        return "the request line is malformed";
    if (memchr(target, '#', target_size))
        return "the request's target has a fragment, which is never sent";
    if (*target == '/' || (target_size == 1 && *target == '*'))
        return NULL;
    if (target_size < 7 || strncasecmp(target, "http://", 7) != 0)
        return "the request's target is neither a path nor a URL";
    const char *authority = target + 7, *slash = memchr(authority, '/', target_size - 7);
    size_t authority_size = slash ? (size_t)(slash - authority) : target_size - 7;
    return is_host(authority, authority_size, host, port) ? NULL : "the request is for another host";
}

static bool is_field(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(name, wanted, size) == 0;
}

static bool read_length(const char *digits, size_t size, uint64_t *ret_length)
{
    uint64_t length = 0;
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)digits[i]))
            return false;
        length = length * 10 + (uint64_t)(digits[i] - '0');
    }
    *ret_length = length;
    return size > 0 && size <= 18;
}

static const char *read_field(const char *line, size_t size, const char *host, uint16_t port,
                              struct head *head)
{
    const char *colon = memchr(line, ':', size);
    if (!colon || !is_token(line, (size_t)(colon - line)))
        return "a header line is malformed";
    size_t name_size = (size_t)(colon - line);
    const char *value = colon + 1, *end = line + size;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t value_size = (size_t)(end - value);
    if (is_field(line, name_size, "host")) {
        head->hosts++;
        head->host_is_right = is_host(value, value_size, host, port);
    } else if (is_field(line, name_size, "content-length")) {
        head->lengths++;
        if (!read_length(value, value_size, &head->length))
            return "the content's length is not a number";
    } else if (is_field(line, name_size, "transfer-encoding")) {
        head->encodings++;
        if (!is_field(value, value_size, "chunked"))
            return "the transfer encoding is not plain chunked";
    } else if (is_field(line, name_size, "upgrade")) {
        head->upgrades++;
        head->wants_websocket |= is_field(value, value_size, "websocket");
    } else if (is_field(line, name_size, "content-encoding")) {
        head->is_coded |= !is_field(value, value_size, "identity");
    } else if (is_field(line, name_size, "expect")) {
        head->expects = true;
    }
    return NULL;
}

/* Lines end in CR LF. A line with another CR, LF or NUL is refused. */
static const char *next_line(const char **at, const char *end, size_t *ret_size)
{
    const char *line = *at, *feed = memchr(line, '\n', (size_t)(end - line));
    if (!feed || feed == line || feed[-1] != '\r')
        return NULL;
    *ret_size = (size_t)(feed - line) - 1;
    *at = feed + 1;
    return memchr(line, '\r', *ret_size) || memchr(line, '\0', *ret_size) ? NULL : line;
}

static const char *read_head(const struct buf *text, const char *host, uint16_t port, struct head *head)
{
    const char *at = text->bytes, *end = text->bytes + text->size;
    size_t size = 0;
    const char *line = next_line(&at, end, &size);
    const char *problem =
        line ? read_request_line(line, size, host, port, head) : "the request line is malformed";
    while (!problem && at < end) {
        line = next_line(&at, end, &size);
        if (!line || (size && (*line == ' ' || *line == '\t')))
            return "a header line is malformed";
        if (size == 0)
            break;
        problem = read_field(line, size, host, port, head);
    }
    if (problem)
        return problem;
    if (host && (head->hosts != 1 || !head->host_is_right))
        return "the request is for another host";
    if (head->lengths > 1 || head->encodings > 1 || (head->lengths && head->encodings))
        return "the content's length is given twice";
    if (head->is_old && head->encodings)
        return "HTTP/1.0 has no chunks";
    /* The server may choose any of them, and after a change to websocket the bytes are no longer checked. */
    if (head->wants_websocket && head->upgrades > 1)
        return "it asks for two changes of protocol";
    return NULL;
}

static const char has_leak[] = "a secret from outside is in the request";

static void pass_line(struct http *http, struct buf *out)
{
    search_pass(http->search,
                bytes_of(http->line.bytes + http->line_passed, http->line.size - http->line_passed), out);
    http->line_passed = http->line.size;
}

/* A head that passes. A server that was asked whether it wants the content must get the head before. */
static void begin_content(struct http *http, const struct head *head, struct buf *out)
{
    if (!http->search)
        return;
    search_head(http->search, bytes_of(http->line.bytes, http->line.size));
    if (head->expects && !search_has_stopped(http->search))
        pass_line(http, out);
    bool has_content = head->length || head->encodings;
    http->search->is_searched = has_content && !head->is_coded;
}

/*
 * A server that ignores the content reads it as the next request, which nobody has checked. So it is told to close the connection after this one:
 * every other line about the connection goes.
 */
static void ask_to_close(struct buf *text)
{
    static const char close[] = "Connection: close\r\n\r\n";
    auto_buf struct buf asked = {0};
    const char *at = text->bytes, *end = text->bytes + text->size;
    size_t size = 0;
    for (const char *line; (line = next_line(&at, end, &size)) && size;) {
        size_t name = token_size(line, size);
        if (line == text->bytes ||
            !(is_field(line, name, "connection") || is_field(line, name, "keep-alive")))
            buf_add(&asked, line, size + 2);
    }
    buf_add_str(&asked, close);
    buf_free(text);
    *text = asked;
    asked = (struct buf){0};
}

static const char *end_head(struct http *http, const char *host, uint16_t port, struct buf *out)
{
    struct head head = {0};
    const char *problem = read_head(&http->line, host, port, &head);
    if (problem && !host && head.is_foreign && !http->is_first_done) {
        http->state = HTTP_PASSING;
        return NULL;
    }
    if (problem)
        return problem;
    http->left = head.length;
    http->state = head.encodings ? HTTP_CHUNK_SIZE : head.length ? HTTP_BODY : HTTP_HEAD;
    /* The answer to a later request could not be found without parsing all answers before it. */
    if (head.wants_websocket && http->is_first_done)
        return "a change of protocol must be the first request of a connection";
    /* A server that refuses the change would read the following bytes as content. */
    if (head.wants_websocket && (head.length || head.encodings))
        return "a change of protocol is asked for with content";
    if (head.wants_websocket)
        http->state = HTTP_UPGRADING;
    http->is_first_done = true;
    if (head.may_be_unread && host && (head.length || head.encodings))
        ask_to_close(&http->line);
    begin_content(http, &head, out);
    return search_has_stopped(http->search) ? has_leak : NULL;
}

/* A chunk's size in hexadecimal. Chunk extensions, which no client uses, are refused. */
static const char *end_chunk_size(struct http *http)
{
    uint64_t size = 0;
    size_t digits = http->line.size - 2;
    if (http->line.size < 3 || digits > 8 || http->line.bytes[digits] != '\r')
        return "a chunk's size is malformed";
    for (size_t i = 0; i < digits; i++) {
        if (!isxdigit((unsigned char)http->line.bytes[i]))
            return "a chunk's size is malformed";
        int digit = tolower((unsigned char)http->line.bytes[i]);
        size = size << 4 | (uint64_t)(isdigit(digit) ? digit - '0' : digit - 'a' + 10);
    }
    http->left = size;
    http->state = size ? HTTP_CHUNK : HTTP_TRAILER;
    bool is_end = size == 0;
    search_content(http->search, bytes_of("", 0), is_end);
    return search_has_stopped(http->search) ? has_leak : NULL;
}

/* Bytes that a lenient server may treat as a space (RFC 9112, 3). */
static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r' && byte != '\n');
}

static size_t blanks_size(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && is_blank(text[at]))
        at++;
    return at;
}

/* Could a server read this as the beginning of a request line? Some servers skip blanks before it. */
static bool may_become_request(const char *line, size_t size)
{
    size_t before = blanks_size(line, size);
    size_t method = before + token_size(line + before, size - before);
    return method == size || (method > before && is_blank(line[method]));
}

/* A request line without a version is HTTP/0.9. If its target is a URL, it chooses the host. */
static bool is_oldest_with_url(const char *line, size_t size)
{
    size_t at = blanks_size(line, size);
    if (size - at < 4 || memcmp(line + at, "GET", 3) != 0 || !is_blank(line[at + 3]))
        return false;
    at += 3 + blanks_size(line + at + 3, size - at - 3);
    at += token_size(line + at, size - at);
    return size - at > 3 && memcmp(line + at, "://", 3) == 0;
}

static bool names_http(const char *line, size_t size)
{
    static const char version[] = "HTTP/";
    for (size_t at = 1; at + sizeof(version) - 1 <= size; at++) {
        if (is_blank(line[at - 1]) && strncasecmp(line + at, version, sizeof(version) - 1) == 0)
            return true;
    }
    return false;
}

static bool is_first_line(const struct buf *head)
{
    return memchr(head->bytes, '\n', head->size) == head->bytes + head->size - 1;
}

static const char *end_line(struct http *http, const char *host, uint16_t port, struct buf *out,
                            bool *ret_is_whole)
{
    bool is_empty = http->line.size == 2 && memcmp(http->line.bytes, "\r\n", 2) == 0;
    *ret_is_whole = true;
    switch (http->state) {
    case HTTP_CHUNK_SIZE:
        return end_chunk_size(http);
    case HTTP_CHUNK_END:
    case HTTP_TRAILER: /* trailer fields are refused: no client needs them */
        if (!is_empty)
            return "a chunk does not end in CR LF";
        http->state = http->state == HTTP_TRAILER ? HTTP_HEAD : HTTP_CHUNK_SIZE;
        return NULL;
    default:
        if (http->line.size < 2 || http->line.bytes[http->line.size - 2] != '\r')
            return "a line of the request does not end in CR LF";
        *ret_is_whole =
            http->line.size >= 4 && memcmp(http->line.bytes + http->line.size - 4, "\r\n\r\n", 4) == 0;
        if (is_empty)
            return "the request line is malformed";
        if (is_first_line(&http->line) && !names_http(http->line.bytes, http->line.size))
            return "the request is not HTTP/1.1";
        return *ret_is_whole ? end_head(http, host, port, out) : NULL;
    }
}

/* Of an overlong line that may still become a request, only the beginning and the last bytes are kept. */
static void shorten_line(struct http *http)
{
    enum { LAST = 64 };
    char *bytes = http->line.bytes;
    memmove(bytes + HTTP_LARGEST_HEAD, bytes + http->line.size - LAST, LAST);
    http->line.size = http->line_passed = HTTP_LARGEST_HEAD + LAST;
    bytes[http->line.size] = '\0';
}

/* Is it nothing but the first word of a line? */
static bool is_one_word(const char *line, size_t size)
{
    size_t before = blanks_size(line, size);
    return before + token_size(line + before, size - before) == size;
}

/* Decides by the line so far whether the protocol is HTTP. */
static void decide_unknown(struct http *http, const char *host, bool is_whole, struct buf *out)
{
    const char *line = http->line.bytes;
    size_t size = http->line.size;
    bool is_empty = size == strspn(line, "\r\n");
    bool may_be_http = is_empty || may_become_request(line, size);
    bool is_large = size > HTTP_LARGEST_UNKNOWN;
    if (may_be_http && !is_empty && (is_whole || is_large) &&
        (names_http(line, size) || (host && is_oldest_with_url(line, size)))) {
        http->state = HTTP_HEAD;
        return;
    }
    if (search_blocks(http->search) && may_be_http && !is_empty && !is_whole && !is_large &&
        !is_one_word(line, size))
        return;
    pass_line(http, out);
    if (!may_be_http || (is_whole && !is_empty))
        http->state = HTTP_PASSING;
    if (is_whole || http->state == HTTP_PASSING)
        http->line.size = http->line_passed = 0;
    else if (is_large)
        shorten_line(http);
}

/* The next bytes of a body or a chunk. */
static const char *take_content(struct http *http, const char *bytes, size_t size, struct buf *out)
{
    http->left -= size;
    search_content(http->search, bytes_of(bytes, size), http->left == 0 && http->state == HTTP_BODY);
    if (search_has_stopped(http->search))
        return has_leak;
    search_pass(http->search, bytes_of(bytes, size), out);
    if (http->left == 0)
        http->state = http->state == HTTP_BODY ? HTTP_HEAD : HTTP_CHUNK_END;
    if (http->state == HTTP_HEAD)
        search_end(http->search, out);
    return NULL;
}

ptrdiff_t http_take(struct http *http, const char *host, uint16_t port, const char *bytes, size_t size,
                    struct buf *out, const char **ret_problem)
{
    size_t at = 0;
    while (at < size && http->state != HTTP_UPGRADING) {
        if (http->state == HTTP_PASSING) {
            buf_add(out, bytes + at, size - at);
            return (ptrdiff_t)size;
        }
        if (http->state == HTTP_BODY || http->state == HTTP_CHUNK) {
            size_t part = size - at < http->left ? size - at : (size_t)http->left;
            *ret_problem = take_content(http, bytes + at, part, out);
            if (*ret_problem)
                return -1;
            at += part;
            continue;
        }
        const char *feed = memchr(bytes + at, '\n', size - at);
        size_t part = feed ? (size_t)(feed - bytes) + 1 - at : size - at;
        buf_add(&http->line, bytes + at, part);
        at += part;
        if (http->state == HTTP_UNKNOWN)
            decide_unknown(http, host, feed != NULL, out);
        if (http->state == HTTP_UNKNOWN || http->state == HTTP_PASSING)
            continue;
        bool is_whole = false;
        *ret_problem = http->line.size > HTTP_LARGEST_HEAD ? "the request's head is too large"
                       : feed                              ? end_line(http, host, port, out, &is_whole)
                                                           : NULL;
        if (*ret_problem)
            return -1;
        if (is_whole) {
            pass_line(http, out);
            http->line.size = http->line_passed = 0;
            if (http->state == HTTP_HEAD)
                search_end(http->search, out);
        }
    }
    return (ptrdiff_t)at;
}

int http_finish(struct http *http, struct buf *out, const char **ret_problem)
{
    if (!http->search || http->state != HTTP_UNKNOWN || http->line_passed == http->line.size)
        return 0;
    search_text(http->search, bytes_of(http->line.bytes, http->line.size));
    *ret_problem = has_leak;
    if (search_has_stopped(http->search))
        return -1;
    pass_line(http, out);
    return 0;
}

void http_free(struct http *http)
{
    buf_free(&http->line);
    search_free(http->search);
    http->search = NULL;
}
