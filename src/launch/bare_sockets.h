/*
 * The network without a network namespace.
 *
 *   bare_sockets.c   the sockets of the command: how they are made, remembered, and what addresses they show
 *   bare_network.c   where a connection may lead, and what a server is bound to
 *   bare_arrivals.c  the way to the network's helper (bawn-egress)
 *   bare_unix.c      Unix sockets, by their real path
 *
 * Theory of operation
 *
 * The judge makes every socket of the command, gives it to the caller, and keeps a copy of the descriptor: the same
 * socket. So it can carry out bind(), listen() and connect() on the socket itself, with an address of its own choice,
 * whatever the caller's memory and descriptors have become meanwhile. A socket is found again by its inode. The copy
 * is closed as soon as the socket is connected.
 *
 *   TCP, this machine    All addresses of this machine are one address of the run: some 127.x.y.z. Servers are bound
 *                        to it, and connections to 127.0.0.1 and its like lead to it. A server of the host that
 *                        listens on all addresses has this one, too. So the judge keeps its copy of a socket that
 *                        listens, and connects to no port without one. It looks from time to time whether a program
 *                        still has the socket, and closes the copy if none has. A socket can stop to listen without
 *                        being closed (shutdown): the judge asks it. While it listens, the kernel gives its port to
 *                        no server on all addresses, unless both want to share it (SO_REUSEPORT). So the judge sets
 *                        that option itself, and looks for such a server before it connects to a socket that had it.
 *                        No socket can be tied to a device: it would not get what comes from this machine.
 *   TCP, elsewhere       The socket is connected to a listening socket of the judge. The judge accepts the other end,
 *                        and sends it to the helper with the address that the caller wanted. The helper decides,
 *                        dials and relays, as it does with a namespace. It tells the judge beforehand which addresses
 *                        have something behind them (PORT_LISTENER); connections to all others are refused at once.
 *   UDP                  is there for DNS alone. Its socket is one end of a pair of Unix sockets that keeps messages
 *                        apart; the helper's resolver has the other. Such a socket ignores all addresses, so whatever
 *                        is sent by it reaches the resolver and nothing else.
 *   Unix                 bare_unix.c
 *
 * With `net open` addresses are not judged. Yet the judge makes, binds and connects these sockets, too: if it let the
 * kernel connect one, a program could put a Unix socket in its place meanwhile.
 *
 * Invariants
 *
 *   1. No bind() or connect() with an address of the internet is continued. Landlock's second domain denies both to
 *      the command itself.
 *   2. Only the judge's thread uses what is here. It waits for nothing: neither for a connection nor for the helper.
 *   3. While the judge connects a socket to a port of the run, it has the socket that listens there open itself.
 *   4. Only an accepted connection whose other end is a socket that waits for it goes to the helper. Whoever else
 *      connects there is hung up on.
 *   5. A call that is continued was judged by nothing but its number and its descriptor, and reaches nothing new,
 *      whatever that descriptor becomes.
 */
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

#include "base/map.h"
#include "kernel/ports.h"
#include "launch/bare.h"

/* An address as a program gave it, or is shown it. */
struct socket_address {
    socklen_t size; /* 0: none */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    };
};

enum kept_kind {
    KEPT_TCP,
    KEPT_QUESTIONS,
    KEPT_UNIX,
    KEPT_OF_THE_HOST, /* TCP or UDP, with `net open` */
};

/* A socket that the judge has made. */
struct kept_socket {
    uint64_t inode; /* 0: none */
    uint64_t number;
    enum kept_kind kind;
    int family; /* that the caller asked for */
    int fd;     /* the copy; -1: it is connected, or is a Unix socket that listens */
    bool is_bound;
    bool shares_port; /* it had SO_REUSEPORT at some time: another program's server may have the same port */
    uint16_t listening; /* at this port of the run; 1 for a Unix socket; 0: it does not listen */
    pid_t holder;       /* a process that had it open when it began to listen, and as which descriptor */
    int held_as;
    struct sockaddr_in6 own,
        peer; /* what the caller is shown, of either family. Size 0: what the kernel says */
    socklen_t own_size, peer_size;
};

/* A connect() that is not over. */
enum awaited {
    AWAITS_MATE,  /* until the other end was accepted here */
    AWAITS_PEER,  /* until the kernel has connected it */
    AWAITS_QUEUE, /* until a server of a Unix socket has room */
};
struct waiting_connection {
    enum awaited awaited;
    bool is_answered; /* the caller did not want to wait */
    struct judged_call call;
    uint64_t inode;
    struct endpoint from, to; /* AWAITS_MATE */
    int64_t deadline;         /* milliseconds */
};

/* The file of a Unix socket. */
struct socket_file {
    dev_t device;
    ino_t inode;
};

/* A socket of the host's that a rule names. */
struct granted_socket {
    const char *path;
    int fd; /* O_PATH: the file that it was at the start, which a program of the run may have exchanged; -1: none */
};

struct outgoing {
    struct port_request message;
    int fd;
};

enum { SOCKET_SETS = 256, SOCKET_WAYS = 8 };

struct bare_network {
    bool is_by_name;     /* names can be looked up, and hosts be reached */
    bool is_of_the_host; /* `net open`: sockets are those of the host's network */
    uint32_t address;    /* of the run: 127.x.y.z */
    int arrivals_fd;     /* listening there */
    uint16_t arrivals_port;
    int channel_fd; /* to the helper; -1: nobody is there any more */
    uint64_t last_number;
    struct kept_socket sockets[SOCKET_SETS][SOCKET_WAYS];
    VEC(struct outgoing) outgoing;
    VEC(struct waiting_connection) waiting;
    struct arena arena;            /* the keys of `open` */
    int report_fd;                 /* of the warden */
    unsigned reports;              /* that were written to it from here */
    struct map open;               /* endpoints to which connections may be made */
    VEC(uint64_t) listening;       /* inodes of sockets that listen at a port of the run */
    int64_t last_look;             /* at them, in milliseconds */
    VEC(struct socket_file) files; /* of Unix sockets of the run that listen */
    size_t next_file;
    VEC(struct granted_socket) granted;
};

/* bare_arrivals.c: finds an address for the run. The channel is the supervisor's (launch.h). */
int bare_network_begin(struct bare *bare, int channel_fd, struct err *err) must_check;

/* bare_arrivals.c: what the judge's thread waits for beside calls, and how many milliseconds at most (-1: for ever).
 * Then it looks at all of it. */
enum { NETWORK_AWAITED = 2 };
int bare_network_await(const struct bare_network *network, struct pollfd ret_ready[NETWORK_AWAITED]);
void bare_network_attend(const struct bare *bare);

/* bare_arrivals.c: connects the copy to the judge's own socket. Returns an answer to the call. */
int bare_send_out(struct bare_network *network, const struct judged_call *call, struct kept_socket *kept,
                  const struct endpoint *to);

/* bare_arrivals.c: sends a message to the helper, at once or later. Owns the descriptor. */
void bare_send(struct bare_network *network, const struct port_request *message, int fd);

/* bare_arrivals.c: the call is answered when the connection is there, or has failed. */
int bare_await(struct bare_network *network, const struct judged_call *call, const struct kept_socket *kept,
               enum awaited awaited);

/* bare_arrivals.c: may a connection to it be made? */
bool bare_is_open(const struct bare_network *network, const struct endpoint *endpoint);

/* bare_sockets.c: NULL: the judge has not made it, or has forgotten it. */
struct kept_socket *bare_find_socket(struct bare_network *network, uint64_t inode);
void bare_close_copy(struct kept_socket *kept);
bool bare_is_blocking(const struct kept_socket *kept);

/* bare_sockets.c: closes the copies of bound sockets that nobody else has open; of those that listen alone. */
void bare_forget_closed(struct bare_network *network);
void bare_forget_stopped(struct bare_network *network);

/* bare_sockets.c: the process of the caller; one of its threads may end before it does. */
pid_t bare_process_of(const struct judged_call *call);

/* bare_sockets.c: does a socket of the run listen at this port? */
bool bare_has_server(struct bare_network *network, uint16_t port);

/* bare_sockets.c: the socket of a call's first argument. Returns 0 or an errno. */
int bare_socket_of(const struct bare *bare, const struct judged_call *call, struct kept_socket **ret_kept);

/* bare_sockets.c: the address of a call, read once. Returns 0 or an errno. */
int bare_read_address(const struct judged_call *call, uint64_t address, uint64_t size,
                      struct socket_address *ret_address);

/* bare_network.c: connects the copy without waiting long. Returns 0 or an errno; EINPROGRESS: it is not over. */
int bare_connect_copy(const struct kept_socket *kept, const struct sockaddr *address, socklen_t size);

/* bare_network.c: notes whom a socket for DNS asks. Returns 0 or an errno. */
int bare_connect_questions(const struct bare_network *network, struct kept_socket *kept,
                           const struct socket_address *to);

/* bare_network.c: the address of the run, as the socket's family spells it. */
socklen_t bare_own_address(const struct bare_network *network, const struct kept_socket *kept, uint16_t port,
                           struct sockaddr_storage *ret_address);

/* bare_unix.c: opens the files of the sockets that rules name. */
void bare_find_granted(struct bare_network *network, const struct operations *operations);

/* bare_unix.c: a socket of the run is about to listen. */
void bare_note_listening(const struct bare *bare, const struct judged_call *call,
                         const struct kept_socket *kept);

/* bare_unix.c */
int bare_connect_unix(const struct bare *bare, const struct judged_call *call, struct kept_socket *kept,
                      const struct socket_address *to);

bare_act bare_socket, bare_connect, bare_bind, bare_listen;
bare_act bare_getsockname, bare_getpeername, bare_sendto, bare_recvfrom, bare_recvmsg, bare_setsockopt;
