#include "egress/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

enum {
    AT_ONCE = 1 << 20,  /* bytes requested in one call; the size of the pipe is the real limit */
    ROUNDS = 8,         /* before other flows get their turn */
    FEW = 16384,        /* bytes: up to so many are copied, and fewer mean that the socket is empty */
    MOST_SHORT = 16,    /* rounds with few bytes until is_bulk ends: bulk data arrives in pieces */
    GATHERED = 1 << 18, /* bytes; measured: half of it and twice of it gain less */
    STEADY = 1 << 26,   /* bytes without a pause before it gathers; doubled after each silence */
    MOST_DOUBLED = 16,
};

static bool is_passing(int errnum)
{
    return errnum == EAGAIN || errnum == EINTR;
}

bool flow_is_stuck(const struct flow *flow)
{
    return flow->piped || flow->copied.size;
}

ssize_t flow_receive(struct flow *flow, int from, const char **ret_bytes)
{
    static char bytes[FEW]; /* on the stack it would be zeroed at each call */
    ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
    flow->ended |= got == 0;
    *ret_bytes = bytes;
    return got;
}

/* Returns how many were sent, perhaps 0; -1 if the connection broke. */
static ssize_t send_some(int to, const char *bytes, size_t size)
{
    ssize_t sent = send(to, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 && is_passing(errno) ? 0 : sent;
}

static void tell_end(struct flow *flow, int to)
{
    if (!flow->ended || flow->is_shut || flow_is_stuck(flow))
        return;
    shutdown(to, SHUT_WR);
    flow->is_shut = true;
}

bool flow_send(struct flow *flow, int to)
{
    size_t left = flow->copied.size - flow->copied_sent;
    ssize_t sent = left ? send_some(to, flow->copied.bytes + flow->copied_sent, left) : 0;
    if (sent < 0)
        return false;
    flow->copied_sent += (size_t)sent;
    if ((size_t)sent == left)
        flow->copied.size = flow->copied_sent = 0;
    tell_end(flow, to);
    return true;
}

void flow_drop(struct flow *flow, size_t size)
{
    flow->copied_sent = size;
    if (size == flow->copied.size)
        flow->copied.size = flow->copied_sent = 0;
}

/* Returns how many bytes came, 0 at the end, -1 with errno. */
static ssize_t move_few(struct flow *flow, int from, int to)
{
    const char *bytes;
    ssize_t got = flow_receive(flow, from, &bytes);
    flow->is_bulk = got == FEW;
    flow->short_rounds = 0;
    ssize_t sent = got > 0 ? send_some(to, bytes, (size_t)got) : got;
    if (sent < 0)
        return -1;
    if (sent < got)
        buf_add(&flow->copied, bytes + sent, (size_t)(got - sent));
    return got;
}

/* As move_few, through the flow's pipe. */
static ssize_t move_many(struct flow *flow, int from, int to)
{
    if (!flow->piped) {
        ssize_t got =
            splice(from, NULL, flow->pipe.write_fd, NULL, AT_ONCE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        flow->short_rounds = got >= FEW ? 0 : flow->short_rounds + (got > 0);
        flow->is_bulk = flow->short_rounds < MOST_SHORT;
        flow->ended = got == 0;
        if (got <= 0)
            return got;
        flow->piped = (size_t)got;
        flow->unbroken += (size_t)got;
    }
    ssize_t sent = splice(flow->pipe.read_fd, NULL, to, NULL, flow->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (sent > 0)
        flow->piped -= (size_t)sent;
    return sent;
}

bool flow_move(struct flow *flow, struct pipes *pipes, int from, int to)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (flow->copied.size && !flow_send(flow, to))
            return false;
        if (flow->copied.size || flow->is_shut)
            return true;
        bool by_pipe = flow->piped || (flow->is_bulk && !flow->ended && pipe_take(pipes, &flow->pipe));
        ssize_t moved = 0;
        if (by_pipe || !flow->ended)
            moved = by_pipe ? move_many(flow, from, to) : move_few(flow, from, to);
        if (moved < 0)
            return is_passing(errno);
        tell_end(flow, to);
        if (moved < FEW || flow_is_stuck(flow))
            return true;
    }
    return true;
}

static void report_from(struct flow *flow, int from, int least)
{
    flow->gathers = setsockopt(from, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) == 0 && least > 1;
}

void flow_gather(struct flow *flow, int from)
{
    bool is_steady = flow->is_bulk && flow->unbroken >= (uint64_t)STEADY << flow->silences;
    if (is_steady != flow->gathers)
        report_from(flow, from, is_steady ? GATHERED : 1);
}

void flow_hurry(struct flow *flow, int from)
{
    if (!flow->gathers)
        return;
    flow->unbroken = 0;
    flow->silences += flow->silences < MOST_DOUBLED;
    report_from(flow, from, 1);
}

void flow_rest(struct flow *flow, struct pipes *pipes)
{
    if (!flow->piped)
        pipe_give(pipes, &flow->pipe, true);
    if (!flow->copied.size)
        buf_free(&flow->copied);
}

void flow_free(struct flow *flow, struct pipes *pipes)
{
    pipe_give(pipes, &flow->pipe, flow->piped == 0);
    buf_free(&flow->copied);
}
