/*
 * What kind of address it is: whom a name may lead to, and what only an address in a rule opens. A name on the allowlist is
 * in the hands of whoever owns it; it must not lead to this machine, its neighbours or its cloud's metadata.
 */
#pragma once

#include "base/attr.h"
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

enum { TRANSLATORS_MOST = 8 };

/* Prefixes of this network behind which IPv4 is (NAT64): what goes there is sent on to the IPv4 address that follows it. */
struct translators {
    struct translator {
        uint8_t prefix[12];
        size_t size; /* of the prefix, in bytes */
    } all[TRANSLATORS_MOST];
    size_t count;
};

/*
 * One of the addresses to which the resolver leads a name that has well-known IPv4 addresses alone (RFC 7050). Where the same
 * can be read in two ways, both count.
 */
#define TRANSLATORS_NAME "ipv4only.arpa"
void translators_learn(struct translators *translators, const struct endpoint *found);

/* The IPv4 addresses that it stands for, in clothes that everybody knows or in those of this network. Returns how many. */
enum { ADDRESS_MOST_INNER = TRANSLATORS_MOST + 1 };
size_t address_inner(const struct endpoint *endpoint, const struct translators *translators,
                     struct endpoint ret_inner[ADDRESS_MOST_INNER]);

/* May a rule for this address or network lead to an address of that class? A wide network does not mean what is special. */
bool address_is_meant(const struct host_object *rule, enum address_class class);
