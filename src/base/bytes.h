/* The content of a file, or that it was not read: then the size is 0, so that no missing bytes are hashed or written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
    const char *at; /* NULL: not read, because it is too large or because the machine failed */
    size_t size;    /* 0 where `at` is NULL */
};

static inline struct bytes bytes_of(const char *at, size_t size)
{
    return (struct bytes){at, at ? size : 0};
}

static inline bool bytes_known(struct bytes bytes)
{
    return bytes.at != NULL;
}

/* Are both known, and the same? */
static inline bool bytes_equal(struct bytes one, struct bytes two)
{
    return bytes_known(one) && bytes_known(two) && one.size == two.size &&
           memcmp(one.at, two.at, one.size) == 0;
}
