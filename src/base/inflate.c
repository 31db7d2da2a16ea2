#include "base/inflate.h"

#include <stdint.h>

enum {
    LONGEST_CODE = 15,
    LITERALS = 288,
    DISTANCES = 32,
    END_OF_BLOCK = 256,
    HEAD_SIZE = 2,
    SUM_SIZE = 4,
};

struct inflater {
    struct bytes in; /* what is left */
    uint32_t bits;   /* taken from it and not used; the next one is the lowest */
    unsigned bit_count;
    struct buf *out;
    size_t begun, most;
    enum inflate_state failure; /* if `has_failed` */
    bool has_failed;
};

/* A Huffman code: how many words of each length there are, and the symbols in the order of their words. */
struct code {
    uint16_t counts[LONGEST_CODE + 1];
    uint16_t symbols[LITERALS];
};

static void fail(struct inflater *inflater, enum inflate_state failure)
{
    if (!inflater->has_failed)
        inflater->failure = failure;
    inflater->has_failed = true;
}

static unsigned take_bits(struct inflater *inflater, unsigned count)
{
    while (inflater->bit_count < count) {
        if (!inflater->in.size) {
            fail(inflater, INFLATE_SHORT);
            return 0;
        }
        inflater->bits |= (uint32_t)(unsigned char)*inflater->in.at << inflater->bit_count;
        inflater->in = bytes_after(inflater->in, 1);
        inflater->bit_count += 8;
    }
    unsigned taken = inflater->bits & ((1U << count) - 1);
    inflater->bits >>= count;
    inflater->bit_count -= count;
    return taken;
}

/* Returns false if more words are asked for than there can be. */
static bool make_code(struct code *code, const unsigned char *lengths, size_t count)
{
    uint16_t next[LONGEST_CODE + 1] = {0};
    int left = 1;
    *code = (struct code){0};
    for (size_t i = 0; i < count; i++)
        code->counts[lengths[i]]++;
    code->counts[0] = 0;
    for (size_t length = 1; length <= LONGEST_CODE; length++) {
        left = left * 2 - code->counts[length];
        if (left < 0)
            return false;
        next[length] = (uint16_t)(next[length - 1] + code->counts[length - 1]);
    }
    for (size_t i = 0; i < count; i++) {
        if (lengths[i])
            code->symbols[next[lengths[i]]++] = (uint16_t)i;
    }
    return true;
}

/* Words of one length follow each other, and those of the next length follow them, with a bit more. */
static unsigned take_symbol(struct inflater *inflater, const struct code *code)
{
    unsigned word = 0, first = 0, before = 0;
    for (size_t length = 1; length <= LONGEST_CODE; length++) {
        word = word << 1 | take_bits(inflater, 1);
        if (inflater->has_failed)
            return 0;
        if (word - first < code->counts[length])
            return code->symbols[before + word - first];
        before += code->counts[length];
        first = (first + code->counts[length]) << 1;
    }
    fail(inflater, INFLATE_BAD);
    return 0;
}

static bool has_room(struct inflater *inflater, size_t size)
{
    if (inflater->most - (inflater->out->size - inflater->begun) >= size)
        return true;
    fail(inflater, INFLATE_BAD);
    return false;
}

/* Bytes that came before, again. They may reach into the bytes that are added. */
static void copy_back(struct inflater *inflater, size_t distance, size_t length)
{
    struct buf *out = inflater->out;
    if (distance > out->size - inflater->begun)
        fail(inflater, INFLATE_BAD);
    if (inflater->has_failed || !has_room(inflater, length))
        return;
    for (; length > 0; length--)
        buf_add_char(out, out->bytes[out->size - distance]);
}

static void take_length_and_distance(struct inflater *inflater, unsigned symbol, const struct code *distances)
{
    static const uint16_t lengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint16_t starts[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                      33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    size_t which = symbol - END_OF_BLOCK - 1;
    if (which >= array_len(lengths)) {
        fail(inflater, INFLATE_BAD);
        return;
    }
    bool is_longest = which == array_len(lengths) - 1;
    unsigned more = which < 8 || is_longest ? 0 : (unsigned)(which / 4 - 1);
    size_t length = lengths[which] + take_bits(inflater, more);
    unsigned far = take_symbol(inflater, distances);
    if (far >= array_len(starts)) {
        fail(inflater, INFLATE_BAD);
        return;
    }
    size_t distance = starts[far] + take_bits(inflater, far < 4 ? 0 : far / 2 - 1);
    if (!inflater->has_failed)
        copy_back(inflater, distance, length);
}

static void take_coded(struct inflater *inflater, const struct code *literals, const struct code *distances)
{
    while (!inflater->has_failed) {
        unsigned symbol = take_symbol(inflater, literals);
        if (inflater->has_failed || symbol == END_OF_BLOCK)
            return;
        if (symbol > END_OF_BLOCK)
            take_length_and_distance(inflater, symbol, distances);
        else if (has_room(inflater, 1))
            buf_add_char(inflater->out, (char)symbol);
    }
}

static void take_fixed(struct inflater *inflater)
{
    unsigned char lengths[LITERALS], far[DISTANCES];
    struct code literals, distances;
    for (size_t i = 0; i < LITERALS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    for (size_t i = 0; i < DISTANCES; i++)
        far[i] = 5;
    if (make_code(&literals, lengths, LITERALS) && make_code(&distances, far, DISTANCES))
        take_coded(inflater, &literals, &distances);
}

/* The lengths of both codes, which are compressed themselves. Returns false if they are malformed. */
static bool take_lengths(struct inflater *inflater, const struct code *code, unsigned char *lengths,
                         size_t count)
{
    enum { AGAIN = 16, FEW_ZEROS, MANY_ZEROS };
    for (size_t i = 0; i < count && !inflater->has_failed;) {
        unsigned symbol = take_symbol(inflater, code);
        if (symbol < AGAIN) {
            lengths[i++] = (unsigned char)symbol;
            continue;
        }
        size_t times = symbol == AGAIN       ? 3 + take_bits(inflater, 2)
                       : symbol == FEW_ZEROS ? 3 + take_bits(inflater, 3)
                                             : 11 + take_bits(inflater, 7);
        if ((symbol == AGAIN && i == 0) || times > count - i)
            return false;
        unsigned char length = symbol == AGAIN ? lengths[i - 1] : 0;
        for (; times > 0; times--)
            lengths[i++] = length;
    }
    return true;
}

static void take_dynamic(struct inflater *inflater)
{
    enum { ORDER = 19 };
    static const unsigned char order[ORDER] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                               11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char lengths[LITERALS + DISTANCES] = {0}, of_lengths[ORDER] = {0};
    struct code code, distances;
    size_t literals = 257 + take_bits(inflater, 5), far = 1 + take_bits(inflater, 5),
           count = 4 + take_bits(inflater, 4);
    for (size_t i = 0; i < count; i++)
        of_lengths[order[i]] = (unsigned char)take_bits(inflater, 3);
    if (inflater->has_failed)
        return;
    if (literals > 286 || far > 30 || !make_code(&code, of_lengths, ORDER) ||
        !take_lengths(inflater, &code, lengths, literals + far)) {
        fail(inflater, INFLATE_BAD);
        return;
    }
    if (inflater->has_failed)
        return;
    if (!make_code(&code, lengths, literals) || !make_code(&distances, lengths + literals, far)) {
        fail(inflater, INFLATE_BAD);
        return;
    }
    take_coded(inflater, &code, &distances);
}

static void take_stored(struct inflater *inflater)
{
    inflater->bits = inflater->bit_count = 0; /* fewer than 8: the rest of a byte */
    unsigned size = take_bits(inflater, 16), inverse = take_bits(inflater, 16);
    if (!inflater->has_failed && (size ^ inverse) != 0xffff)
        fail(inflater, INFLATE_BAD);
    if (!inflater->has_failed && inflater->in.size < size)
        fail(inflater, INFLATE_SHORT);
    if (inflater->has_failed || !has_room(inflater, size))
        return;
    buf_add(inflater->out, inflater->in.at, size);
    inflater->in = bytes_after(inflater->in, size);
}

static void take_block(struct inflater *inflater)
{
    switch (take_bits(inflater, 2)) {
    case 0:
        if (!inflater->has_failed)
            take_stored(inflater);
        break;
    case 1:
        take_fixed(inflater);
        break;
    case 2:
        take_dynamic(inflater);
        break;
    default:
        fail(inflater, INFLATE_BAD);
    }
}

/* The method, a window of up to 32 KiB, no dictionary, and a sum over both bytes. */
static bool is_head(struct bytes in)
{
    unsigned first = (unsigned char)in.at[0], second = (unsigned char)in.at[1];
    return (first & 0xf) == 8 && first >> 4 <= 7 && !(second & 0x20) && (first << 8 | second) % 31 == 0;
}

enum inflate_state inflate_stream(struct bytes stream, size_t most, struct buf *out, size_t *ret_used)
{
    struct inflater inflater = {.in = stream, .out = out, .begun = out->size, .most = most};
    if (stream.size < HEAD_SIZE)
        return INFLATE_SHORT;
    if (!is_head(stream))
        return INFLATE_BAD;
    inflater.in = bytes_after(stream, HEAD_SIZE);
    for (bool is_last = false; !is_last && !inflater.has_failed;) {
        is_last = take_bits(&inflater, 1);
        if (!inflater.has_failed)
            take_block(&inflater);
    }
    if (inflater.has_failed)
        return inflater.failure;
    if (inflater.in.size < SUM_SIZE)
        return INFLATE_SHORT;
    *ret_used = stream.size - inflater.in.size + SUM_SIZE;
    return INFLATE_WHOLE;
}
