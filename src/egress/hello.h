/* The name in the first message of a TLS connection: the outer server name of the ClientHello, as the network sees it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum hello {
    HELLO_BAD,  /* not a ClientHello, or one that could be read in two ways */
    HELLO_MORE, /* what is there so far may become one */
    HELLO_NAMELESS,
    HELLO_NAMED,
};

enum { HELLO_LARGEST = 16384 }; /* as one record may be, headers of records not counted */

/* ret_name is written for HELLO_NAMED: any bytes but NUL, in lower case. */
enum hello hello_read(const uint8_t *bytes, size_t size, char ret_name[NAME_LONGEST + 1]);
