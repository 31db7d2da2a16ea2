#include "git/refs.h"

#include <stdint.h>

struct sha1 {
    uint32_t state[5];
    unsigned char block[64];
    size_t filled;
    uint64_t total;
};

static uint32_t rotate_left(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static void mix_block(struct sha1 *sha1)
{
    uint32_t words[80];
    for (size_t i = 0; i < 16; i++)
        words[i] = (uint32_t)sha1->block[4 * i] << 24 | (uint32_t)sha1->block[4 * i + 1] << 16 |
                   (uint32_t)sha1->block[4 * i + 2] << 8 | sha1->block[4 * i + 3];
    for (size_t i = 16; i < 80; i++)
        words[i] = rotate_left(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = sha1->state[0], b = sha1->state[1], c = sha1->state[2], d = sha1->state[3],
             e = sha1->state[4];
    for (size_t i = 0; i < 80; i++) {
        uint32_t choice = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                          : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                          : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                   : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t next = rotate_left(a, 5) + choice + e + words[i];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    sha1->state[0] += a;
    sha1->state[1] += b;
    sha1->state[2] += c;
    sha1->state[3] += d;
    sha1->state[4] += e;
}

static void add(struct sha1 *sha1, const unsigned char *bytes, size_t size)
{
    sha1->total += size;
    for (size_t i = 0; i < size; i++) {
        sha1->block[sha1->filled++] = bytes[i];
        if (sha1->filled == sizeof(sha1->block)) {
            mix_block(sha1);
            sha1->filled = 0;
        }
    }
}

void sha1_of(const void *head, size_t head_size, const void *bytes, size_t size,
             unsigned char ret_hash[SHA1_SIZE])
{
    struct sha1 sha1 = {.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
    add(&sha1, head, head_size);
    add(&sha1, bytes, size);
    uint64_t bits = sha1.total * 8;
    add(&sha1, (const unsigned char *)"\x80", 1);
    while (sha1.filled != 56)
        add(&sha1, (const unsigned char *)"\0", 1);
    for (unsigned i = 0; i < 8; i++)
        sha1.block[56 + i] = (unsigned char)(bits >> (56 - 8 * i));
    mix_block(&sha1);
    for (size_t i = 0; i < SHA1_SIZE; i++)
        ret_hash[i] = (unsigned char)(sha1.state[i / 4] >> (24 - 8 * (i % 4)));
}
