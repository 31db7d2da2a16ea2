/*
 * Reads binary formats from the front, within the bounds of the bytes. After the first failure every further read fails too,
 * so that a parser checks `failed` once at its end. Numbers are big-endian.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const uint8_t *at;
    size_t size; /* bytes that are left */
    bool failed;
};

/* The next `size` bytes, as a reader of their own. If there are fewer, both readers have failed. */
static inline struct reader reader_take(struct reader *reader, size_t size)
{
    if (reader->failed || size > reader->size) {
        reader->failed = true;
        return (struct reader){.failed = true};
    }
    struct reader part = {reader->at, size, false};
    reader->at += size;
    reader->size -= size;
    return part;
}

/* A number of at most four bytes; 0 on failure. */
static inline uint32_t reader_number(struct reader *reader, size_t bytes)
{
    struct reader part = reader_take(reader, bytes);
    uint32_t number = 0;
    for (size_t i = 0; i < part.size; i++)
        number = number << 8 | part.at[i];
    return number;
}

/* A number of `size_bytes` bytes, then as many bytes as it says. */
static inline struct reader reader_vector(struct reader *reader, size_t size_bytes)
{
    return reader_take(reader, reader_number(reader, size_bytes));
}
