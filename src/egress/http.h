/*
 * Checks requests of plain HTTP: each must be for the host of the connection. A head that two servers could read in two ways is
 * refused, and no byte of a request passes before its whole head has been checked.
 *
 * If it is not known whether the client speaks HTTP (HTTP_UNKNOWN), the first line that is not empty decides. Its bytes pass at
 * once, except for the end of the line: a client of another protocol may wait for an answer before it ends a line, and no HTTP
 * server acts on a line without its end. That holds for any length, since some servers take a request line of one MiB.
 *
 * Requests may be searched for secrets of the host (search.h). If these must be stopped, what follows the first word of a line that may be a
 * request waits, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "egress/search.h"

enum { HTTP_LARGEST_HEAD = 16384, HTTP_LARGEST_UNKNOWN = 65536 };

enum http_state {
    HTTP_HEAD,
    HTTP_BODY,
    HTTP_CHUNK_SIZE,
    HTTP_CHUNK,
    HTTP_CHUNK_END,
    HTTP_TRAILER,
    HTTP_UPGRADING, /* nothing passes until the server has agreed to change the protocol */
    HTTP_UNKNOWN,   /* perhaps another protocol */
    HTTP_PASSING,   /* another protocol: everything passes */
};

struct http {
    enum http_state state;
    uint64_t left; /* of a body or a chunk */
    bool is_first_done;
    struct buf line;       /* the head, or the line between chunks, as far as it has come */
    size_t line_passed;    /* bytes of it that passed before it was known to be HTTP */
    struct search *search; /* NULL: requests are not searched */
};

/*
 * Takes bytes from the client and adds to `out` the bytes that may go to the server. Returns how many it took: fewer than `size`
 * only in HTTP_UPGRADING. Returns -1 with a sentence if the request is refused.
 *
 * Without a host (NULL) a request may be for any, and after a request that is not of HTTP/1 or asks for a tunnel everything passes.
 */
ptrdiff_t http_take(struct http *http, const char *host, uint16_t port, const char *bytes, size_t size,
                    struct buf *out, const char **ret_problem) must_check;

/* Nothing more comes: adds the bytes of another protocol that waited. Returns -1 as http_take. */
int http_finish(struct http *http, struct buf *out, const char **ret_problem) must_check;

void http_free(struct http *http);
