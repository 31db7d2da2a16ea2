#include "base/hash.h"

#include <string.h>

enum { WORDS = 16, BLOCK = WORDS * sizeof(uint32_t), DOUBLE_ROUNDS = 10 };

static inline uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static inline void mix(uint32_t *v, const unsigned char *at)
{
    uint32_t a = v[at[0]], b = v[at[1]], c = v[at[2]], d = v[at[3]];
    a += b;
    d = rotate(d ^ a, 16);
    c += d;
    b = rotate(b ^ c, 12);
    a += b;
    d = rotate(d ^ a, 8);
    c += d;
    b = rotate(b ^ c, 7);
    v[at[0]] = a;
    v[at[1]] = b;
    v[at[2]] = c;
    v[at[3]] = d;
}

/* Columns, then diagonals. */
static const unsigned char lanes[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14}, {3, 7, 11, 15},
                                          {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13},  {3, 4, 9, 14}};

static void make_block(const uint32_t start[WORDS], uint32_t ret_block[WORDS])
{
    uint32_t v[WORDS];
    memcpy(v, start, sizeof(v));
    for (unsigned round = 0; round < DOUBLE_ROUNDS; round++) {
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++)
            mix(v, lanes[i]);
    }
    for (unsigned i = 0; i < WORDS; i++)
        ret_block[i] = v[i] + start[i];
}

void chacha20(const unsigned char key[CHACHA20_KEY], uint64_t stream, const void *from, size_t size,
              void *ret_to)
{
    /* "expand 32-byte k", the key, the number of the block, the stream. Little-endian, as every machine that bawn runs on. */
    uint32_t start[WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(start + 4, key, CHACHA20_KEY);
    start[14] = (uint32_t)stream;
    start[15] = (uint32_t)(stream >> 32);
    const unsigned char *in = from;
    unsigned char *out = ret_to;
    for (size_t done = 0; done < size; done += BLOCK, start[12]++) {
        uint32_t block[WORDS];
        make_block(start, block);
        const unsigned char *bytes = (const unsigned char *)block;
        for (size_t i = 0; i < BLOCK && i < size - done; i++)
            out[done + i] = in[done + i] ^ bytes[i];
    }
}
