/* Where the kernel would send what is for an address: away, or to this machine itself. */
#pragma once

#include "kernel/endpoint.h"

enum route {
    ROUTE_UNKNOWN, /* the kernel could not be asked */
    ROUTE_HERE,    /* an address of an interface, or of a network that is routed to this machine */
    ROUTE_AWAY,    /* or nowhere */
};

/* A socket for route_of, or -1 with errno. */
int route_open(void) must_check;

enum route route_of(int route_fd, const struct endpoint *endpoint);
