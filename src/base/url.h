/*
 * Addresses of web pages that somebody else wrote, to be opened by a program of the user's: read strictly, and refused
 * where two readers could understand them differently.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { URL_LONGEST = 4096 };

struct url {
    const char *host; /* in the text that was read; not ended by NUL */
    size_t host_size;
    uint16_t
        answer_port; /* of this machine's loopback, to which the page sends its answer (redirect_uri); 0: none */
};

/* An https page at its usual port, without a user's name: "https://HOST/…", of plain characters alone. */
bool url_parse(const char *text, size_t size, struct url *ret_url);

/* Is the host this one, in whichever case? */
bool url_has_host(const struct url *url, const char *host);

/* How many characters from the start on could belong to an address. */
size_t url_span(const char *text, size_t size);
