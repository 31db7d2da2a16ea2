/*
 * Decompresses a zlib stream (RFC 1950, RFC 1951) that lies in memory. Strict and bounded; pure. The checksum at its end is skipped: who
 * reads an object of git's compares its hash.
 */
#pragma once

#include "base/buf.h"
#include "base/bytes.h"

enum inflate_state {
    INFLATE_SHORT, /* the stream goes on after these bytes */
    INFLATE_WHOLE,
    INFLATE_BAD, /* malformed, or larger than `most` */
};

/* Adds the content to `out`, `most` bytes of it at most. *ret_used, if it is whole: the bytes of the stream. */
enum inflate_state inflate_stream(struct bytes stream, size_t most, struct buf *out, size_t *ret_used)
    must_check;
