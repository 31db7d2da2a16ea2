/* A growing byte buffer, always NUL-terminated once something was added. */
#pragma once

#include <stddef.h>

#include "base/attr.h"

struct buf {
    char *bytes;
    size_t size, capacity;
};

void buf_add(struct buf *buf, const char *bytes, size_t size);
void buf_add_char(struct buf *buf, char byte);
void buf_add_str(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) printf_like(2, 3);
void buf_pad(struct buf *buf, size_t from, size_t columns); /* spaces until size - from >= columns */
/* Adds a descriptor's bytes until its end, or until `most` in all. Returns -1 with errno; bytes read before stay. */
int buf_read(struct buf *buf, int fd, size_t most);

const char *buf_text(const struct buf *buf) returns_text;
void buf_free(struct buf *buf);

#define auto_buf __attribute__((cleanup(buf_free)))
