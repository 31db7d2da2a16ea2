/*
 * Moves bytes both ways: few by copying them, many by splice, so that they never enter this program's memory. An end on one side becomes an end on the
 * other (half-close), a side that does not read holds the other up, a break is a break on both. Requests of plain HTTP
 * are the exception: those are read (http.h), their answers are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/egress.h"

enum {
    AT_ONCE = 1 << 20, /* bytes asked for in one call; the pipe gives the limit */
    ROUNDS = 8,        /* before others get their turn */
    FEW = 16384,       /* so little is copied, and then there is no more at once */
    PIPE_SIZE = 1 << 18,
    MOST_SPARE_PIPES = 64, /* of two descriptors each */
};

static bool flow_take_pipe(struct egress *egress, struct flow *flow)
{
    if (flow->has_pipe)
        return true;
    if (egress->spare_pipes.count) {
        flow->pipe[1] = egress->spare_pipes.at[--egress->spare_pipes.count];
        flow->pipe[0] = egress->spare_pipes.at[--egress->spare_pipes.count];
    } else if (pipe2(flow->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
        return false;
    } else {
        fcntl(flow->pipe[1], F_SETPIPE_SZ,
              PIPE_SIZE); /* where the user's share of pipes is used up, it stays small */
    }
    return flow->has_pipe = true;
}

/* A pipe is needed only while there is something in it: thousands of quiet connections need none. */
static void flow_give_pipe(struct egress *egress, struct flow *flow)
{
    if (!flow->has_pipe || flow->held)
        return;
    flow->has_pipe = false;
    if (egress->spare_pipes.count < 2 * (size_t)MOST_SPARE_PIPES) {
        vec_push(&egress->spare_pipes, flow->pipe[0]);
        vec_push(&egress->spare_pipes, flow->pipe[1]);
    } else {
        close(flow->pipe[0]);
        close(flow->pipe[1]);
    }
}

/*
 * A few bytes are copied: a pipe costs more than they do. What the other side does not take goes into the pipe after all.
 * Returns how many came, 0 at the end, -1 with errno.
 */
static ssize_t flow_move_few(struct egress *egress, struct flow *flow, int from, int to)
{
    char bytes[FEW];
    ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got <= 0)
        return got;
    flow->is_bulk = got == sizeof(bytes);
    ssize_t sent = send(to, bytes, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return -1;
    sent = sent < 0 ? 0 : sent;
    if (sent < got) {
        if (!flow_take_pipe(egress, flow) ||
            write(flow->pipe[1], bytes + sent, (size_t)(got - sent)) != got - sent) {
            errno = EIO;
            return -1;
        }
        flow->held = (size_t)(got - sent);
    }
    return got;
}

/* Takes what is there into the pipe. Returns as flow_move_few. */
static ssize_t flow_fill(struct egress *egress, struct flow *flow, int from)
{
    if (!flow_take_pipe(egress, flow))
        return -1;
    ssize_t got = splice(from, NULL, flow->pipe[1], NULL, AT_ONCE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    flow->held = got > 0 ? (size_t)got : 0;
    flow->is_bulk = got >= FEW;
    return got;
}

static bool flow_empty(struct flow *flow, int to)
{
    ssize_t sent = splice(flow->pipe[0], NULL, to, NULL, flow->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    flow->held -= (size_t)sent;
    return true;
}

/* Returns false where the connection broke. */
static bool flow_move(struct egress *egress, struct flow *flow, int from, int to)
{
    for (int i = 0; i < ROUNDS && !flow->is_shut; i++) {
        ssize_t got = 0;
        if (!flow->held && !flow->ended) {
            got = flow->is_bulk ? flow_fill(egress, flow, from) : flow_move_few(egress, flow, from, to);
            if (got < 0)
                return errno == EAGAIN || errno == EINTR;
            flow->ended = got == 0;
        }
        if (flow->held && !flow_empty(flow, to))
            return false;
        if (flow->held)
            return true;
        if (flow->ended) {
            shutdown(to, SHUT_WR);
            flow->is_shut = true;
        }
        if (got < FEW)
            return true;
    }
    return true;
}

/* What of a request may go, goes. Returns false where the connection broke. */
static bool http_send(struct connection *connection)
{
    struct buf *out = &connection->to_outer;
    while (connection->to_outer_sent < out->size) {
        ssize_t sent = send(connection->outer.watcher.fd, out->bytes + connection->to_outer_sent,
                            out->size - connection->to_outer_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        connection->to_outer_sent += (size_t)sent;
    }
    out->size = connection->to_outer_sent = 0;
    if (connection->outward.ended && !connection->outward.is_shut) {
        shutdown(connection->outer.watcher.fd, SHUT_WR);
        connection->outward.is_shut = true;
    }
    return true;
}

static bool http_is_waiting(const struct connection *connection)
{
    return connection->speaks_http && connection->http.state == HTTP_UPGRADING;
}

/* Returns false where the connection broke or was refused. */
static bool http_move(struct connection *connection)
{
    char bytes[16384];
    if (!http_send(connection))
        return false;
    if (connection->to_outer.size || connection->outward.ended || http_is_waiting(connection))
        return true;
    ssize_t got = recv(connection->inner.watcher.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    connection->outward.ended = got == 0;
    char text[ENDPOINT_TEXT_SIZE];
    const char *problem = "it sends before the change of protocol is agreed to";
    if (got && http_take(&connection->http, connection_host(connection, text), connection->asked.port, bytes,
                         (size_t)got, &connection->to_outer, &problem) != got) {
        connection_refuse(connection, problem);
        return false;
    }
    return http_send(connection);
}

/* The server's first words after a request to change the protocol: does it? */
static void http_hear_agreement(struct connection *connection)
{
    static const char agreed[] = "HTTP/1.1 101";
    char words[sizeof(agreed) - 1];
    ssize_t got = recv(connection->outer.watcher.fd, words, sizeof(words), MSG_PEEK | MSG_DONTWAIT);
    if (got == sizeof(words))
        connection->http.state = memcmp(words, agreed, sizeof(words)) == 0 ? HTTP_UPGRADED : HTTP_HEAD;
}

/* What each side is waited for now. */
static void watch_sides(struct connection *connection)
{
    struct poller *poller = &connection->egress->poller;
    const struct flow *out = &connection->outward, *in = &connection->inward;
    bool is_stuck = out->held || connection->to_outer.size || http_is_waiting(connection);
    uint32_t inner = (!out->ended && !is_stuck ? EPOLLIN : 0U) | (in->held ? EPOLLOUT : 0U);
    uint32_t outer =
        (!in->ended && !in->held ? EPOLLIN : 0U) | (out->held || connection->to_outer.size ? EPOLLOUT : 0U);
    if (!connection->is_inspected && inner & EPOLLIN)
        inner |= EPOLLET; /* what is only looked at stays, and would be reported again and again */
    if (http_is_waiting(connection) && outer & EPOLLIN)
        outer |= EPOLLET;
    poller_change(poller, &connection->inner.watcher, inner);
    poller_change(poller, &connection->outer.watcher, outer);
}

static void relay_round(struct connection *connection, bool from_inner, bool from_outer)
{
    struct egress *egress = connection->egress;
    int inner = connection->inner.watcher.fd, outer = connection->outer.watcher.fd;
    if (connection->is_inspected && from_inner && connection->speaks_http) {
        if (!http_move(connection)) {
            if (connection->stage == STAGE_RELAY && connection->inner.watcher.is_open)
                connection_reset(connection);
            return;
        }
    } else if (connection->is_inspected && from_inner &&
               !flow_move(egress, &connection->outward, inner, outer)) {
        connection_reset(connection);
        return;
    }
    if (http_is_waiting(connection))
        http_hear_agreement(connection);
    if (from_outer && !http_is_waiting(connection) && !flow_move(egress, &connection->inward, outer, inner)) {
        connection_reset(connection);
        return;
    }
    flow_give_pipe(egress, &connection->outward);
    flow_give_pipe(egress, &connection->inward);
    if (connection->outward.is_shut && connection->inward.is_shut)
        connection_close(connection);
    else
        watch_sides(connection);
}

void connection_relay(struct connection *connection)
{
    connection->stage = STAGE_RELAY;
    connection->deadline = 0;
    if (!connection->is_inspected) {
        watch_sides(connection);
        connection_inspect(connection);
        return;
    }
    relay_round(connection, true, true);
}

/* The proxy's answer ends where it ends: what follows is the other host's first word. */
static void hear_proxy(struct connection *connection)
{
    char bytes[PROXY_LARGEST_ANSWER];
    int fd = connection->outer.watcher.fd;
    ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    ptrdiff_t size = got <= 0 ? -1 : proxy_read_answer(bytes, (size_t)got);
    if (size < 0)
        connection_fail(connection, 0, "the proxy does not connect to it");
    else if (size > 0 && recv(fd, bytes, (size_t)size, MSG_DONTWAIT) == size)
        connection_relay(connection);
}

/* A client that gives up before anything was dialled need not be dialled for. */
static bool has_given_up(const struct connection *connection, uint32_t events)
{
    return connection->stage != STAGE_RELAY && events & (EPOLLERR | EPOLLHUP);
}

void relay_ready(struct watcher *watcher, uint32_t events)
{
    struct side *side = (struct side *)watcher;
    struct connection *connection = side->connection;
    bool is_inner = side == &connection->inner;
    if (has_given_up(connection, events)) {
        connection_reset(connection);
        return;
    }
    char rest[4096];
    switch (connection->stage) {
    case STAGE_INSPECT:
        connection_inspect(connection);
        break;
    case STAGE_LOOKUP:
    case STAGE_DIAL:
        break; /* what comes is read once there is somewhere to put it */
    case STAGE_PROXY:
        if (!is_inner)
            hear_proxy(connection);
        break;
    case STAGE_RELAY:
        if (events & EPOLLERR)
            connection_reset(connection);
        else if (is_inner && !connection->is_inspected && events & EPOLLIN)
            connection_inspect(connection);
        else
            relay_round(connection, is_inner ? events & (EPOLLIN | EPOLLHUP) : events & EPOLLOUT,
                        is_inner ? events & EPOLLOUT : events & (EPOLLIN | EPOLLHUP));
        break;
    case STAGE_FAREWELL:
        if (recv(watcher->fd, rest, sizeof(rest), MSG_DONTWAIT) <= 0)
            connection_close(connection);
        break;
    }
}
