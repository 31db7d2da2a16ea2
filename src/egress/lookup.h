/*
 * Looks names up on the host as the user's own programs do (getaddrinfo: nsswitch, /etc/hosts, split DNS). Threads do it, so that
 * a slow lookup does not block others.
 */
#pragma once

#include "base/attr.h"
#include "kernel/endpoint.h"

enum { LOOKUP_MOST_ADDRESSES = 8 };

struct lookup_result {
    size_t count;
    struct endpoint addresses[LOOKUP_MOST_ADDRESSES]; /* in the order in which to try them; port 0 */
    const char *problem;                              /* why there is no address */
};

struct lookup; /* the threads and their queues */

/* Returns NULL with errno. `*ret_ready_fd` is readable when lookup_next has something. */
struct lookup *lookup_open(int *ret_ready_fd) must_check;

/* lookup_next returns `self` with the result. `is_one_of_many` (a name below a wildcard): may delay only others of its kind. */
void lookup_start(struct lookup *lookup, const char *name, bool is_one_of_many, void *self);

/* Returns the `self` of a finished lookup, or NULL. */
void *lookup_next(struct lookup *lookup, struct lookup_result *ret_result);
