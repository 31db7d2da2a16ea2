/*
 * One content of a file that several programs replace at will: read only when it is whole, replaced only if it is still
 * what was read. Neither side is trusted with more than bytes.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"

enum { VERSION_LARGEST = 1024 * 1024 };

enum version_state {
    VERSION_UNFIT, /* it is being written, empty, too large, a link, no regular file: `why` */
    VERSION_NONE,  /* there is no such file */
    VERSION_WHOLE,
};

struct version {
    enum version_state state;
    const char *why;
    char *bytes; /* owned */
    size_t size;
    struct timespec time; /* of its last change */
    char hash[SHA256_HEX_SIZE];
};

void version_read(int directory_fd, const char *name, struct version *ret_version);
void version_free(struct version *version);
#define auto_version __attribute__((cleanup(version_free)))

bool version_equal(const struct version *a, const struct version *b);

/*
 * Puts a new content, or (`wanted` is VERSION_NONE) nothing, where `expected` was read. Returns 1 when that is done, 0
 * where somebody else has changed the file meanwhile: then theirs stands.
 */
int version_replace(int directory_fd, const char *name, const struct version *wanted,
                    const struct version *expected, struct err *err) must_check;
