/*
 * Hosts in rules and in questions: a name, a wildcard, an address or a network, and a port. One spelling has one
 * meaning: names are lower case without a trailing dot, IPv4 inside IPv6 is IPv4, and whatever some resolvers would
 * read as an address in disguise (decimal, octal, hexadecimal) is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"

enum host_kind { HOST_NAME, HOST_SUFFIX, HOST_ADDRESS };

struct host_object {
    enum host_kind kind;
    const char *name;    /* HOST_NAME; for HOST_SUFFIX what follows "*." */
    uint8_t address[16]; /* HOST_ADDRESS: IPv4 as ::ffff:a.b.c.d */
    uint8_t prefix;      /* how many leading bits of it count */
    uint16_t port;       /* 0: none was named */
    bool
        may_be_unnamed; /* written with HOST_UNNAMED after it: TLS that names no host is let through as well */
};

#define HOST_UNNAMED "+unnamed"

enum { PORT_HTTP = 80, PORT_HTTPS = 443, NAME_LONGEST = 253 };

/* Returns 0, or -1 with a sentence (and perhaps advice) about what is wrong with it. */
int host_parse(struct arena *arena, const char *text, struct host_object *ret_host, const char **ret_problem,
               const char **ret_hint) must_check;

/* The same for a host to connect to: without a port, it is 443. */
int host_parse_target(struct arena *arena, const char *text, struct host_object *ret_host,
                      const char **ret_problem, const char **ret_hint) must_check;

/* A port from 1 to 65535, digits alone. */
bool port_parse(const char *text, uint16_t *ret_port);

/* Does the pattern cover the host that is asked for? Ports are the caller's to compare. */
bool host_covers(const struct host_object *pattern, const struct host_object *asked);

/*
 * May a connection to the host end at the address, though it does not cover it? A name leads anywhere, and a network of IPv6
 * may hold addresses that stand for those of IPv4.
 */
bool host_may_lead_to(const struct host_object *host, const struct host_object *address);

/* Of two patterns that cover the same host, the greater number says more about it. */
size_t host_specificity(const struct host_object *pattern);

/* As a person writes it, without the port. */
char *host_text(struct arena *arena, const struct host_object *host);

/* A host's text and a port: "example.com:22", "[2001:db8::1]:443"; without the port where it is 0. */
const char *host_with_port(struct arena *arena, const char *host, uint16_t port);
