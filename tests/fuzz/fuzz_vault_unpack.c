/*
 * Any bytes as compressed content. The first byte says how it is compressed and cut. What comes out is the same however it is cut, and
 * no more than the limits allow.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vault/unpack.h"

static bool unpack_all(enum coding coding, struct bytes bytes, size_t piece, struct buf *out)
{
    struct unpack unpack = {0};
    bool is_fine = true;
    uint64_t size = bytes.size;
    unpack_begin(&unpack, coding);
    while (bytes.size && is_fine) {
        size_t part = bytes.size < piece ? bytes.size : piece;
        is_fine = !unpack_take(&unpack, bytes_of(bytes.at, part), out);
        bytes = bytes_after(bytes, part);
    }
    is_fine &= unpack_is_complete(&unpack);
    unpack_end(&unpack);
    if (out->size > UNPACK_FREE && out->size / UNPACK_MOST_RATIO > size)
        abort();
    return is_fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return FUZZ_NOT_TAKEN;
    struct bytes rest = bytes_of((const char *)bytes + 1, size - 1);
    enum coding coding = *bytes & 1 ? CODING_GZIP : CODING_DEFLATE;
    auto_buf struct buf whole = {0}, pieces = {0};
    bool is_fine = unpack_all(coding, rest, UNPACK_PIECE, &whole);
    bool is_fine_in_pieces = unpack_all(coding, rest, (size_t)(*bytes >> 1) + 1, &pieces);
    if (is_fine && whole.size <= UNPACK_FREE &&
        (!is_fine_in_pieces || whole.size != pieces.size ||
         memcmp(buf_text(&whole), buf_text(&pieces), whole.size) != 0))
        abort();
    return 0;
}
