/* The loopback of a network namespace that is otherwise empty. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "kernel/endpoint.h"

/* Brings it up: the namespace's own programs reach each other at 127.0.0.1 and ::1. */
int loopback_bring_up(struct err *err) must_check;

/*
 * Brings it up and makes every address there is one of this namespace's own: whatever a program connects to, it meets a
 * socket in here or is refused at once. `address` (IPv4, host byte order) becomes the loopback's beside 127.0.0.1: with
 * that alone, programs believe that there is no network and do not even ask for names.
 */
int loopback_take_all_addresses(unsigned address, struct err *err) must_check;

/* Undoes that, but for the loopback itself: other addresses are then as far away as without a network. */
int loopback_let_addresses_go(unsigned address, struct err *err) must_check;

/* Where the kernel would send packets for an address: away, or to this machine itself. */
enum route {
    ROUTE_UNKNOWN, /* the kernel could not be asked */
    ROUTE_HERE,    /* an address of an interface, or of a network that is routed to this machine */
    ROUTE_AWAY,    /* or nowhere */
};

/* A socket for route_of, or -1 with errno. */
int route_open(void) must_check;

enum route route_of(int route_fd, const struct endpoint *endpoint);
