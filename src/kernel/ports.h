/*
 * Sockets of a network namespace that are made by a process inside and used by one outside. The two ends of a channel
 * (SOCK_SEQPACKET) speak in messages of one fixed size; a socket comes with the reply. What comes out of a channel is
 * checked for what it is before it is used: the other end lives in the sandbox.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "kernel/endpoint.h"

enum port_kind {
    PORT_NONE,
    PORT_LISTENER, /* TCP, listening; beside others at the same port of all addresses, in whatever order they come */
    PORT_SOLE_LISTENER, /* the same, and nobody else may have the port */
    PORT_DATAGRAM,      /* UDP, bound */
    PORT_CONNECTION,    /* TCP, on its way to an address inside */
};

/* Where names are asked for inside: the first of the addresses that stand for names (198.18.0.0/15). */
#define PORT_NAMES_ADDRESS UINT32_C(0xc6120001) /* 198.18.0.1 */
enum { PORT_NAMES = 53 };

struct port_request {
    uint32_t kind;
    int32_t errnum;  /* in a reply: why there is no socket, or 0 */
    uint64_t number; /* the asking side's, sent back with the reply; 0: nobody asked */
    struct endpoint at;
};

/* Makes the socket that is asked for. Returns -1 with errno. */
int port_make(const struct port_request *request);

/* Returns 0, or -1 with errno. The descriptor (-1: none) stays the caller's. */
int port_send(int channel_fd, const struct port_request *message, int fd) must_check;

/*
 * Returns 1 for a message, with its descriptor or -1; 0 when the other end is closed; -1 with errno (EAGAIN: there is none
 * now; EPROTO: not a message of ours).
 */
int port_receive(int channel_fd, struct port_request *ret_message, int *ret_fd) must_check;

/* Answers one request with a new socket. Returns as port_receive. */
int port_serve(int channel_fd) must_check;
