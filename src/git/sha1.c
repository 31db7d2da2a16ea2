/*
 * SHA-1, and the marks of an attack on it.
 *
 * Theory of operation
 *
 * Two contents with one hash are made along a differential path: a disturbance vector says which bits of the
 * expanded message differ, and before one of the middle steps the states of both are equal again. So one
 * content alone shows the attack. For every vector that is known to be of use its other half is computed from
 * there, back to the state before the block and forth to the state after it. If both halves end in the same
 * hash, one of them was made to collide (Stevens, CRYPTO 2013). The 32 vectors are those that git looks for,
 * too (Stevens and Shumow, USENIX Security 2017). They are computed and not listed: each is the expansion of
 * 16 words, of one kind or the other, from some step on, rotated.
 *
 * A state is five neighbours in a sequence q, to which each step adds one: a and b, and c, d, e rotated back.
 * So a step is undone as easily. Four vectors at a time are followed, in the lanes of one register.
 */
#include <stdint.h>

#include "base/attr.h"
#include "git/refs.h"

enum { STEPS = 80, STATE = 5, WORDS = 16, LANES = 4, GROUPS = 8 };

typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));

/* These take words and lanes. */
#define ROTATE(word, bits) ((word) << (bits) | (word) >> (-(bits)&31))
#define CHOOSE(i, b, c, d)                                                                                   \
    ((i) < 20   ? (((b) & (c)) | (~(b) & (d))) + 0x5a827999                                                  \
     : (i) < 40 ? ((b) ^ (c) ^ (d)) + 0x6ed9eba1                                                             \
     : (i) < 60 ? (((b) & (c)) | ((b) & (d)) | ((c) & (d))) + 0x8f1bbcdc                                     \
                : ((b) ^ (c) ^ (d)) + 0xca62c1d6)

/* The sum of step i, but for the message's word and the oldest word of the state. */
#define SUM(i, q) (ROTATE((q)[4], 5) + CHOOSE(i, (q)[3], ROTATE((q)[2], 30), ROTATE((q)[1], 30)))

struct sha1 {
    uint32_t state[STATE];
    unsigned char block[4 * WORDS];
    size_t filled;
    uint64_t total;
    const struct halves *halves; /* NULL: no attack is looked for */
    bool is_forged;              /* one was found */
};

static void expand(uint32_t words[], size_t count)
{
    for (size_t i = WORDS; i < count; i++)
        words[i] = ROTATE(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
}

/* --- the other halves --------------------------------------------------------------------------------------------- */

/* By how much the message words of the other halves differ. */
struct halves {
    lanes differences[GROUPS][STEPS];
};

/* Four vectors: their kind, the step before which the states are equal, the step where the 16 words begin, and how far they are rotated. */
static const struct {
    unsigned kind, equal_at, begins[LANES], rotated[LANES];
} groups[GROUPS] = {
    {1, 58, {43, 44, 45, 46}, {0, 0, 0, 0}}, {1, 58, {46, 47, 47, 48}, {2, 0, 2, 0}},
    {1, 58, {48, 49, 49, 50}, {2, 0, 2, 0}}, {1, 58, {50, 51, 51, 52}, {2, 0, 2, 0}},
    {2, 58, {45, 46, 46, 47}, {0, 0, 2, 0}}, {2, 62, {48, 49, 49, 50}, {0, 0, 2, 0}},
    {2, 62, {50, 51, 51, 52}, {2, 0, 2, 0}}, {2, 65, {53, 54, 55, 56}, {0, 0, 0, 0}},
};

enum { LAST_BEGIN = 56, BEGIN = LAST_BEGIN + STATE, LONGEST = BEGIN + STEPS - 43 };

/* A vector of this kind from five steps before the first on, if its 16 words begin at the step LAST_BEGIN. */
static void make_vector(unsigned kind, uint32_t ret_words[LONGEST])
{
    uint32_t *words = ret_words + BEGIN;
    for (size_t i = 0; i < WORDS - 1; i++)
        words[i] = kind == 2 && (i == 1 || i == 3) ? UINT32_C(1) << 31 : 0;
    words[WORDS - 1] = 1;
    expand(words, LONGEST - BEGIN);
    while (words-- > ret_words)
        words[0] = ROTATE(words[16], 31) ^ words[13] ^ words[8] ^ words[2];
}

/* A disturbance, and what takes those of the five steps before it back. */
static uint32_t difference_at(const uint32_t *word)
{
    return word[0] ^ ROTATE(word[-1], 5) ^ word[-2] ^ ROTATE(word[-3] ^ word[-4] ^ word[-5], 30);
}

static void make_halves(struct halves *ret_halves)
{
    uint32_t vectors[2][LONGEST];
    make_vector(1, vectors[0]);
    make_vector(2, vectors[1]);
    for (size_t at = 0; at < (size_t)GROUPS * STEPS * LANES; at++) {
        size_t lane = at % LANES, step = at / LANES % STEPS, group = at / LANES / STEPS;
        const uint32_t *vector = vectors[groups[group].kind - 1];
        uint32_t difference = difference_at(vector + BEGIN + step - groups[group].begins[lane]);
        ret_halves->differences[group][step][lane] = ROTATE(difference, groups[group].rotated[lane]);
    }
}

static lanes lanes_of(uint32_t word)
{
    return (lanes){word, word, word, word};
}

/* Does one of the four other halves end in the same hash? */
static bool meets(const uint32_t own[STATE + STEPS], const uint32_t words[STEPS], const lanes *differences,
                  unsigned equal_at)
{
    lanes q[STATE + STEPS], differs = {0};
    for (size_t i = equal_at; i < equal_at + STATE; i++)
        q[i] = lanes_of(own[i]);
    for (size_t i = equal_at; i < STEPS; i++)
        q[i + STATE] = SUM(i, q + i) + ROTATE(q[i], 30) + (lanes_of(words[i]) ^ differences[i]);
    for (size_t i = equal_at; i-- > 0;) {
        lanes oldest = q[i + STATE] - SUM(i, q + i) - (lanes_of(words[i]) ^ differences[i]);
        q[i] = ROTATE(oldest, 2);
    }
    for (size_t i = 0; i < STATE; i++) {
        bool is_turned = i < STATE - 2; /* c, d and e */
        lanes before = is_turned ? ROTATE(q[i], 30) : q[i],
              after = is_turned ? ROTATE(q[STEPS + i], 30) : q[STEPS + i];
        uint32_t sum = is_turned ? ROTATE(own[i], 30) + ROTATE(own[STEPS + i], 30) : own[i] + own[STEPS + i];
        differs |= (before + after) ^ lanes_of(sum);
    }
    for (size_t i = 0; i < LANES; i++) {
        if (!differs[i])
            return true;
    }
    return false;
}

/* --- the hash ----------------------------------------------------------------------------------------------------- */

static void mix_block(struct sha1 *sha1)
{
    uint32_t words[STEPS], q[STATE + STEPS];
    for (size_t i = 0; i < WORDS; i++)
        words[i] = (uint32_t)sha1->block[4 * i] << 24 | (uint32_t)sha1->block[4 * i + 1] << 16 |
                   (uint32_t)sha1->block[4 * i + 2] << 8 | sha1->block[4 * i + 3];
    expand(words, STEPS);
    for (size_t i = 0; i < STATE; i++)
        q[i] = ROTATE(sha1->state[STATE - 1 - i], i < STATE - 2 ? 2 : 0);
    for (size_t i = 0; i < STEPS; i++)
        q[i + STATE] = SUM(i, q + i) + ROTATE(q[i], 30) + words[i];
    for (size_t i = 0; i < STATE; i++)
        sha1->state[STATE - 1 - i] += ROTATE(q[STEPS + i], i < STATE - 2 ? 30 : 0);
    for (size_t i = 0; sha1->halves && i < GROUPS; i++)
        sha1->is_forged |= meets(q, words, sha1->halves->differences[i], groups[i].equal_at);
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

static bool hash(const struct halves *halves, struct bytes head, struct bytes content,
                 unsigned char ret_hash[SHA1_SIZE])
{
    struct sha1 sha1 = {.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
                        .halves = halves};
    add(&sha1, (const unsigned char *)head.at, head.size);
    add(&sha1, (const unsigned char *)content.at, content.size);
    uint64_t bits = sha1.total * 8;
    add(&sha1, (const unsigned char *)"\x80", 1);
    while (sha1.filled != 56)
        add(&sha1, (const unsigned char *)"\0", 1);
    for (unsigned i = 0; i < 8; i++)
        sha1.block[56 + i] = (unsigned char)(bits >> (56 - 8 * i));
    mix_block(&sha1);
    for (size_t i = 0; i < SHA1_SIZE; i++)
        ret_hash[i] = (unsigned char)(sha1.state[i / 4] >> (24 - 8 * (i % 4)));
    return !sha1.is_forged;
}

void sha1_of(struct bytes head, struct bytes content, unsigned char ret_hash[SHA1_SIZE])
{
    hash(NULL, head, content, ret_hash);
}

bool sha1_of_object(struct bytes head, struct bytes content, unsigned char ret_hash[SHA1_SIZE])
{
    struct halves halves;
    make_halves(&halves);
    return hash(&halves, head, content, ret_hash);
}
