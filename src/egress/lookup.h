/*
 * Real names of the world, looked up as the user's own programs would (getaddrinfo: nsswitch, /etc/hosts, split DNS), in
 * threads, so that a slow one holds nobody up.
 */
#pragma once

#include "base/attr.h"
#include "kernel/endpoint.h"

enum { LOOKUP_MOST_ADDRESSES = 8 };

struct lookup_result {
    size_t count;
    struct endpoint addresses[LOOKUP_MOST_ADDRESSES]; /* in the order in which they should be tried; port 0 */
    const char *problem;                              /* why there is none */
};

struct lookup; /* all threads and what they have to do */

/* Returns NULL with errno. `*ret_ready_fd` is readable when lookup_next has something. */
struct lookup *lookup_open(int *ret_ready_fd) must_check;

/* `self` comes back with the result. Names of which there may be any number (below a wildcard) hold up only each other. */
void lookup_start(struct lookup *lookup, const char *name, bool is_one_of_many, void *self);

/* Returns the `self` of a lookup that is done, or NULL where none is. */
void *lookup_next(struct lookup *lookup, struct lookup_result *ret_result);
