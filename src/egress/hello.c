#include "egress/hello.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
    RECORD_HEADER = 5,
    RECORD_LARGEST = 16384,
    TYPE_HANDSHAKE = 22,
    TYPE_CLIENT_HELLO = 1,
    EXTENSION_SERVER_NAME = 0,
    NAME_IS_HOST = 0,
};

/* A part of a message whose size is known: nothing is read beyond it, and what is left over is seen. */
struct span {
    const uint8_t *at;
    size_t size;
    bool failed;
};

static struct span take(struct span *span, size_t size)
{
    if (span->failed || size > span->size) {
        span->failed = true;
        return (struct span){.failed = true};
    }
    struct span part = {span->at, size, false};
    span->at += size;
    span->size -= size;
    return part;
}

static size_t take_number(struct span *span, size_t bytes)
{
    struct span part = take(span, bytes);
    size_t number = 0;
    for (size_t i = 0; !part.failed && i < bytes; i++)
        number = number << 8 | part.at[i];
    return number;
}

/* A vector: its size in so many bytes, then its content. */
static struct span take_vector(struct span *span, size_t size_bytes)
{
    return take(span, take_number(span, size_bytes));
}

static enum hello read_server_name(struct span extension, char ret_name[NAME_LONGEST + 1])
{
    struct span list = take_vector(&extension, 2);
    size_t type = take_number(&list, 1);
    struct span name = take_vector(&list, 2);
    if (list.failed || extension.size || list.size || type != NAME_IS_HOST || name.size == 0 ||
        name.size > NAME_LONGEST || memchr(name.at, '\0', name.size))
        return HELLO_BAD;
    for (size_t i = 0; i < name.size; i++)
        ret_name[i] = (char)tolower(name.at[i]);
    ret_name[name.size] = '\0';
    return HELLO_NAMED;
}

static enum hello read_message(struct span message, char ret_name[NAME_LONGEST + 1])
{
    enum hello found = HELLO_NAMELESS;
    take(&message, 2 + 32);   /* version, random */
    take_vector(&message, 1); /* session */
    take_vector(&message, 2); /* ciphers */
    take_vector(&message, 1); /* compressions */
    if (!message.failed && message.size == 0)
        return HELLO_NAMELESS; /* older than extensions */
    struct span extensions = take_vector(&message, 2);
    if (message.failed || message.size)
        return HELLO_BAD;
    while (extensions.size && !extensions.failed) {
        size_t type = take_number(&extensions, 2);
        struct span extension = take_vector(&extensions, 2);
        if (extensions.failed || type != EXTENSION_SERVER_NAME)
            continue;
        if (found != HELLO_NAMELESS || (found = read_server_name(extension, ret_name)) == HELLO_BAD)
            return HELLO_BAD; /* two names are two meanings */
    }
    return extensions.failed ? HELLO_BAD : found;
}

/* What the bytes of the handshake so far are: a whole message, or the beginning of one that may become a hello. */
static enum hello read_so_far(const uint8_t *message, size_t have, char ret_name[NAME_LONGEST + 1])
{
    if (have && message[0] != TYPE_CLIENT_HELLO)
        return HELLO_BAD;
    if (have < 4)
        return HELLO_MORE;
    size_t length = (size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3];
    if (length + 4 > HELLO_LARGEST)
        return HELLO_BAD;
    return have < length + 4 ? HELLO_MORE : read_message((struct span){message + 4, length, false}, ret_name);
}

enum hello hello_read(const uint8_t *bytes, size_t size, char ret_name[NAME_LONGEST + 1])
{
    uint8_t message[HELLO_LARGEST];
    size_t have = 0;
    for (size_t at = 0;;) {
        const uint8_t *record = bytes + at;
        size_t left = size - at;
        if ((left > 0 && record[0] != TYPE_HANDSHAKE) || (left > 1 && record[1] != 3))
            return HELLO_BAD;
        if (left < RECORD_HEADER)
            return HELLO_MORE;
        size_t length = (size_t)record[3] << 8 | record[4];
        if (length == 0 || length > RECORD_LARGEST || have + length > sizeof(message))
            return HELLO_BAD;
        size_t there = left - RECORD_HEADER < length ? left - RECORD_HEADER : length;
        memcpy(message + have, record + RECORD_HEADER, there);
        have += there;
        enum hello so_far = read_so_far(message, have, ret_name);
        if (so_far != HELLO_MORE || there < length)
            return so_far;
        at += RECORD_HEADER + length;
    }
}
