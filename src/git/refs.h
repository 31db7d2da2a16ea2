/* The commits that a repository's branches, tags and HEAD named before a moment, read from its files. */
#pragma once

#include <stddef.h>
#include <time.h>

#include "base/bytes.h"
#include "base/vec.h"

enum { SHA1_SIZE = 20, SHA1_DIGITS = 40 };

struct git_hash {
    unsigned char bytes[SHA1_SIZE];
};

typedef VEC(struct git_hash) git_hashes;

/* Files that were changed since are left out: somebody else may have written them. At most `most`, without repetition. */
void git_refs_before(const char *git_dir, struct timespec before, size_t most, git_hashes *ret_hashes);

/* Forty digits. Returns false for anything else. */
int git_hash_parse(const char *text, struct git_hash *ret_hash);
void git_hash_format(const struct git_hash *hash, char ret_text[SHA1_DIGITS + 1]);

/* The name that git gives an object of this kind. */
void git_hash_of(const char *kind, struct bytes content, struct git_hash *ret_hash);

/* SHA-1 (FIPS 180-4), because git names its objects by it. Nothing of bawn's own relies on it. */

/* Of two pieces after one another: git puts a head before an object's content. */
void sha1_of(const void *head, size_t head_size, const void *bytes, size_t size,
             unsigned char ret_hash[SHA1_SIZE]);
