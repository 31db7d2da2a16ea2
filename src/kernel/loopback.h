/* The loopback of an otherwise empty network namespace. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "kernel/endpoint.h"

/* Brings it up, so that programs inside reach each other at 127.0.0.1 and ::1. */
int loopback_bring_up(struct err *err) must_check;

/*
 * Brings it up and makes every address local, so that a connection reaches a socket in this namespace or is refused at once.
 * `address` (IPv4, host byte order) is added to the loopback: with only 127.0.0.1, programs assume that there is no network and
 * do not look up names.
 */
int loopback_take_all_addresses(unsigned address, struct err *err) must_check;

/* Undoes that, except for the loopback: other addresses are unreachable again. */
int loopback_let_addresses_go(unsigned address, struct err *err) must_check;

/* Where the kernel would send packets for an address. */
enum route {
    ROUTE_UNKNOWN, /* the kernel could not be asked */
    ROUTE_HERE,    /* an address of an interface, or a network that is routed to this machine */
    ROUTE_AWAY,    /* or nowhere */
};

/* A socket for route_of, or -1 with errno. */
int route_open(void) must_check;

enum route route_of(int route_fd, const struct endpoint *endpoint);
