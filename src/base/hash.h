/* Hashes, and a cipher. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* --- blake2b --- */

/* BLAKE2b with 256 bits (RFC 7693): as strong as SHA-256, and several times faster where no instruction helps. */

enum { BLAKE2B_SIZE = 32, BLAKE2B_BLOCK = 128 };

struct blake2b {
    uint64_t state[8], count;
    unsigned char block[BLAKE2B_BLOCK];
    size_t filled;
};

void blake2b_begin(struct blake2b *hash);
void blake2b_add(struct blake2b *hash, const void *bytes, size_t size);
void blake2b_end(struct blake2b *hash, unsigned char ret_digest[BLAKE2B_SIZE]);

/* --- sha256 --- */

/* SHA-256 (FIPS 180-4), to pin the content of a policy that the user has trusted. */

enum { SHA256_HEX_SIZE = 65 }; /* 64 digits and the NUL */

void sha256_hex(const void *bytes, size_t size, char ret_hex[SHA256_HEX_SIZE]);

/* --- FNV-1a --- */

/* For tables and for telling changes: fast on short texts, and anybody can make two that collide. */

static const uint64_t fnv_start = 0xcbf29ce484222325, fnv_prime = 0x100000001b3;

/* Goes on with a hash, which begins as fnv_start. */
static inline uint64_t fnv_add(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * fnv_prime;
    return hash;
}
