#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"

static char *reserve(struct buf *buf, size_t more)
{
    if (buf->capacity - buf->size <= more) {
        size_t capacity = (buf->size + more + 1) * 2;
        buf->bytes = must_realloc(buf->bytes, capacity, 1);
        buf->capacity = capacity;
    }
    return buf->bytes + buf->size;
}

void buf_add(struct buf *buf, const char *bytes, size_t size)
{
    char *end = reserve(buf, size);
    if (size)
        memcpy(end, bytes, size);
    end[size] = '\0';
    buf->size += size;
}

void buf_add_char(struct buf *buf, char byte)
{
    char *end = reserve(buf, 1);
    end[0] = byte;
    end[1] = '\0';
    buf->size++;
}

void buf_add_str(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

/* As in arena_vprintf(), what is reserved already mostly is enough. */
void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t left = buf->capacity - buf->size;
    int length = vsnprintf(left ? buf->bytes + buf->size : NULL, left, format, args);
    va_end(args);
    if (length > 0) {
        if ((size_t)length >= left)
            vsnprintf(reserve(buf, (size_t)length), (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    } else if (left) {
        buf->bytes[buf->size] = '\0';
    }
    va_end(again);
}

void buf_pad(struct buf *buf, size_t from, size_t columns)
{
    size_t size = buf->size - from;
    if (size >= columns)
        return;
    memset(reserve(buf, columns - size), ' ', columns - size);
    buf->size = from + columns;
    buf->bytes[buf->size] = '\0';
}

int buf_read(struct buf *buf, int fd, size_t most)
{
    not_zeroed char part[16384];
    while (buf->size < most) {
        size_t room = most - buf->size;
        ssize_t got = read(fd, part, room < sizeof(part) ? room : sizeof(part));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        buf_add(buf, part, (size_t)got);
    }
    return 0;
}

const char *buf_text(const struct buf *buf)
{
    return buf->bytes ? buf->bytes : "";
}

void buf_free(struct buf *buf)
{
    free(buf->bytes);
    *buf = (struct buf){0};
}
