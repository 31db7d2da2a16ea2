/*
 * Compressed content of an answer, unpacked: gzip, and what HTTP calls deflate. Nobody asks for it (request.c), but some servers compress all the
 * same, and no search finds a secret in compressed bytes.
 *
 * What comes out is limited, as a whole and by what went in: a small answer must not become an endless one.
 */
#pragma once

#define ZLIB_CONST
#include <zlib.h>

#include "vault/head.h"

enum {
    UNPACK_PIECE = 1024,       /* bytes that go in at once; 1032 times as many may come out, but no more */
    UNPACK_MOST_RATIO = 200,   /* bytes that may come out for each one that went in... */
    UNPACK_FREE = 1024 * 1024, /* ...when so many came out */
    UNPACK_MOST = 1024 * 1024 * 1024,
};

struct unpack {
    z_stream zlib;
    enum coding coding;
    bool is_begun;          /* zlib has memory */
    bool is_within;         /* a stream has begun, and not ended */
    unsigned char first[2]; /* of deflate: they say which form it has */
    size_t first_size;
    uint64_t taken, made;
};

/* `coding` is CODING_GZIP or CODING_DEFLATE. The struct is zero or was used before. */
void unpack_begin(struct unpack *unpack, enum coding coding);

/* Adds what the bytes hold to `out`. Returns NULL, or a sentence that says why the content is refused; then nothing more is taken. */
const char *unpack_take(struct unpack *unpack, struct bytes bytes, struct buf *out) must_check;

/* No more bytes come. Is the content complete? */
bool unpack_is_complete(const struct unpack *unpack);

void unpack_end(struct unpack *unpack);
