#include "egress/hello.h"

#include <ctype.h>
#include <string.h>

#include "base/reader.h"

enum {
    RECORD_HEADER = 5,
    RECORD_LARGEST = 16384,
    TYPE_HANDSHAKE = 22,
    TYPE_CLIENT_HELLO = 1,
    EXTENSION_SERVER_NAME = 0,
    NAME_IS_HOST = 0,
};

static enum hello read_server_name(struct reader extension, char ret_name[NAME_LONGEST + 1])
{
    struct reader list = reader_vector(&extension, 2);
    size_t type = reader_number(&list, 1);
    struct reader name = reader_vector(&list, 2);
    if (list.failed || extension.size || list.size || type != NAME_IS_HOST || name.size == 0 ||
        name.size > NAME_LONGEST || memchr(name.at, '\0', name.size))
        return HELLO_BAD;
    for (size_t i = 0; i < name.size; i++)
        ret_name[i] = (char)tolower(name.at[i]);
    ret_name[name.size] = '\0';
    return HELLO_NAMED;
}

static enum hello read_message(struct reader message, char ret_name[NAME_LONGEST + 1])
{
    enum hello found = HELLO_NAMELESS;
    reader_take(&message, 2 + 32); /* version, random */
    reader_vector(&message, 1);    /* session */
    reader_vector(&message, 2);    /* ciphers */
    reader_vector(&message, 1);    /* compressions */
    if (!message.failed && message.size == 0)
        return HELLO_NAMELESS; /* TLS 1.0 allowed a hello without extensions */
    struct reader extensions = reader_vector(&message, 2);
    if (message.failed || message.size)
        return HELLO_BAD;
    while (extensions.size && !extensions.failed) {
        size_t type = reader_number(&extensions, 2);
        struct reader extension = reader_vector(&extensions, 2);
        if (extensions.failed || type != EXTENSION_SERVER_NAME)
            continue;
        if (found != HELLO_NAMELESS || (found = read_server_name(extension, ret_name)) == HELLO_BAD)
            return HELLO_BAD; /* two names: the server might choose either */
    }
    return extensions.failed ? HELLO_BAD : found;
}

/* The bytes of the handshake so far: a whole message, or the beginning of one that may become a ClientHello. */
static enum hello read_so_far(const uint8_t *bytes, size_t have, char ret_name[NAME_LONGEST + 1])
{
    struct reader handshake = {bytes, have, false};
    uint32_t type = reader_number(&handshake, 1);
    if (!handshake.failed && type != TYPE_CLIENT_HELLO)
        return HELLO_BAD;
    size_t length = reader_number(&handshake, 3);
    if (handshake.failed)
        return HELLO_MORE;
    if (length + 4 > HELLO_LARGEST)
        return HELLO_BAD;
    struct reader message = reader_take(&handshake, length);
    return message.failed ? HELLO_MORE : read_message(message, ret_name);
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
