/* SHA-256 (FIPS 180-4), to pin the content of a policy that the user has trusted. */
#pragma once

#include <stddef.h>

enum { SHA256_HEX_SIZE = 65 }; /* 64 digits and the NUL */

void sha256_hex(const void *bytes, size_t size, char ret_hex[SHA256_HEX_SIZE]);
