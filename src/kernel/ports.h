/*
 * Messages that carry a descriptor from one process to another (passing.c), and what they are mostly used for (ports.c):
 * sockets that a process in the sandbox's network namespace makes for a process outside. Both speak over a channel
 * (SOCK_SEQPACKET) in messages of one size; the reply carries the socket. Everything received is checked, because the other end
 * is in the sandbox. listening.c: who listens at localhost, and who was refused there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "kernel/endpoint.h"

/* --- passing.c --- */

/* Sends messages over a Unix socket that keeps message boundaries, each with a few descriptors at most. */

enum { PASSING_MOST = 3 };

/* `fd` may be -1. Returns 0, or -1 with errno. */
int passing_send(int socket_fd, const void *bytes, size_t size, int fd) must_check;

/*
 * Returns the message's size, 0 if the other end is closed, -1 with errno: EPROTO for a truncated message or more than one
 * descriptor. *ret_fd is close-on-exec; -1 if there was none or this process has too many. Does not wait.
 */
ssize_t passing_receive(int socket_fd, void *bytes, size_t size, int *ret_fd) must_check;

/* The same with several descriptors: all of them come, or none. More than `most` is EPROTO. */
int passing_send_all(int socket_fd, const void *bytes, size_t size, const int *fds, size_t count) must_check;
ssize_t passing_receive_all(int socket_fd, void *bytes, size_t size, int *ret_fds, size_t most,
                            size_t *ret_count) must_check;

/* --- ports.c --- */

enum port_kind {
    PORT_NONE,
    PORT_LISTENER,      /* TCP, listening; other listeners may have the same port of all addresses */
    PORT_SOLE_LISTENER, /* the same, with the port to itself */
    PORT_DATAGRAM,      /* UDP, bound */
    PORT_CONNECTION,    /* TCP, connecting to an address inside */
    PORT_ARRIVAL,       /* no request: a connection from inside to the address, without a namespace */
    PORT_QUESTIONS,     /* no request: a program's socket for DNS, whose messages keep their bounds */
    PORT_SERVERS,       /* no request: what the supervisor asks for servers inside (listening.c) */
    PORT_REFUSALS,      /* no request: where it hears of refused connections (listening.c) */
};

/* The address of the resolver inside: the first of those that stand for names (198.18.0.0/15). */
#define PORT_NAMES_ADDRESS UINT32_C(0xc6120001) /* 198.18.0.1 */
enum { PORT_NAMES = 53 };

struct port_request {
    uint32_t kind;
    int32_t errnum;  /* in a reply: why there is no socket, or 0 */
    uint64_t number; /* chosen by the asking side, and sent back; 0: no request */
    struct endpoint at;
};

/* Makes the requested socket. Returns -1 with errno. */
int port_make(const struct port_request *request);

/* Sets what connections inherit that are accepted there. An urgent byte must not be missing from the bytes that are inspected. */
void port_prepare(int listening_fd);

/* Does a program listen at this port on all addresses of the machine? In doubt one does. */
bool port_has_server_on_all(uint16_t port);

/*
 * Which user has the socket at the other end of a connection on this machine: an established one of TCP over IPv4, or a Unix socket. False if that cannot
 * be told. The table of connections is opened before the process confines itself; -1 with errno.
 */
int port_open_table(void);
bool port_peer_user(int table_fd, int connection_fd, uid_t *ret_user);

/* Returns 0, or -1 with errno. The caller keeps the descriptor (-1: none). */
int port_send(int channel_fd, const struct port_request *message, int fd) must_check;

/*
 * Returns 1 for a message, with its descriptor or -1; 0 if the other end is closed; -1 with errno (EAGAIN: none yet; EPROTO:
 * malformed).
 */
int port_receive(int channel_fd, struct port_request *ret_message, int *ret_fd) must_check;

/* Answers one request with a new socket. Returns as port_receive. */
int port_serve(int channel_fd) must_check;

/* --- listening.c --- */

/* A socket that is asked for the servers of this process's network, wherever the answer is read. Returns -1 with errno. */
int port_open_servers(void);

/* Gets each port at which a server takes connections to localhost over TCP; a server may come twice. */
typedef void port_seen(void *self, uint16_t port);

/* Asks for all such servers, or for those at one port. Uses the stack alone. Returns false if the kernel does not say, or names too many. */
bool port_list_servers(int servers_fd, uint16_t only, port_seen *seen, void *self);

/*
 * A socket of this process's network that receives the kernel's refusals of connections to 127.0.0.1, and nothing else. It takes CAP_NET_RAW in
 * the network's user namespace. Returns -1 with errno.
 */
int port_open_refusals(void);

/* The port of the next refused connection. Does not wait. */
bool port_take_refusal(int refusals_fd, uint16_t *ret_port);
