/*
 * Requests of plain HTTP on their way out: each must be for the host that the connection was made to. Strict: a head that
 * two servers could read in two ways does not pass, and no byte of a request passes before its head was read.
 *
 * Where it is not known whether HTTP is spoken (HTTP_UNKNOWN), the first line that is not empty tells. All but the end of
 * it passes at once, as the client may wait for an answer to what is no line; without its end no server acts on it. However
 * long it becomes: some servers take a request line of a mebibyte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"

enum { HTTP_LARGEST_HEAD = 16384, HTTP_LARGEST_UNKNOWN = 65536 };

enum http_state {
    HTTP_HEAD,
    HTTP_BODY,
    HTTP_CHUNK_SIZE,
    HTTP_CHUNK,
    HTTP_CHUNK_END,
    HTTP_TRAILER,
    HTTP_UPGRADING, /* nothing passes until the server has said that it changes to another protocol */
    HTTP_UNKNOWN,   /* perhaps another protocol */
    HTTP_PASSING,   /* another protocol: everything passes */
};

struct http {
    enum http_state state;
    uint64_t left; /* of a body or a chunk */
    bool is_first_done;
    struct buf line;    /* a head, or a line between chunks, so far */
    size_t line_passed; /* bytes of it, before it was known to be HTTP */
};

/*
 * Takes bytes as they come and adds to `out` what may go to the server. Returns how many it took (fewer only when it has to
 * wait for the server), or -1 with a sentence about what is wrong.
 */
ptrdiff_t http_take(struct http *http, const char *host, uint16_t port, const char *bytes, size_t size,
                    struct buf *out, const char **ret_problem) must_check;
