/* Which host an address leads to, and whether it may be dialled. */
#pragma once

#include "egress/lookup.h"
#include "egress/table.h"
#include "policy/classes.h"

enum { ROUTES_MOST = 16, LEADS_SENTENCE_SIZE = 160 };

/* What the kernel said about addresses: are they this machine's own? */
struct routes {
    int fd;
    bool is_open;
    struct known_route {
        uint8_t address[16];
        bool is_here;
    } known[ROUTES_MOST]; /* a ring */
    size_t count;         /* of all questions; the last ROUTES_MOST are in the ring */
    int64_t until;        /* the answers are trusted */
};

struct leads {
    const struct table *table;
    struct lookup *lookup;
    struct routes routes;
    struct translators translators;
    int64_t translators_until;
    bool translators_are_asked;
};

/* If the address stands for others (classes.h), the most special class of them all. */
enum address_class leads_class(struct leads *leads, const struct endpoint *address);
bool leads_to_refused(const struct leads *leads, const struct endpoint *address, uint16_t port);

/* Removes the addresses that must not be dialled for a name that this rule allows. The sentence is about the last of them. */
void leads_keep_permitted(struct leads *leads, const struct rule *rule, uint16_t port,
                          struct lookup_result *addresses, char ret_sentence[LEADS_SENTENCE_SIZE]);

/*
 * Do these addresses depend on this network's NAT64 prefixes, which are not known yet? Then a lookup is started, whose `self`
 * is the struct leads; its result goes to leads_take_translators.
 */
bool leads_must_wait(struct leads *leads, const struct endpoint *addresses, size_t count);
void leads_take_translators(struct leads *leads, const struct lookup_result *result);
