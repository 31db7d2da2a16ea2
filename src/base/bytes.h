/*
 * A piece of memory: the content of a file, or a part of it. If a file was not read its size is 0, so that no missing bytes are hashed
 * or written.
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

static inline bool bytes_start_with(struct bytes bytes, const char *start)
{
    size_t size = strlen(start);
    return bytes.size >= size && memcmp(bytes.at, start, size) == 0;
}

/* What follows the first `size` bytes, of which there are as many. */
static inline struct bytes bytes_after(struct bytes bytes, size_t size)
{
    return bytes_of(bytes.at + size, bytes.size - size);
}

/* Takes a line off the text, without its newline, which the last one may lack. Returns false at the end. */
static inline bool bytes_take_line(struct bytes *text, struct bytes *ret_line)
{
    if (text->size == 0)
        return false;
    const char *end = memchr(text->at, '\n', text->size);
    *ret_line = bytes_of(text->at, end ? (size_t)(end - text->at) : text->size);
    *text = bytes_after(*text, ret_line->size + (end ? 1 : 0));
    return true;
}

/* Are both known, and the same? */
static inline bool bytes_equal(struct bytes one, struct bytes two)
{
    return bytes_known(one) && bytes_known(two) && one.size == two.size &&
           memcmp(one.at, two.at, one.size) == 0;
}

static inline bool bytes_equal_text(struct bytes bytes, const char *text)
{
    return bytes_equal(bytes, bytes_of(text, strlen(text)));
}
