/*
 * Requests for sockets to the sandbox's process 1, which makes them in the sandbox's network namespace (kernel/ports.h).
 *
 * Each request has a number, which comes back with the reply. At most 64 requests are under way, so that neither side finds
 * the channel full; the others wait in order. A reply that no request matches is for an earlier helper: its socket is closed.
 *
 * Without a namespace there are no sockets to listen with. A request for one is answered without a socket: from then on connections to its address
 * arrive on the channel themselves (on_arrival), and so do programs' sockets for DNS.
 */
#pragma once

#include "kernel/poller.h"
#include "kernel/ports.h"

/* `fd` is the new socket, which the callee now owns, or -1 with errnum. -1 and no errnum: connections will arrive on the channel. */
typedef void ask_done(void *self, int fd, int errnum);

struct ask {
    struct port_request request;
    ask_done *done;
    void *self; /* NULL: forgotten */
};

struct asks {
    struct poller *poller;
    struct watcher channel;
    VEC(struct ask) sent;
    VEC(struct ask) waiting; /* from waiting_first on, in the order of their numbers */
    size_t waiting_first;
    uint64_t last;                       /* the newest request's number */
    void (*on_reply)(struct asks *asks); /* after each reply */
    void (*on_arrival)(struct asks *asks, const struct port_request *arrival,
                       int fd); /* owns the descriptor */
};

int asks_open(struct asks *asks, int channel_fd) must_check;
void ask_port(struct asks *asks, enum port_kind kind, struct endpoint at, ask_done *done, void *self);

/* `self` goes away: its `done` is not called, and its sockets are closed when they come. */
void ask_forget(struct asks *asks, const void *self);

/* Is every request answered up to the one with this number? */
bool asks_are_answered(const struct asks *asks, uint64_t last);
