/*
 * The `ssh-key` rules that fit a login. ssh says a host's key and no name, so they are several where hosts, or ports of one host, have the
 * same key. Those that name the host and port that was dialled decide. If that is not known, the strictest decides: each of them must allow the
 * login.
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "plan/plan.h"

/* An `ssh-key` rule in force. */
struct signing_rule {
    const struct operation *operation;
    const struct ssh_key_object *key;
    char hash[SHA256_HEX_SIZE]; /* of the key's public part */
    uint32_t used;              /* signatures that were allowed */
};

typedef VEC(struct signing_rule) signing_rule_list;

/* A rule, and which of its hosts. */
struct signing_fit {
    struct signing_rule *rule;
    const struct host_object *host;
};

typedef VEC(struct signing_fit) signing_fit_list;

/* Reads "RULE HOST RULE HOST…", as bawn-vault numbers them. Returns false if one of them is not there, or there is none. */
bool signing_fits_read(const signing_rule_list *rules, char *text, signing_fit_list *ret_fits) must_check;

/* Keeps those of the host that was dialled, as dialled.h has it. NULL, or if there are none: all stay. */
void signing_fits_keep(signing_fit_list *fits, const char *dialled);

/* The first rule whose number of logins is used up, and the first one that asks. NULL: there is none. */
const struct signing_rule *signing_fits_used_up(const signing_fit_list *fits);
const struct signing_rule *signing_fits_asking(const signing_fit_list *fits);

/* A login was allowed: it counts for each rule. */
void signing_fits_count(const signing_fit_list *fits);

/* "build.corp:22", or if it is not known: and what else it may be: "build.corp:22 or build.corp:2222". */
const char *signing_fits_hosts(struct arena *arena, const signing_fit_list *fits) returns_text;
