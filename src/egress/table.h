/*
 * The rules about hosts. They come from the plan as lines of text, and more may come while the command runs. policy/decide.h
 * decides, as it does for the plan.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "kernel/endpoint.h"
#include "policy/policy.h"

struct table {
    struct arena arena;
    struct policy policy;
    VEC(uint16_t) ports;      /* of all `connect` rules, each once; with `asks` also 80 and 443 */
    VEC(uint16_t) host_ports; /* `host-port` rules */
    bool asks;                /* a person is asked for hosts that no rule names */
};

/*
 * "connect HOST:PORT", "once HOST:PORT", "refuse HOST:PORT", "host-port PORT"; `by_person`: not from a shipped profile. `once` is a
 * `connect` for one connection.
 */
int table_add(struct table *table, const char *verb, const char *object, bool by_person, struct err *err)
    must_check;

/* Call it after the last table_add: the functions below use the index. */
void table_index(struct table *table);

/* May the host be reached at the port? *ret_rule (or NULL) is a copy of the rule that allows it: rules move when more come. */
bool table_allows(const struct table *table, const struct host_object *host, uint16_t port,
                  struct rule *ret_rule);

/* A connection goes on by this rule, a copy. Removes a rule that was for one connection, and returns whether it was one. */
bool table_spend(struct table *table, const struct rule *used);

/* From now on a person is asked for hosts that no rule names. */
void table_begin_asking(struct table *table);

/* Is a person asked for the host at the port? No rule decides about it. */
bool table_asks(const struct table *table, const struct host_object *host, uint16_t port);

/* Does a rule refuse the address, whichever name leads to it? */
bool table_refuses(const struct table *table, const struct endpoint *address, uint16_t port);

/* May a name that this rule allows lead into private networks? */
bool table_trusts_name(const struct rule *rule);

bool table_is_host_port(const struct table *table, const struct endpoint *endpoint);

/* The address in the form of the policy. */
struct host_object table_address(const struct endpoint *endpoint);

void table_free(struct table *table);
