/* The stream cipher ChaCha20 (RFC 8439). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CHACHA20_KEY = 32 };

/* Encrypts or decrypts. Never encrypt two plaintexts under the same (key, stream). A stream has at most 256 GiB. */
void chacha20(const unsigned char key[CHACHA20_KEY], uint64_t stream, const void *from, size_t size,
              void *ret_to);
