/* The HTTP proxy of the caller's environment, if any: its address, its exceptions, and the CONNECT request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

struct proxy {
    const char *host; /* NULL: no proxy */
    uint16_t port;
    const char *authorization; /* in base64, or NULL */
    const char *exceptions;    /* the text of NO_PROXY, or NULL */
    bool is_looked_up;         /* a lookup is under way */
};

/* "http://[user:password@]host[:port][/]" */
int proxy_parse(struct arena *arena, const char *url, struct proxy *proxy, struct err *err) must_check;

/* Is this host (a name or an address) dialled without the proxy? */
bool proxy_is_excepted(const struct proxy *proxy, const char *host, uint16_t port);

/* Adds the CONNECT request for that host. */
void proxy_add_request(const struct proxy *proxy, const char *host, uint16_t port, struct buf *out);

/* Returns the size of the proxy's answer, 0 while it is incomplete, -1 if it refuses or is malformed. */
enum { PROXY_LARGEST_ANSWER = 8192 };
ptrdiff_t proxy_read_answer(const char *bytes, size_t size);
