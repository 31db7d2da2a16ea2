/* SHA-1 (FIPS 180-4), because git names its objects by it. Nothing of bawn's own relies on it. */
#pragma once

#include <stddef.h>

enum { SHA1_SIZE = 20, SHA1_DIGITS = 40 };

/* Of two pieces after one another: git puts a head before an object's content. */
void sha1_of(const void *head, size_t head_size, const void *bytes, size_t size,
             unsigned char ret_hash[SHA1_SIZE]);
