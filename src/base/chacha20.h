/* The stream cipher ChaCha20 (RFC 8439). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CHACHA20_KEY = 32 };

/*
 * Enciphers, or deciphers what was enciphered. A key may serve any number of streams, each with a number of its own; what
 * is told apart by neither must be the same bytes. A stream has at most 256 GiB.
 */
void chacha20(const unsigned char key[CHACHA20_KEY], uint64_t stream, const void *from, size_t size,
              void *ret_to);
