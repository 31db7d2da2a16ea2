#include "base/hash.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

/*
 * One of the 64 rounds. The standard moves its words a to h on by one after each: here the round names them one further on instead, so that
 * after eight rounds they are in place again.
 */
static inline void do_round(uint32_t v[8], unsigned number, uint32_t added)
{
    const uint32_t a = v[(0 - number) & 7], b = v[(1 - number) & 7], c = v[(2 - number) & 7];
    const uint32_t e = v[(4 - number) & 7], f = v[(5 - number) & 7], g = v[(6 - number) & 7];
    uint32_t *d = &v[(3 - number) & 7], *h = &v[(7 - number) & 7];
    uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    uint32_t t1 = *h + s1 + (g ^ (e & (f ^ g))) + added;
    uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    *d += t1;
    *h = t1 + s0 + ((a & b) | (c & (a | b)));
}

static void eight_rounds(uint32_t v[8], const uint32_t words[8], const uint32_t constants[8])
{
    do_round(v, 0, words[0] + constants[0]);
    do_round(v, 1, words[1] + constants[1]);
    do_round(v, 2, words[2] + constants[2]);
    do_round(v, 3, words[3] + constants[3]);
    do_round(v, 4, words[4] + constants[4]);
    do_round(v, 5, words[5] + constants[5]);
    do_round(v, 6, words[6] + constants[6]);
    do_round(v, 7, words[7] + constants[7]);
}

static void add_block(uint32_t state[8], const unsigned char block[64])
{
    not_zeroed uint32_t words[64];
    for (size_t i = 0; i < 16; i++) {
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (unsigned i = 16; i < 64; i++) {
        uint32_t s0 = rotate(words[i - 15], 7) ^ rotate(words[i - 15], 18) ^ words[i - 15] >> 3;
        uint32_t s1 = rotate(words[i - 2], 17) ^ rotate(words[i - 2], 19) ^ words[i - 2] >> 10;
        words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    uint32_t v[8];
    memcpy(v, state, sizeof(v));
    for (unsigned i = 0; i < 64; i += 8)
        eight_rounds(v, words + i, round_constants + i);
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_hex(const void *bytes, size_t size, char ret_hex[SHA256_HEX_SIZE])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *in = bytes;
    size_t left = size;
    for (; left >= 64; in += 64, left -= 64)
        add_block(state, in);

    unsigned char tail[128] = {0};
    if (left)
        memcpy(tail, in, left);
    tail[left] = 0x80;
    size_t tail_size = left < 56 ? 64 : 128;
    for (unsigned i = 0; i < 8; i++)
        tail[tail_size - 1 - i] = (unsigned char)((uint64_t)size * 8 >> 8 * i);
    for (size_t i = 0; i < tail_size; i += 64)
        add_block(state, tail + i);

    for (size_t i = 0; i < 8; i++)
        snprintf(ret_hex + 8 * i, 9, "%08x", state[i]);
}
