/*
 * One content of a file that several programs replace at any time. It is read only if it is complete, and replaced only if it
 * is still what was read. Both sides are trusted with bytes only.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"

enum { VERSION_LARGEST = 1024 * 1024 };

enum version_state {
    VERSION_UNFIT, /* being written, empty, too large, a symlink or not regular: see `why` */
    VERSION_NONE,  /* there is no such file */
    VERSION_WHOLE,
};

struct version {
    enum version_state state;
    const char *why;
    bool is_no_file; /* unfit until somebody removes what is there */
    char *bytes;     /* owned */
    size_t size;
    struct timespec time; /* of its last change */
    char hash[SHA256_HEX_SIZE];
};

void version_read(int directory_fd, const char *name, struct version *ret_version);
void version_free(struct version *version);
#define auto_version __attribute__((cleanup(version_free)))

bool version_equal(const struct version *a, const struct version *b);

/*
 * Replaces `expected` by new content, or removes it (`wanted` is VERSION_NONE). Returns 1 when done, 0 if another program has
 * changed the file meanwhile: then its content stays.
 */
int version_replace(int directory_fd, const char *name, const struct version *wanted,
                    const struct version *expected, struct err *err) must_check;
