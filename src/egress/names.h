/*
 * The table of names: which synthetic address stands for which name inside, and where connections to it are accepted.
 *
 * Theory of operation
 *
 * A program inside asks for a name (resolver.c). If a rule allows the name, the table gives it an IPv4 address, which exists
 * only in the sandbox's network namespace: 198.18.0.1 is the DNS server, entry n of by_address is 198.18.0.2 + n. Process 1
 * makes a listening socket at that address for each port that a rule allows for the name (asks.c). accept.c asks the table
 * which name a connection's local address stands for.
 *
 * An entry goes through these states:
 *
 *   entered     it has an address and no socket
 *   asking      `outstanding` sockets have been requested. DNS questions for the name wait in `questions`
 *   listening   outstanding is 0. on_listening is called, and the resolver answers the questions: with the address if
 *               `listening` > 0, with a failure if every request failed
 *
 * name_listen starts again at `asking` when a new rule allows a further port.
 *
 * Invariants
 *
 *   1. A name keeps its address for the whole session, and an address is never given to another name. Programs inside cache
 *      addresses, and a reused address would lead to the wrong host. So entries are never freed.
 *   2. Each new entry is reported to bawn ("name ADDRESS NAME"). A helper that is started later gets the lines back and enters
 *      the names at the same addresses. It requests new sockets, since those of the earlier helper closed with it.
 *   3. Each port is in `ports` once, and is requested once, even if the request fails.
 *   4. Being in the table grants nothing. accept.c asks the rules again for every connection.
 *   5. by_address has at most 2 * MOST_NAMES places. Names below wildcards are entered only while there are fewer than
 *      MOST_NAMES, so names that a rule spells out always find a place.
 *
 * Who owns what: names and their texts are in the arena. A listening socket belongs to listeners.c as soon as it is there.
 * `found` is dial.c's cache of the name's real addresses; it is never shown inside.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "egress/asks.h"
#include "egress/dns.h"
#include "egress/listeners.h"
#include "egress/lookup.h"
#include "egress/table.h"
#include "egress/tell.h"

enum { MOST_NAMES = 4096 };

struct resolver;

/* A DNS question that cannot be answered yet. */
struct waiting_question {
    struct dns_question question;
    void (*answer)(const struct waiting_question *waiting, const struct dns_answer *answer);
    struct resolver *resolver;
    struct endpoint from;
    void *stream; /* TCP; NULL: UDP */
};

typedef VEC(struct waiting_question) question_list;

struct name {
    struct names *names;
    const char *text;
    struct host_object host;
    struct endpoint address; /* the synthetic one; port 0 */
    VEC(uint16_t) ports;
    size_t outstanding, listening;
    question_list questions;
    struct lookup_result found; /* outside */
    int64_t found_until;
    bool is_looked_up; /* a lookup is under way */
};

struct names {
    struct arena *arena;
    const struct table *table;
    struct tell *tell;
    struct asks *asks;
    struct listeners *listeners;
    void (*on_listening)(struct name *name);
    struct map by_text;
    VEC(struct name *) by_address; /* NULL: the place is free */
};

/* The entry of a HOST_NAME, made if it is missing. `address` 0: the next free one. NULL: there is no place, or it is no name. */
struct name *name_enter(struct names *names, const struct host_object *host, uint32_t address);
struct name *name_of_address(const struct names *names, const struct endpoint *address);

/* Is the name in the table, or may a name below a wildcard still be entered? */
bool names_have_room(const struct names *names, const char *text);

/* Requests a socket for each port that the rules allow for the name, or for every name. */
void name_listen(struct name *name);
void names_listen(const struct names *names);
