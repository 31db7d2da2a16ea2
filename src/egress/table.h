/*
 * What may be reached: the rules of the plan that are about hosts, in the form in which the policy itself decides
 * (policy/decide.h). It arrives as lines of text and may grow while the command runs.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "kernel/endpoint.h"
#include "policy/policy.h"

struct table {
    struct arena arena;
    struct policy policy;
    VEC(uint16_t) ports;      /* that some rule connects to */
    VEC(uint16_t) host_ports; /* of the host's loopback */
};

/* "connect HOST:PORT", "refuse HOST:PORT", "host-port PORT"; `by_person`: the rule is not a shipped profile's. */
int table_add(struct table *table, const char *verb, const char *object, bool by_person, struct err *err)
    must_check;

/* Call it after the last of several table_add. */
void table_index(struct table *table);

/* May the host be reached at the port? *ret_rule (or NULL) is a copy of the rule by which: rules move when more come. */
bool table_allows(const struct table *table, const struct host_object *host, uint16_t port,
                  struct rule *ret_rule);

/* Does a rule refuse the address, whatever name leads to it? */
bool table_refuses(const struct table *table, const struct endpoint *address, uint16_t port);

/* May a name that this rule is about lead into private networks? */
bool table_trusts_name(const struct rule *rule);

bool table_is_host_port(const struct table *table, const struct endpoint *endpoint);

/* An address as the policy has it. */
struct host_object table_address(const struct endpoint *endpoint);

void table_free(struct table *table);
