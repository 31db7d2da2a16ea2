/* The wire format of DNS: parses one question, writes one answer. A question with more than one meaning is malformed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum { DNS_LARGEST_QUESTION = 1232, DNS_LARGEST_ANSWER = 1232 };

enum dns_type {
    DNS_A = 1,
    DNS_AAAA = 28,
};

enum dns_code {
    DNS_FINE = 0,
    DNS_MALFORMED = 1,
    DNS_FAILED = 2,
    DNS_NO_SUCH_NAME = 3,
    DNS_NOT_IMPLEMENTED = 4,
    DNS_IGNORED = 255, /* not a question: no answer at all */
};

struct dns_question {
    uint16_t id, flags, type;
    char name[NAME_LONGEST + 1]; /* lower case, without the dot at the end; "" for the root */
    bool has_options;            /* EDNS: the client understands extended errors */
    uint8_t spelled[256];        /* the name in wire format, in the case in which it was asked */
    size_t spelled_size;
};

/* Returns DNS_FINE with the question, or an error code. Then id and flags are set, unless the bytes are too few. */
enum dns_code dns_read(const uint8_t *bytes, size_t size, struct dns_question *ret_question);

struct dns_answer {
    enum dns_code code;
    const uint8_t *address; /* NULL: the name has no address of this type */
    size_t address_size;
    const char *reason; /* why the name does not exist, for a person; may be NULL */
};

/* Returns the answer's size. */
size_t dns_write(const struct dns_question *question, const struct dns_answer *answer,
                 uint8_t ret_bytes[DNS_LARGEST_ANSWER]);
