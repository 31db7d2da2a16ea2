#include "vault/unpack.h"

enum { BLOCK = 16 * 1024, GZIP_FORM = MAX_WBITS + 16, ZLIB_FORM = MAX_WBITS, RAW_FORM = -MAX_WBITS };

static const char malformed[] = "its compressed content is malformed";

void unpack_end(struct unpack *unpack)
{
    if (unpack->is_begun)
        inflateEnd(&unpack->zlib);
    *unpack = (struct unpack){0};
}

void unpack_begin(struct unpack *unpack, enum coding coding)
{
    unpack_end(unpack);
    unpack->coding = coding;
}

bool unpack_is_complete(const struct unpack *unpack)
{
    return !unpack->is_within && unpack->first_size != 1;
}

/* "deflate" is meant to have zlib's head; some servers send it without one. */
static int form_of_deflate(const unsigned char *first)
{
    bool has_head =
        (first[0] & 0x0f) == Z_DEFLATED && first[0] >> 4 <= 7 && (first[0] << 8 | first[1]) % 31 == 0;
    return has_head ? ZLIB_FORM : RAW_FORM;
}

/* Unpacks what zlib was given, up to the end of a stream. */
static const char *inflate_all(struct unpack *unpack, struct buf *out)
{
    not_zeroed unsigned char block[BLOCK];
    z_stream *zlib = &unpack->zlib;
    int result;
    do {
        zlib->next_out = block;
        zlib->avail_out = BLOCK;
        result = inflate(zlib, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return malformed;
        size_t made = BLOCK - zlib->avail_out;
        unpack->made += made;
        if (unpack->made > UNPACK_MOST ||
            (unpack->made > UNPACK_FREE && unpack->made / UNPACK_MOST_RATIO > unpack->taken))
            return "unpacked, it is too large";
        buf_add(out, (const char *)block, made);
    } while (result != Z_STREAM_END && zlib->avail_out == 0);
    unpack->is_within = result != Z_STREAM_END;
    return NULL;
}

/* The bytes of gzip may be several streams, one after the other. */
static const char *feed(struct unpack *unpack, struct bytes bytes, struct buf *out)
{
    z_stream *zlib = &unpack->zlib;
    zlib->next_in = (const unsigned char *)bytes.at;
    zlib->avail_in = (unsigned)bytes.size;
    while (zlib->avail_in) {
        bool is_next = !unpack->is_within && zlib->total_in;
        if (is_next && (unpack->coding != CODING_GZIP || inflateReset(zlib) != Z_OK))
            return malformed;
        const char *problem = inflate_all(unpack, out);
        if (problem)
            return problem;
    }
    return NULL;
}

static const char *begin_zlib(struct unpack *unpack, int form, struct buf *out)
{
    if (inflateInit2(&unpack->zlib, form) != Z_OK)
        return "there is no memory to unpack it";
    unpack->is_begun = true;
    return feed(unpack, bytes_of((const char *)unpack->first, unpack->first_size), out);
}

const char *unpack_take(struct unpack *unpack, struct bytes bytes, struct buf *out)
{
    const char *problem = NULL;
    unpack->taken += bytes.size;
    while (unpack->coding == CODING_DEFLATE && unpack->first_size < sizeof(unpack->first) && bytes.size) {
        unpack->first[unpack->first_size++] = (unsigned char)*bytes.at;
        bytes = bytes_after(bytes, 1);
    }
    if (!unpack->is_begun && unpack->coding == CODING_GZIP)
        problem = begin_zlib(unpack, GZIP_FORM, out);
    else if (!unpack->is_begun && unpack->first_size == sizeof(unpack->first))
        problem = begin_zlib(unpack, form_of_deflate(unpack->first), out);
    return problem ? problem : feed(unpack, bytes, out);
}
