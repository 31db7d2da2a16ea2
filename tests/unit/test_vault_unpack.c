/* Compressed content of answers: both codings, in pieces of any size, cut off, damaged and out of proportion. */
#include <stdlib.h>

#include "unit.h"
#include "vault/unpack.h"

enum { AS_GZIP = MAX_WBITS + 16, AS_ZLIB = MAX_WBITS, AS_RAW = -MAX_WBITS };

static void pack(struct bytes plain, int form, struct buf *out)
{
    z_stream zlib = {0};
    static unsigned char block[65536];
    REQUIRE(deflateInit2(&zlib, Z_BEST_COMPRESSION, Z_DEFLATED, form, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    zlib.next_in = (const unsigned char *)plain.at;
    zlib.avail_in = (unsigned)plain.size;
    do {
        zlib.next_out = block;
        zlib.avail_out = sizeof(block);
        deflate(&zlib, Z_FINISH);
        buf_add(out, (const char *)block, sizeof(block) - zlib.avail_out);
    } while (zlib.avail_out == 0);
    deflateEnd(&zlib);
}

/* What comes out, or the reason why it is refused. */
static const char *unpacked(enum coding coding, struct bytes packed, size_t piece, struct buf *out)
{
    struct unpack unpack = {0};
    const char *problem = NULL;
    unpack_begin(&unpack, coding);
    while (packed.size && !problem) {
        size_t part = packed.size < piece ? packed.size : piece;
        problem = unpack_take(&unpack, bytes_of(packed.at, part), out);
        packed = bytes_after(packed, part);
    }
    if (!problem && !unpack_is_complete(&unpack))
        problem = "cut off";
    unpack_end(&unpack);
    return problem ? problem : "fine";
}

static struct bytes some_text(void)
{
    static char text[100000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = "abcdefgh"[(i * i / 7 + i / 1000) % 8];
    return bytes_of(text, sizeof(text));
}

TEST(what_was_packed_comes_out)
{
    static const struct {
        enum coding coding;
        int form;
    } cases[] = {{CODING_GZIP, AS_GZIP}, {CODING_DEFLATE, AS_ZLIB}, {CODING_DEFLATE, AS_RAW}};
    static const size_t pieces[] = {1, 2, 3, 1000, UNPACK_PIECE};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        auto_buf struct buf packed = {0};
        pack(some_text(), cases[i].form, &packed);
        for (size_t j = 0; j < sizeof(pieces) / sizeof(*pieces); j++) {
            auto_buf struct buf out = {0};
            CHECK_STR(unpacked(cases[i].coding, bytes_of(packed.bytes, packed.size), pieces[j], &out),
                      "fine");
            CHECK(bytes_equal(bytes_of(out.bytes, out.size), some_text()));
        }
    }
}

TEST(gzip_may_be_several_streams)
{
    auto_buf struct buf packed = {0}, out = {0};
    pack(bytes_of("one ", 4), AS_GZIP, &packed);
    pack(bytes_of("", 0), AS_GZIP, &packed);
    pack(bytes_of("two", 3), AS_GZIP, &packed);
    for (size_t piece = 1; piece < 80; piece++) {
        out.size = 0;
        CHECK_STR(unpacked(CODING_GZIP, bytes_of(packed.bytes, packed.size), piece, &out), "fine");
        CHECK_STR(buf_text(&out), "one two");
    }
    auto_buf struct buf twice = {0};
    pack(bytes_of("one", 3), AS_ZLIB, &twice);
    size_t once = twice.size;
    pack(bytes_of("two", 3), AS_ZLIB, &twice);
    CHECK_STR(unpacked(CODING_DEFLATE, bytes_of(twice.bytes, once), 5, &out), "fine");
    CHECK_STR(unpacked(CODING_DEFLATE, bytes_of(twice.bytes, twice.size), 5, &out),
              "its compressed content is malformed");
}

TEST(nothing_is_nothing)
{
    auto_buf struct buf out = {0};
    CHECK_STR(unpacked(CODING_GZIP, bytes_of("", 0), 1, &out), "fine");
    CHECK_STR(unpacked(CODING_DEFLATE, bytes_of("", 0), 1, &out), "fine");
    CHECK_INT((intmax_t)out.size, 0);
}

TEST(what_is_cut_off_is_not_complete)
{
    static const struct {
        enum coding coding;
        int form;
    } cases[] = {{CODING_GZIP, AS_GZIP}, {CODING_DEFLATE, AS_ZLIB}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        auto_buf struct buf packed = {0};
        pack(bytes_of("some text", 9), cases[i].form, &packed);
        for (size_t size = 1; size < packed.size; size++) {
            auto_buf struct buf out = {0};
            CHECK_STR(unpacked(cases[i].coding, bytes_of(packed.bytes, size), 4, &out), "cut off");
        }
    }
}

TEST(what_is_damaged_is_refused)
{
    auto_buf struct buf packed = {0}, out = {0};
    pack(some_text(), AS_GZIP, &packed);
    CHECK_STR(unpacked(CODING_GZIP, bytes_of("plain text", 10), 3, &out),
              "its compressed content is malformed");
    packed.bytes[packed.size - 6] ^= 1; /* its checksum */
    CHECK_STR(unpacked(CODING_GZIP, bytes_of(packed.bytes, packed.size), 1000, &out),
              "its compressed content is malformed");
    packed.bytes[packed.size - 6] ^= 1;
    buf_add_str(&packed, "more");
    CHECK_STR(unpacked(CODING_GZIP, bytes_of(packed.bytes, packed.size), 1000, &out),
              "its compressed content is malformed");
}

TEST(a_small_answer_does_not_become_an_endless_one)
{
    enum { LARGE = 64 << 20, SMALLER = UNPACK_FREE - 1 };
    char *zeros = calloc(1, LARGE);
    auto_buf struct buf bomb = {0}, dense = {0}, out = {0};
    REQUIRE(zeros);
    pack(bytes_of(zeros, LARGE), AS_GZIP, &bomb);
    pack(bytes_of(zeros, SMALLER), AS_GZIP, &dense); /* the control: as dense, and small */
    free(zeros);
    CHECK(bomb.size < LARGE / 900 && dense.size < SMALLER / 900);
    CHECK_STR(unpacked(CODING_GZIP, bytes_of(bomb.bytes, bomb.size), UNPACK_PIECE, &out),
              "unpacked, it is too large");
    CHECK(out.size <= UNPACK_FREE + (size_t)1100 * UNPACK_PIECE);
    out.size = 0;
    CHECK_STR(unpacked(CODING_GZIP, bytes_of(dense.bytes, dense.size), UNPACK_PIECE, &out), "fine");
    CHECK_INT((intmax_t)out.size, SMALLER);
}

UNIT_MAIN()
