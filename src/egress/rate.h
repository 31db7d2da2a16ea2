/*
 * `limit rate`: how many new connections a second may go to a host. Connections beyond it wait.
 *
 * The table has the moment at which the next connection to a host may begin. Tasks of a fleet share one table: a file of the fleet's that
 * each helper maps. bawn opens it and passes the descriptor on; no sandbox sees the file. A run of its own has a table of its own.
 *
 * Nobody holds a place in a queue, so a helper that dies holds up nobody: whoever comes first after that moment moves it on by one
 * interval, in one atomic step. A helper tries for its oldest connection to a host first, so a task with a thousand connections has no
 * better chance than a task with one.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

enum { RATE_SLOTS = 4096 };

struct rate_slot {
    _Atomic uint64_t
        host; /* 0: free. Once taken it stays that host's; hosts that find none free share the last */
    _Atomic uint64_t next; /* microseconds of the clock since the start of the machine */
};

struct rate {
    uint64_t per_second; /* 0: there is no limit */
    struct rate_slot *slots;
};

/* The size of the file that the table is in. */
#define RATE_FILE_SIZE (RATE_SLOTS * sizeof(struct rate_slot))

/* Maps the table. `fd`: the shared file, of that size; -1: a table for this process alone. */
int rate_open(struct rate *rate, uint64_t per_second, int fd, struct err *err) must_check;

/* 0: a connection to this host may begin, and is counted. Otherwise the microseconds until it is worth asking again. */
uint64_t rate_take(const struct rate *rate, const void *host, size_t size);
