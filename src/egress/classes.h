/*
 * What kind of address it is: whom a name may lead to, and what only an address in a rule opens. A name on the allowlist is
 * in the hands of whoever owns it; it must not lead to this machine, its neighbours or its cloud's metadata.
 */
#pragma once

#include "base/attr.h"
#include "base/vec.h"
#include "kernel/endpoint.h"
#include "policy/host.h"

#define ADDRESS_CLASSES(X)                                                                                   \
    X(UNUSABLE, "an address that nobody has")                                                                \
    X(LOOPBACK, "this machine's loopback")                                                                   \
    X(OWN, "an address of this machine")                                                                     \
    X(LINK_LOCAL, "a link-local address, where clouds keep their metadata")                                  \
    X(MULTICAST, "a multicast or broadcast address")                                                         \
    X(PRIVATE, "a private network's address")                                                                \
    X(PUBLIC, "a public address")

enum address_class {
#define X(id, text) ADDRESS_##id,
    ADDRESS_CLASSES(X)
#undef X
};

const char *address_class_text(enum address_class class);

/* Of the address alone; an IPv4 address in IPv6 clothes (mapped, NAT64, 6to4, Teredo) is what it wears them over. */
enum address_class address_classify(const struct endpoint *endpoint);

/* This machine's own addresses, as they were a moment ago. */
struct own_addresses {
    VEC(struct endpoint) all;
    bool are_known; /* false: they could not be read, and every address may be one */
    int64_t until;
};

void own_addresses_read(struct own_addresses *own);
bool own_addresses_have(const struct own_addresses *own, const struct endpoint *endpoint);

/* May a rule for this address or network lead to an address of that class? A wide network does not mean what is special. */
bool address_is_meant(const struct host_object *rule, enum address_class class);
