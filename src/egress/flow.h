/*
 * One direction of a connection. Few bytes are copied, which is cheaper than a pipe. Many are spliced through a pipe, so that
 * they never enter this program's memory. While bytes wait for the receiver, nothing more is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"

/* Pipes for splice. Empty ones are reused. Only a few are large, since the kernel limits the pipe memory of a user. */

struct pipe {
    int read_fd, write_fd;
    bool is_there;
    bool is_large;
};

/* Zeroed: no pipes. */
struct pipes {
    VEC(struct pipe) spare;
    size_t large;
};

/* Does nothing if there is a pipe already. Returns false if the kernel gives none. */
bool pipe_take(struct pipes *pipes, struct pipe *pipe);

/* Only an empty pipe is kept for another connection. Does nothing if there is no pipe. */
void pipe_give(struct pipes *pipes, struct pipe *pipe, bool is_empty);

/* --- flows --- */

struct flow {
    struct buf copied; /* read and not all sent yet */
    size_t copied_sent;
    struct pipe pipe; /* only while there are bytes in it: thousands of idle connections need none */
    size_t piped;
    bool is_bulk;          /* so many bytes came at once that a pipe pays off */
    unsigned short_rounds; /* in a row, with few bytes each: after too many is_bulk ends */
    uint64_t unbroken;     /* bytes spliced since it last fell silent while gathering */
    unsigned silences;     /* how often it fell silent while gathering */
    bool gathers;          /* SO_RCVLOWAT is raised: epoll reports many bytes, not every packet */
    bool ended;            /* nothing more comes */
    bool is_shut;          /* and the receiver has been sent the end (FIN) */
};

/* Moves the bytes that are there, but not for too long: other flows wait. Returns false if the connection broke. */
bool flow_move(struct flow *flow, struct pipes *pipes, int from, int to);

/* Do bytes wait for the receiver? */
bool flow_is_stuck(const struct flow *flow);

/* For a caller that checks the bytes: like recv, into memory that is valid until the next call. Notes the end. */
ssize_t flow_receive(struct flow *flow, int from, const char **ret_bytes);

/* Sends the bytes in `copied`, and then the end. Returns false if the connection broke. */
bool flow_send(struct flow *flow, int to);

/* Takes so many bytes off the front of `copied`, of which none has been sent yet. */
void flow_drop(struct flow *flow, size_t size);

/*
 * Waking for every packet takes processor time from the sender and the receiver. flow_gather raises SO_RCVLOWAT for a flow that
 * has come without a pause for long. The last bytes may be fewer than that: the caller must call flow_hurry if the flow does
 * not move for a moment.
 */
void flow_gather(struct flow *flow, int from);
void flow_hurry(struct flow *flow, int from);

/* flow_rest gives back an empty pipe and buffer; flow_free gives back all. */
void flow_rest(struct flow *flow, struct pipes *pipes);
void flow_free(struct flow *flow, struct pipes *pipes);
