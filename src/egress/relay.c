/*
 * Moves bytes both ways (flow.h). An end on one side becomes an end on the other (half-close), a side that does not read
 * holds the other up, a break is a break on both. Requests of plain HTTP are read (http.h), their answers are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/egress.h"

static bool http_is_waiting(const struct connection *connection)
{
    return connection->speaks_http && connection->http.state == HTTP_UPGRADING;
}

/* What of a request may go, goes. Returns false where the connection broke or was refused. */
static bool http_move(struct connection *connection)
{
    struct flow *out = &connection->outward;
    int outer = connection->outer.watcher.fd;
    if (!flow_send(out, outer))
        return false;
    if (flow_is_stuck(out) || out->ended || http_is_waiting(connection))
        return true;
    const char *bytes;
    ssize_t got = flow_receive(out, connection->inner.watcher.fd, &bytes);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    char text[ENDPOINT_TEXT_SIZE];
    const char *problem = "it sends before the change of protocol is agreed to";
    if (got && http_take(&connection->http, connection_host(connection, text), connection->asked.port, bytes,
                         (size_t)got, &out->copied, &problem) != got) {
        connection_refuse(connection, problem);
        return false;
    }
    if (connection->http.state == HTTP_PASSING)
        connection->speaks_http = false; /* nothing more needs to be read */
    return flow_send(out, outer);
}

/* The server's first words after a request to change the protocol: does it? */
static void http_hear_agreement(struct connection *connection)
{
    static const char agreed[] = "HTTP/1.1 101";
    char words[sizeof(agreed) - 1];
    ssize_t got = recv(connection->outer.watcher.fd, words, sizeof(words), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return;
    bool may_agree = got > 0 && memcmp(words, agreed, (size_t)got) == 0;
    if (!may_agree)
        connection->http.state = HTTP_HEAD;
    else if (got == sizeof(words))
        connection->http.state = HTTP_PASSING;
}

/* What each side is waited for now. */
static void watch_sides(struct connection *connection)
{
    struct poller *poller = &connection->egress->poller;
    const struct flow *out = &connection->outward, *in = &connection->inward;
    bool out_is_stuck = flow_is_stuck(out), in_is_stuck = flow_is_stuck(in);
    bool reads_inner = !out->ended && !out_is_stuck && !http_is_waiting(connection);
    uint32_t inner = (reads_inner ? EPOLLIN : 0U) | (in_is_stuck ? EPOLLOUT : 0U);
    uint32_t outer = (!in->ended && !in_is_stuck ? EPOLLIN : 0U) | (out_is_stuck ? EPOLLOUT : 0U);
    if (!connection->is_inspected && inner & EPOLLIN)
        inner |= EPOLLET; /* what is only looked at stays, and would be reported again and again */
    if (http_is_waiting(connection) && outer & EPOLLIN)
        outer |= EPOLLET;
    poller_change(poller, &connection->inner.watcher, inner);
    poller_change(poller, &connection->outer.watcher, outer);
}

static bool gathers(const struct connection *connection)
{
    return connection->stage == STAGE_RELAY && (connection->outward.gathers || connection->inward.gathers);
}

static void gather(struct connection *connection)
{
    struct egress *egress = connection->egress;
    flow_gather(&connection->outward, connection->inner.watcher.fd);
    flow_gather(&connection->inward, connection->outer.watcher.fd);
    if (gathers(connection)) {
        connection->moved = now_milliseconds();
        egress->gathers = true;
    }
}

bool relay_keep_time(struct egress *egress)
{
    enum { SILENCE = 2 }; /* milliseconds, of which the first may have been half over */
    if (!egress->gathers)
        return false;
    int64_t now = now_milliseconds();
    if (now == egress->gathers_looked)
        return true;
    egress->gathers_looked = now;
    egress->gathers = false;
    for (struct connection *at = egress->connections; at; at = at->next) {
        if (gathers(at) && now - at->moved >= SILENCE) {
            flow_hurry(&at->outward, at->inner.watcher.fd);
            flow_hurry(&at->inward, at->outer.watcher.fd);
        }
        egress->gathers |= gathers(at);
    }
    return egress->gathers;
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
               !flow_move(&connection->outward, &egress->pipes, inner, outer)) {
        connection_reset(connection);
        return;
    }
    if (http_is_waiting(connection))
        http_hear_agreement(connection);
    if (from_outer && !http_is_waiting(connection) &&
        !flow_move(&connection->inward, &egress->pipes, outer, inner)) {
        connection_reset(connection);
        return;
    }
    egress->poller.moves_much |= connection->outward.is_bulk || connection->inward.is_bulk;
    flow_rest(&connection->outward, &egress->pipes);
    flow_rest(&connection->inward, &egress->pipes);
    if (connection->outward.is_shut && connection->inward.is_shut) {
        connection_close(connection);
        return;
    }
    gather(connection);
    watch_sides(connection);
}

void connection_relay(struct connection *connection)
{
    connection->stage = STAGE_RELAY;
    connection->began = now_milliseconds();
    connection_set_deadline(connection, 0);
    if (!connection->is_inspected) {
        watch_sides(connection);
        connection_inspect(connection);
        return;
    }
    /* Who connected has mostly said something by now. The other side has not, or will be reported. */
    relay_round(connection, !connection->published, connection->published);
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
        connection_is_through(connection);
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
    const char *unread;
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
        if (flow_receive(&connection->outward, watcher->fd, &unread) <= 0)
            connection_close(connection);
        break;
    }
}
