/*
 * Heads of HTTP/1.1 messages, read strictly and written in one form.
 *
 * Both sides of a connection are untrusted. A head that two programs could read in two ways is refused: folded lines, a bare CR or LF,
 * two lengths, a length beside an encoding, a target that is a URL, a Host other than the connection's. What is read is
 * never passed on as it came: head_write_request and head_write_answer spell it anew, so the next reader sees one spelling alone.
 *
 * Pure: no socket, no allocation but the output's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/bytes.h"

enum { HEAD_LARGEST = 64 * 1024, HEAD_MOST_FIELDS = 256 };

/* How the end of a message's content is known. */
enum framing {
    FRAMING_NONE,    /* there is no content */
    FRAMING_LENGTH,  /* `length` bytes */
    FRAMING_CHUNKED, /* in chunks, until an empty one */
    FRAMING_CLOSE,   /* an answer until the connection closes */
    FRAMING_UPGRADE, /* a request to change to WebSocket, or the agreement to it: no content, then another protocol */
};

/* How the content is compressed. */
enum coding {
    CODING_NONE,
    CODING_GZIP,
    CODING_DEFLATE,
    CODING_OTHER, /* or more than one */
};

struct field {
    struct bytes name, value;
};

/* Points into the text that was read. */
struct head {
    struct bytes method, target; /* of a request */
    unsigned status;             /* of an answer */
    struct bytes reason;
    struct field fields[HEAD_MOST_FIELDS];
    size_t count;
    enum framing framing;
    uint64_t length;
    bool has_length; /* an answer to HEAD tells a length, and has no content */
    bool is_last;    /* the sender closes the connection after this message */
    bool expects;    /* the client waits for "100 Continue" */
    enum coding coding;
};

/* The size of the head at the beginning of the bytes, with the empty line that ends it. 0: it is not complete, -1: it is too large. */
ptrdiff_t head_size(struct bytes bytes);

/* Both return NULL, or a sentence that says why the head is refused. The text is a whole head. */
const char *head_read_request(struct bytes text, const char *host, uint16_t port, struct head *ret_head)
    must_check;

/* `is_to_head`: the request's method was HEAD. `may_upgrade`: it asked to change to WebSocket. */
const char *head_read_answer(struct bytes text, bool is_to_head, bool may_upgrade, struct head *ret_head)
    must_check;

/* An answer of FRAMING_CLOSE is written as chunked. */
void head_write_request(const struct head *head, const char *host, uint16_t port, struct buf *out);
void head_write_answer(const struct head *head, struct buf *out);

bool bytes_are(struct bytes bytes, const char *text); /* in whichever case */
bool head_has(const struct head *head, const char *name);
void head_drop(struct head *head, const char *name);

/* The content is passed on unpacked: drops what the head says of its packed form. */
void head_unpack(struct head *head);
