/* Finds the server name in a TLS ClientHello. With Encrypted Client Hello it is the outer one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum hello {
    HELLO_BAD,  /* not a ClientHello, or an ambiguous one */
    HELLO_MORE, /* the bytes so far may become a ClientHello */
    HELLO_NAMELESS,
    HELLO_NAMED,
};

enum { HELLO_LARGEST = 16384 }; /* the size of one record, without record headers */

/* For HELLO_NAMED, ret_name is in lower case and may have any bytes but NUL. */
enum hello hello_read(const uint8_t *bytes, size_t size, char ret_name[NAME_LONGEST + 1]);
