#include "vault/head.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/method.h"

enum { PORT_OF_HTTPS = 443, LONGEST_NUMBER = 18 };

bool bytes_are(struct bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && strncasecmp(bytes.at, text, bytes.size) == 0;
}

ptrdiff_t head_size(struct bytes bytes)
{
    size_t looked_at = bytes.size < HEAD_LARGEST ? bytes.size : HEAD_LARGEST;
    const char *end = bytes.size ? memmem(bytes.at, looked_at, "\r\n\r\n", 4) : NULL;
    if (end)
        return end + 4 - bytes.at;
    return bytes.size >= HEAD_LARGEST ? -1 : 0;
}

static bool is_token(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!isalnum((unsigned char)text.at[i]) && !memchr("!#$%&'*+-.^_`|~", text.at[i], 15))
            return false;
    }
    return text.size > 0;
}

/* Printable ASCII without a space. */
static bool is_visible(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!isgraph((unsigned char)text.at[i]))
            return false;
    }
    return text.size > 0;
}

static bool is_value(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

static struct bytes trim(struct bytes text)
{
    while (text.size && (*text.at == ' ' || *text.at == '\t'))
        text = bytes_after(text, 1);
    while (text.size && (text.at[text.size - 1] == ' ' || text.at[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Takes a line off the text, which ends in CR LF. Returns false for a line with another CR, LF or NUL. */
static bool take_line(struct bytes *text, struct bytes *ret_line)
{
    const char *feed = text->size ? memchr(text->at, '\n', text->size) : NULL;
    if (!feed || feed == text->at || feed[-1] != '\r')
        return false;
    *ret_line = bytes_of(text->at, (size_t)(feed - text->at) - 1);
    *text = bytes_after(*text, ret_line->size + 2);
    return !memchr(ret_line->at, '\r', ret_line->size) && !memchr(ret_line->at, '\0', ret_line->size);
}

/* Takes a word off the line, and the one space after it. */
static struct bytes take_word(struct bytes *line)
{
    const char *space = memchr(line->at, ' ', line->size);
    size_t size = space ? (size_t)(space - line->at) : line->size;
    struct bytes word = bytes_of(line->at, size);
    *line = bytes_after(*line, size + (space ? 1 : 0));
    return word;
}

static bool read_number(struct bytes digits, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (!isdigit((unsigned char)digits.at[i]))
            return false;
        number = number * 10 + (uint64_t)(digits.at[i] - '0');
    }
    *ret_number = number;
    return digits.size > 0 && digits.size <= LONGEST_NUMBER;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* The fields that speak of the connection or of the message's end. Each is read here, and written anew. */
struct marks {
    unsigned hosts, lengths, encodings, upgrades;
    bool wants_websocket, connection_upgrades, keeps_alive;
    struct bytes host;
};

/* Other names in `Connection` would make a server drop a field that was judged here. */
static const char *read_connection(struct bytes value, struct head *head, struct marks *marks)
{
    while (value.size) {
        const char *comma = memchr(value.at, ',', value.size);
        size_t size = comma ? (size_t)(comma - value.at) : value.size;
        struct bytes word = trim(bytes_of(value.at, size));
        value = bytes_after(value, size + (comma ? 1 : 0));
        head->is_last |= bytes_are(word, "close");
        marks->keeps_alive |= bytes_are(word, "keep-alive");
        marks->connection_upgrades |= bytes_are(word, "upgrade");
        if (word.size && !bytes_are(word, "close") && !bytes_are(word, "keep-alive") &&
            !bytes_are(word, "upgrade") && !bytes_are(word, "te") && !bytes_are(word, "http2-settings"))
            return "its Connection header names another header";
    }
    return NULL;
}

static enum coding read_coding(struct bytes value, enum coding before)
{
    if (bytes_are(value, "identity"))
        return before;
    if (before != CODING_NONE)
        return CODING_OTHER;
    if (bytes_are(value, "gzip") || bytes_are(value, "x-gzip"))
        return CODING_GZIP;
    return bytes_are(value, "deflate") ? CODING_DEFLATE : CODING_OTHER;
}

static const char *read_mark(const struct field *field, struct head *head, struct marks *marks)
{
    if (bytes_are(field->name, "host")) {
        marks->hosts++;
        marks->host = field->value;
    } else if (bytes_are(field->name, "content-length")) {
        marks->lengths++;
        if (!read_number(field->value, &head->length))
            return "its Content-Length is not a number";
    } else if (bytes_are(field->name, "transfer-encoding")) {
        marks->encodings++;
        if (!bytes_are(field->value, "chunked"))
            return "its Transfer-Encoding is not plain chunked";
    } else if (bytes_are(field->name, "connection")) {
        return read_connection(field->value, head, marks);
    } else if (bytes_are(field->name, "upgrade")) {
        marks->upgrades++;
        marks->wants_websocket = bytes_are(field->value, "websocket");
    } else if (bytes_are(field->name, "expect")) {
        if (!bytes_are(field->value, "100-continue"))
            return "its Expect header is not 100-continue";
        head->expects = true;
    } else if (bytes_are(field->name, "content-encoding")) {
        head->coding = read_coding(field->value, head->coding);
    }
    return NULL;
}

/* All lines after the first. */
static const char *read_fields(struct bytes text, struct head *head, struct marks *marks)
{
    struct bytes line;
    while (take_line(&text, &line)) {
        if (line.size == 0)
            return text.size ? "it has bytes after its head" : NULL;
        const char *colon = memchr(line.at, ':', line.size);
        struct field field = {.name = bytes_of(line.at, colon ? (size_t)(colon - line.at) : 0)};
        if (!is_token(field.name)) /* a folded line begins with a space, which is no token */
            return "a header line is malformed";
        field.value = trim(bytes_after(line, field.name.size + 1));
        if (!is_value(field.value))
            return "a header has a control character";
        const char *problem = read_mark(&field, head, marks);
        if (problem)
            return problem;
        if (head->count == HEAD_MOST_FIELDS)
            return "it has too many headers";
        head->fields[head->count++] = field;
    }
    return "a line does not end in CR LF";
}

static const char *read_framing(struct head *head, const struct marks *marks, enum framing without)
{
    if (marks->lengths + marks->encodings > 1)
        return "it says twice how long its content is";
    head->has_length = marks->lengths > 0;
    head->framing = marks->lengths ? FRAMING_LENGTH : marks->encodings ? FRAMING_CHUNKED : without;
    return NULL;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static bool is_host(struct bytes text, const char *host, uint16_t port)
{
    size_t size = strlen(host);
    if (text.size < size || strncasecmp(text.at, host, size) != 0)
        return false;
    struct bytes rest = bytes_after(text, size);
    uint64_t number;
    if (rest.size == 0)
        return port == PORT_OF_HTTPS;
    return *rest.at == ':' && read_number(bytes_after(rest, 1), &number) && number == port;
}

static const char *read_request_line(struct bytes line, struct head *head)
{
    head->method = take_word(&line);
    head->target = take_word(&line);
    if (!is_token(head->method) || !is_visible(head->target))
        return "its first line is malformed";
    for (size_t i = 0; i < head->method.size; i++) {
        if (islower(
                (unsigned char)head->method.at[i])) /* to some servers "head" is HEAD, which has no content */
            return "its method is not in capital letters";
    }
    if (bytes_are(head->method, "connect"))
        return "CONNECT asks for another connection";
    if (line.size != 8 || memcmp(line.at, "HTTP/1.1", 8) != 0)
        return "it is not HTTP/1.1";
    if (memchr(head->target.at, '#', head->target.size)) /* to some servers the path ends there */
        return "its target has a fragment, which is never sent";
    bool is_star = bytes_are(head->target, "*") && bytes_are(head->method, "options");
    return *head->target.at == '/' || is_star ? NULL : "its target is not a path";
}

const char *head_read_request(struct bytes text, const char *host, uint16_t port, struct head *ret_head)
{
    struct marks marks = {0};
    struct bytes line;
    *ret_head = (struct head){0};
    if (!take_line(&text, &line))
        return "a line does not end in CR LF";
    const char *problem = read_request_line(line, ret_head);
    if (!problem)
        problem = read_fields(text, ret_head, &marks);
    if (!problem && marks.hosts != 1)
        problem = "it does not name its host once";
    if (!problem && !is_host(marks.host, host, port))
        problem = "it is for another host";
    if (!problem)
        problem = read_framing(ret_head, &marks, FRAMING_NONE);
    if (problem)
        return problem;
    bool has_content =
        ret_head->framing == FRAMING_CHUNKED || (ret_head->framing == FRAMING_LENGTH && ret_head->length);
    if (marks.upgrades == 1 && marks.wants_websocket && marks.connection_upgrades &&
        bytes_are(ret_head->method, "get") && !has_content)
        ret_head->framing = FRAMING_UPGRADE;
    /* A server that ignores the content reads it as the next request, unless it closes the connection after this one. */
    ret_head->is_last |= has_content && !method_has_content(ret_head->method);
    return NULL;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static const char *read_status_line(struct bytes line, struct head *head, bool *ret_is_old)
{
    struct bytes version = take_word(&line), status = take_word(&line);
    uint64_t number = 0;
    *ret_is_old = bytes_are(version, "HTTP/1.0");
    if (!*ret_is_old && !bytes_are(version, "HTTP/1.1"))
        return "it is not HTTP/1.1";
    if (status.size != 3 || !read_number(status, &number) || number < 100 || !is_value(line))
        return "its first line is malformed";
    head->status = (unsigned)number;
    head->reason = line;
    return NULL;
}

const char *head_read_answer(struct bytes text, bool is_to_head, bool may_upgrade, struct head *ret_head)
{
    struct marks marks = {0};
    struct bytes line;
    bool is_old = false;
    *ret_head = (struct head){0};
    if (!take_line(&text, &line))
        return "a line does not end in CR LF";
    const char *problem = read_status_line(line, ret_head, &is_old);
    if (!problem)
        problem = read_fields(text, ret_head, &marks);
    if (!problem)
        problem = read_framing(ret_head, &marks, FRAMING_CLOSE);
    if (problem)
        return problem;
    unsigned status = ret_head->status;
    if (status == 101 && !(may_upgrade && marks.wants_websocket && marks.connection_upgrades))
        return "it changes the protocol, which was not asked for";
    if (is_old && ret_head->framing == FRAMING_CHUNKED)
        return "it is HTTP/1.0, which has no chunks";
    if (status == 101)
        ret_head->framing = FRAMING_UPGRADE;
    else if (is_to_head || status < 200 || status == 204 || status == 304)
        ret_head->framing = FRAMING_NONE;
    ret_head->is_last |= (is_old && !marks.keeps_alive) || ret_head->framing == FRAMING_CLOSE;
    return NULL;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Fields of one connection, or those that are written anew. A server must not send the client elsewhere (Alt-Svc). */
static bool is_passed_on(const struct field *field)
{
    static const char *const others[] = {"host",
                                         "connection",
                                         "keep-alive",
                                         "proxy-connection",
                                         "proxy-authorization",
                                         "proxy-authenticate",
                                         "te",
                                         "trailer",
                                         "transfer-encoding",
                                         "content-length",
                                         "upgrade",
                                         "expect",
                                         "http2-settings",
                                         "alt-svc"};
    for (size_t i = 0; i < array_len(others); i++) {
        if (bytes_are(field->name, others[i]))
            return false;
    }
    return true;
}

static void write_rest(const struct head *head, struct buf *out)
{
    for (size_t i = 0; i < head->count; i++) {
        const struct field *field = &head->fields[i];
        if (!is_passed_on(field))
            continue;
        buf_add(out, field->name.at, field->name.size);
        buf_add_str(out, ": ");
        buf_add(out, field->value.at, field->value.size);
        buf_add_str(out, "\r\n");
    }
    bool is_told =
        head->framing == FRAMING_NONE && head->has_length && head->status >= 200 && head->status != 204;
    if (head->framing == FRAMING_LENGTH || is_told)
        buf_printf(out, "Content-Length: %" PRIu64 "\r\n", head->length);
    else if (head->framing == FRAMING_CHUNKED || head->framing == FRAMING_CLOSE)
        buf_add_str(out, "Transfer-Encoding: chunked\r\n");
    if (head->framing == FRAMING_UPGRADE)
        buf_add_str(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    else if (head->is_last)
        buf_add_str(out, "Connection: close\r\n");
    buf_add_str(out, "\r\n");
}

void head_write_request(const struct head *head, const char *host, uint16_t port, struct buf *out)
{
    buf_add(out, head->method.at, head->method.size);
    buf_add_char(out, ' ');
    buf_add(out, head->target.at, head->target.size);
    buf_printf(out, " HTTP/1.1\r\nHost: %s", host);
    if (port != PORT_OF_HTTPS)
        buf_printf(out, ":%u", port);
    buf_add_str(out, "\r\n");
    write_rest(head, out);
}

void head_write_answer(const struct head *head, struct buf *out)
{
    buf_printf(out, "HTTP/1.1 %u ", head->status);
    buf_add(out, head->reason.at, head->reason.size);
    buf_add_str(out, "\r\n");
    write_rest(head, out);
}

bool head_has(const struct head *head, const char *name)
{
    bool is_there = false;
    for (size_t i = 0; i < head->count; i++)
        is_there |= bytes_are(head->fields[i].name, name);
    return is_there;
}

void head_drop(struct head *head, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < head->count; i++) {
        if (!bytes_are(head->fields[i].name, name))
            head->fields[kept++] = head->fields[i];
    }
    head->count = kept;
}

void head_unpack(struct head *head)
{
    head_drop(head, "content-encoding");
    head->has_length = false;
    if (head->framing == FRAMING_LENGTH)
        head->framing = FRAMING_CHUNKED;
}
