/*
 * The DNS as it is spoken on the wire: one question in, one answer out. Strict: what does not have exactly one meaning is
 * not answered with one. Nothing here asks anybody or decides anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum { DNS_LARGEST_QUESTION = 1232, DNS_LARGEST_ANSWER = 1232 };

enum dns_type {
    DNS_A = 1,
    DNS_PTR = 12,
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
    bool has_options;            /* EDNS: the asking side reads reasons */
    uint8_t spelled[256];        /* the name as it was asked, upper and lower case kept */
    size_t spelled_size;
};

/* DNS_FINE with the question, or what is wrong with it (then id and flags are set, where there are any). */
enum dns_code dns_read(const uint8_t *bytes, size_t size, struct dns_question *ret_question);

struct dns_answer {
    enum dns_code code;
    const uint8_t *address; /* of `address_size` bytes, or NULL: no data */
    size_t address_size;
    const char *reason; /* why there is no such name, for people; may be NULL */
};

/* Returns the answer's size. */
size_t dns_write(const struct dns_question *question, const struct dns_answer *answer,
                 uint8_t ret_bytes[DNS_LARGEST_ANSWER]);
