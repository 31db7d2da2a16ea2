/* The proxy that the caller's environment names, if any: whom it is for, and what is said to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

struct proxy {
    const char *host; /* NULL: there is none */
    uint16_t port;
    const char *authorization; /* in base64, or NULL */
    const char *exceptions;    /* NO_PROXY as it was written, or NULL */
    bool is_looked_up;         /* just now: whoever waits for it waits for that */
};

/* "http://[user:password@]host[:port][/]" */
int proxy_parse(struct arena *arena, const char *url, struct proxy *proxy, struct err *err) must_check;

/* Is this host (a name or an address, as text) dialled directly? */
bool proxy_is_excepted(const struct proxy *proxy, const char *host, uint16_t port);

/* What to say to it, for a connection to that host. */
void proxy_add_request(const struct proxy *proxy, const char *host, uint16_t port, struct buf *out);

/* How long the proxy's answer is, 0 while it is not all there, -1 for a refusal or for what is no answer. */
enum { PROXY_LARGEST_ANSWER = 8192 };
ptrdiff_t proxy_read_answer(const char *bytes, size_t size);
