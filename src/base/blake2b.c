#include "base/hash.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t start[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const unsigned char sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word >> bits | word << (64 - bits);
}

static inline uint64_t load(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word)); /* little-endian, as every machine that bawn runs on */
    return word;
}

static inline void mix(uint64_t *v, const unsigned *at, uint64_t x, uint64_t y)
{
    uint64_t a = v[at[0]], b = v[at[1]], c = v[at[2]], d = v[at[3]];
    a += b + x;
    d = rotate(d ^ a, 32);
    c += d;
    b = rotate(b ^ c, 24);
    a += b + y;
    d = rotate(d ^ a, 16);
    c += d;
    b = rotate(b ^ c, 63);
    v[at[0]] = a;
    v[at[1]] = b;
    v[at[2]] = c;
    v[at[3]] = d;
}

/* Columns, then diagonals. */
static const unsigned lanes[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14}, {3, 7, 11, 15},
                                     {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13},  {3, 4, 9, 14}};

static void compress(struct blake2b *hash, const unsigned char *block, bool is_last)
{
    uint64_t v[16], m[16];
    for (unsigned i = 0; i < 16; i++)
        m[i] = load(block + i * sizeof(uint64_t));
    for (unsigned i = 0; i < 8; i++) {
        v[i] = hash->state[i];
        v[i + 8] = start[i];
    }
    v[12] ^= hash->count;
    if (is_last)
        v[14] = ~v[14];
    for (unsigned round = 0; round < 12; round++) {
        const unsigned char *order = sigma[round % 10];
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++)
            mix(v, lanes[i], m[order[2 * i]], m[order[2 * i + 1]]);
    }
    for (unsigned i = 0; i < 8; i++)
        hash->state[i] ^= v[i] ^ v[i + 8];
}

void blake2b_begin(struct blake2b *hash)
{
    *hash = (struct blake2b){0};
    memcpy(hash->state, start, sizeof(start));
    hash->state[0] ^= 0x01010000 ^ BLAKE2B_SIZE;
}

void blake2b_add(struct blake2b *hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size) {
        /* The last block is compressed with a mark of its own, so that a full one waits until more comes. */
        if (hash->filled == BLAKE2B_BLOCK) {
            hash->count += BLAKE2B_BLOCK;
            compress(hash, hash->block, false);
            hash->filled = 0;
        }
        if (hash->filled == 0 && size > BLAKE2B_BLOCK) {
            hash->count += BLAKE2B_BLOCK;
            compress(hash, at, false);
            at += BLAKE2B_BLOCK;
            size -= BLAKE2B_BLOCK;
            continue;
        }
        size_t part = BLAKE2B_BLOCK - hash->filled < size ? BLAKE2B_BLOCK - hash->filled : size;
        memcpy(hash->block + hash->filled, at, part);
        hash->filled += part;
        at += part;
        size -= part;
    }
}

void blake2b_end(struct blake2b *hash, unsigned char ret_digest[BLAKE2B_SIZE])
{
    hash->count += hash->filled;
    memset(hash->block + hash->filled, 0, BLAKE2B_BLOCK - hash->filled);
    compress(hash, hash->block, true);
    memcpy(ret_digest, hash->state, BLAKE2B_SIZE);
}
