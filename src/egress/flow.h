/*
 * One direction of a connection. Few bytes are copied, since a pipe costs more than they do; many are spliced through one,
 * so that they never enter this program's memory. What the other side does not take waits, and nothing more is read.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "egress/pipes.h"

struct flow {
    struct buf copied; /* read and not all sent yet */
    size_t copied_sent;
    struct pipe pipe; /* while there is something in it: thousands of quiet connections need none */
    size_t piped;
    bool is_bulk;          /* so much came at once that a pipe is worth its price */
    unsigned short_rounds; /* of such a flow, one after another: at last it is none any more */
    uint64_t unbroken;     /* bytes spliced since it last fell silent while it gathered */
    unsigned silences;     /* how often it did */
    bool gathers;          /* is reported when much has come, no more at every packet */
    bool ended;            /* nothing more comes */
    bool is_shut;          /* and the other side was told */
};

/* Moves what there is, up to a point: others want their turn. Returns false where the connection broke. */
bool flow_move(struct flow *flow, struct pipes *pipes, int from, int to);

/* Does it wait for the other side to take something? */
bool flow_is_stuck(const struct flow *flow);

/* For who looks at what passes: reads into memory that lasts until the next call. As recv; notes the end. */
ssize_t flow_receive(struct flow *flow, int from, const char **ret_bytes);

/* Sends what was added to `copied`, and the end after it. Returns false where the connection broke. */
bool flow_send(struct flow *flow, int to);

/*
 * To be woken for every packet takes the processor from who sends or takes them. Of a flow that has come without a pause for
 * long, a good part is waited for. Its end may be smaller: who does not see it move for a moment lets it hurry.
 */
void flow_gather(struct flow *flow, int from);
void flow_hurry(struct flow *flow, int from);

/* Gives back what it does not need now. */
void flow_rest(struct flow *flow, struct pipes *pipes);
void flow_free(struct flow *flow, struct pipes *pipes);
