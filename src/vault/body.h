/*
 * The content of a message, without its framing: body_take decodes it, body_write and body_end encode it. Strict: a chunk has no extension,
 * trailers are dropped. Pure.
 */
#pragma once

#include "vault/head.h"

enum { BODY_LONGEST_LINE = 4096, BODY_LARGEST_TRAILER = 16384 };

enum body_state {
    BODY_CONTENT,
    BODY_CHUNK_SIZE,
    BODY_CHUNK_END,
    BODY_TRAILER,
    BODY_DONE,
};

struct body {
    enum framing framing;
    enum body_state state;
    uint64_t left; /* of the content or of a chunk */
    size_t line_size, trailer_size;
    char line[BODY_LONGEST_LINE]; /* the line between chunks, as far as it has come */
};

void body_begin(struct body *body, const struct head *head);

/*
 * Decodes bytes and adds their content to `out`, `most` bytes of it at most. Returns how many bytes it took: all of them, unless `most` or
 * the end was reached. Returns -1 for malformed framing.
 */
ptrdiff_t body_take(struct body *body, struct bytes bytes, size_t most, struct buf *out) must_check;

/* The sender has closed the connection. Returns whether that ends the content; if not, it was cut off. */
bool body_close(struct body *body);

/* Encodes a piece of content, and the end. FRAMING_CLOSE is written as chunked. */
void body_write(enum framing framing, struct bytes content, struct buf *out);
void body_end(enum framing framing, struct buf *out);
