/*
 * What a file holds, or that it was not read. Both are one value: where nothing was read there is no size either, so that
 * nobody can hash, compare or write bytes that are not there.
 */
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
