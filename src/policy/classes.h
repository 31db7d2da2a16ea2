/*
 * Classes of addresses: which ones a name may lead to, and which ones only a rule with the address itself opens. The owner of an
 * allowed name chooses its addresses; they must not be this machine, its neighbours or its cloud's metadata service.
 */
#pragma once

#include "base/attr.h"
#include "base/names.h"
#include "kernel/endpoint.h"
#include "policy/host.h"

#define ADDRESS_CLASSES(X)                                                                                   \
    X(ADDRESS_UNUSABLE, "an unassigned address")                                                             \
    X(ADDRESS_LOOPBACK, "this machine's loopback")                                                           \
    X(ADDRESS_OWN, "an address of this machine")                                                             \
    X(ADDRESS_LINK_LOCAL, "a link-local address, where clouds keep their metadata")                          \
    X(ADDRESS_MULTICAST, "a multicast or broadcast address")                                                 \
    X(ADDRESS_PRIVATE, "a private network's address")                                                        \
    X(ADDRESS_PUBLIC, "a public address")

enum address_class { ADDRESS_CLASSES(ID_OF) };

const char *address_class_text(enum address_class value);

/* By the address alone. An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4, Teredo) has the class of that one. */
enum address_class address_classify(const struct endpoint *endpoint);

enum { TRANSLATORS_MOST = 8 };

/* The NAT64 prefixes of this network: a packet to PREFIX::a.b.c.d is translated and sent to a.b.c.d. */
struct translators {
    struct translator {
        uint8_t prefix[12];
        size_t size; /* of the prefix, in bytes */
    } all[TRANSLATORS_MOST];
    size_t count;
};

/*
 * Learns prefixes from one IPv6 address of ipv4only.arpa, which really has only two well-known IPv4 addresses (RFC 7050). If
 * the address fits several prefix lengths, all count.
 */
#define TRANSLATORS_NAME "ipv4only.arpa"
void translators_learn(struct translators *translators, const struct endpoint *found);

/* The IPv4 addresses that it embeds, by a well-known form or by a prefix of this network. Returns how many. */
enum { ADDRESS_MOST_INNER = TRANSLATORS_MOST + 1 };
size_t address_inner(const struct endpoint *endpoint, const struct translators *translators,
                     struct endpoint ret_inner[ADDRESS_MOST_INNER]);

/* Does a rule for this address or network open an address of that class? A wide network does not open special addresses. */
bool address_is_meant(const struct host_object *rule, enum address_class class);
