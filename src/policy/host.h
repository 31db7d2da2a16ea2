/*
 * Hosts in rules and in questions: a name, a wildcard, an address or a network, and a port. Each has one spelling: names are
 * lower case without a trailing dot, IPv4 inside IPv6 becomes IPv4. Decimal, octal and hexadecimal addresses are refused,
 * because some resolvers accept them.
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
    const char *name;    /* HOST_NAME; for HOST_SUFFIX the part after "*." */
    uint8_t address[16]; /* HOST_ADDRESS: IPv4 as ::ffff:a.b.c.d */
    uint8_t prefix;      /* how many leading bits count */
    uint16_t port;       /* 0: no port */
    bool may_be_unnamed; /* written with HOST_UNNAMED: TLS without a host name passes too */
};

#define HOST_UNNAMED "+unnamed"

enum { PORT_HTTP = 80, PORT_HTTPS = 443, NAME_LONGEST = 253 };

/* Returns -1 with a problem, and perhaps a hint, if the text is not a host. */
int host_parse(struct arena *arena, const char *text, struct host_object *ret_host, const char **ret_problem,
               const char **ret_hint) must_check;

/* The same for a host to connect to: the default port is 443. */
int host_parse_target(struct arena *arena, const char *text, struct host_object *ret_host,
                      const char **ret_problem, const char **ret_hint) must_check;

/* Why no grant can open the host, with a hint; NULL if one can. `localhost` is the sandbox's own inside, and its name is never asked for. */
const char *host_problem_with_grant(struct arena *arena, const struct host_object *host,
                                    const char **ret_hint);

/* A port from 1 to 65535, only digits. */
bool port_parse(const char *text, uint16_t *ret_port);

/* Does the pattern cover the host? The caller compares ports. */
bool host_covers(const struct host_object *pattern, const struct host_object *asked);

/* Is it the machine that asks: localhost, a name below it, or a loopback address? */
bool host_is_loopback(const struct host_object *host);

/*
 * May a connection to the host end at the address, even if the host does not cover it? A name can resolve to any address, and
 * an IPv6 network may contain addresses that stand for IPv4 ones.
 */
bool host_may_lead_to(const struct host_object *host, const struct host_object *address);

/* Of two patterns that cover the same host, the one with the larger number is more specific. */
size_t host_specificity(const struct host_object *pattern);

/* The host as a person writes it, without the port. */
char *host_text(struct arena *arena, const struct host_object *host);

/* Adds the port: "example.com:22", "[2001:db8::1]:443". No port if it is 0. */
const char *host_with_port(struct arena *arena, const char *host, uint16_t port);
