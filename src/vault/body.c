#include "vault/body.h"

#include <string.h>

#include "base/text.h"

enum { MOST_DIGITS = 15 };

void body_begin(struct body *body, const struct head *head)
{
    body->framing = head->framing;
    body->left = head->framing == FRAMING_LENGTH ? head->length : 0;
    body->line_size = body->trailer_size = 0;
    bool is_empty = head->framing == FRAMING_NONE || head->framing == FRAMING_UPGRADE ||
                    (head->framing == FRAMING_LENGTH && head->length == 0);
    body->state = is_empty ? BODY_DONE : head->framing == FRAMING_CHUNKED ? BODY_CHUNK_SIZE : BODY_CONTENT;
}

/* Hexadecimal digits and nothing else: an extension means different things to different servers. */
static bool read_chunk_size(struct body *body)
{
    uint64_t size = 0;
    if (body->line_size == 0 || body->line_size > MOST_DIGITS)
        return false;
    for (size_t i = 0; i < body->line_size; i++) {
        int digit = text_hex_digit(body->line[i]);
        if (digit < 0)
            return false;
        size = size << 4 | (uint64_t)digit;
    }
    body->left = size;
    body->state = size ? BODY_CONTENT : BODY_TRAILER;
    return true;
}

/* A line between chunks is complete, without its CR LF. */
static bool take_line(struct body *body)
{
    switch (body->state) {
    case BODY_CHUNK_SIZE:
        return read_chunk_size(body);
    case BODY_CHUNK_END:
        body->state = BODY_CHUNK_SIZE;
        return body->line_size == 0;
    case BODY_TRAILER:
        if (body->line_size == 0)
            body->state = BODY_DONE;
        return true;
    default:
        return false;
    }
}

/* Takes bytes up to the line's end. Returns -1 for a line that is too long, or has another CR or LF. */
static ptrdiff_t gather_line(struct body *body, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        bool has_return = body->line_size && body->line[body->line_size - 1] == '\r';
        if (has_return != (bytes.at[i] == '\n') || body->line_size == sizeof(body->line) ||
            (body->state == BODY_TRAILER && body->trailer_size++ == BODY_LARGEST_TRAILER))
            return -1;
        if (!has_return) {
            body->line[body->line_size++] = bytes.at[i];
            continue;
        }
        body->line_size--;
        if (!take_line(body))
            return -1;
        body->line_size = 0;
        return (ptrdiff_t)i + 1;
    }
    return (ptrdiff_t)bytes.size;
}

static size_t take_content(struct body *body, struct bytes bytes, size_t most, struct buf *out)
{
    size_t part = bytes.size < most ? bytes.size : most;
    if (body->framing != FRAMING_CLOSE && part > body->left)
        part = (size_t)body->left;
    buf_add(out, bytes.at, part);
    if (body->framing == FRAMING_CLOSE)
        return part;
    body->left -= part;
    if (body->left == 0)
        body->state = body->framing == FRAMING_CHUNKED ? BODY_CHUNK_END : BODY_DONE;
    return part;
}

ptrdiff_t body_take(struct body *body, struct bytes bytes, size_t most, struct buf *out)
{
    size_t taken = 0, begun = out->size;
    while (taken < bytes.size && body->state != BODY_DONE) {
        struct bytes rest = bytes_after(bytes, taken);
        if (body->state == BODY_CONTENT) {
            size_t room = most - (out->size - begun);
            if (room == 0)
                break;
            taken += take_content(body, rest, room, out);
            continue;
        }
        ptrdiff_t line = gather_line(body, rest);
        if (line < 0)
            return -1;
        taken += (size_t)line;
    }
    return (ptrdiff_t)taken;
}

bool body_close(struct body *body)
{
    if (body->framing == FRAMING_CLOSE)
        body->state = BODY_DONE;
    return body->state == BODY_DONE;
}

void body_write(enum framing framing, struct bytes content, struct buf *out)
{
    bool is_chunked = framing == FRAMING_CHUNKED || framing == FRAMING_CLOSE;
    if (content.size == 0)
        return;
    if (is_chunked)
        buf_printf(out, "%zx\r\n", content.size);
    buf_add(out, content.at, content.size);
    if (is_chunked)
        buf_add_str(out, "\r\n");
}

void body_end(enum framing framing, struct buf *out)
{
    if (framing == FRAMING_CHUNKED || framing == FRAMING_CLOSE)
        buf_add_str(out, "0\r\n\r\n");
}
