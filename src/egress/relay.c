
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "egress/connection.h"

static bool http_is_waiting(const struct connection *connection)
{
    return connection->speaks_http && connection->http.state == HTTP_UPGRADING;
}

/* Must bytes of the client pass a check before they are sent? */
static bool is_checked(const struct connection *connection)
{
    return connection->speaks_http || connection_is_watched(connection);
}

static bool check(struct connection *connection, const char *bytes, size_t size)
{
    if (connection->speaks_http)
        return connection_check_http(connection, bytes, size);
    if (!connection_watch(connection, bytes, size))
        return false;
    buf_add(&connection->outward.copied, bytes, size);
    return true;
}

/* Sends the bytes that have been checked. Returns false if the connection broke or was refused. */
static bool checked_move(struct connection *connection)
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
    if (!check(connection, bytes, (size_t)got))
        return false;
    return flow_send(out, outer);
}

/* The beginning of the answer to an Upgrade request: does the server change the protocol? */
static void http_hear_agreement(struct connection *connection, struct bytes bytes)
{
    static const char agreed[] = "HTTP/1.1 101";
    enum { SIZE = sizeof(agreed) - 1 };
    size_t missing = SIZE - connection->agreed_size, part = bytes.size < missing ? bytes.size : missing;
    bool may_agree = bytes.size && memcmp(bytes.at, agreed + connection->agreed_size, part) == 0;
    connection->agreed_size += part;
    if (!may_agree)
        connection->http.state = HTTP_HEAD;
    else if (connection->agreed_size == SIZE)
        connection->http.state = HTTP_PASSING;
}

/* Is what the server says next read, before it is handed on? */
static bool server_is_heard(const struct connection *connection)
{
    return http_is_waiting(connection) || connection_is_proving(connection);
}

/* Returns false if the connection broke. */
static bool hear_server(struct connection *connection)
{
    struct flow *in = &connection->inward;
    int inner = connection->inner.watcher.fd;
    if (!flow_send(in, inner))
        return false;
    if (flow_is_stuck(in) || in->ended)
        return true;
    const char *at;
    ssize_t got = flow_receive(in, connection->outer.watcher.fd, &at);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    struct bytes bytes = bytes_of(at, (size_t)got);
    if (http_is_waiting(connection))
        http_hear_agreement(connection, bytes);
    connection_hear_proof(connection, bytes);
    buf_add(&in->copied, at, (size_t)got);
    return flow_send(in, inner);
}

/* Sets the events that each side waits for. */
static void watch_sides(struct connection *connection)
{
    struct poller *poller = &connection->egress->poller;
    const struct flow *out = &connection->outward, *in = &connection->inward;
    bool out_is_stuck = flow_is_stuck(out), in_is_stuck = flow_is_stuck(in);
    bool reads_inner = !out->ended && !out_is_stuck && !http_is_waiting(connection);
    uint32_t inner = (reads_inner ? EPOLLIN : 0U) | (in_is_stuck ? EPOLLOUT : 0U);
    uint32_t outer = (!in->ended && !in_is_stuck ? EPOLLIN : 0U) | (out_is_stuck ? EPOLLOUT : 0U);
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
        if (!connection->is_gathering) {
            connection->next_gathering = egress->gathering;
            egress->gathering = connection;
        }
        connection->is_gathering = true;
    }
}

bool relay_keep_time(struct egress *egress)
{
    enum { SILENCE = 2 }; /* milliseconds; the first one may be a fraction */
    if (!egress->gathering)
        return false;
    int64_t now = now_milliseconds();
    if (now == egress->gathering_looked)
        return true;
    egress->gathering_looked = now;
    for (struct connection **link = &egress->gathering; *link;) {
        struct connection *at = *link;
        if (gathers(at) && now - at->moved >= SILENCE) {
            flow_hurry(&at->outward, at->inner.watcher.fd);
            flow_hurry(&at->inward, at->outer.watcher.fd);
        }
        at->is_gathering = gathers(at);
        if (at->is_gathering)
            link = &at->next_gathering;
        else
            *link = at->next_gathering;
    }
    return egress->gathering != NULL;
}

static void relay_round(struct connection *connection, bool from_inner, bool from_outer)
{
    struct egress *egress = connection->egress;
    int inner = connection->inner.watcher.fd, outer = connection->outer.watcher.fd;
    if (connection->is_inspected && from_inner && is_checked(connection)) {
        if (!checked_move(connection)) {
            if (connection->stage == STAGE_RELAY && connection->inner.watcher.is_open)
                connection_reset(connection);
            return;
        }
    } else if (connection->is_inspected && from_inner &&
               !flow_move(&connection->outward, &egress->pipes, inner, outer)) {
        connection_reset(connection);
        return;
    }
    if (server_is_heard(connection) && !hear_server(connection)) {
        connection_reset(connection);
        return;
    }
    if (from_outer && !server_is_heard(connection) &&
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

static void relay_ready(struct connection *connection, bool is_inner, uint32_t events)
{
    if (events & EPOLLERR)
        connection_reset(connection);
    else if (!is_inner || connection->is_inspected || !(events & EPOLLIN))
        relay_round(connection, is_inner ? events & (EPOLLIN | EPOLLHUP) : events & EPOLLOUT,
                    is_inner ? events & EPOLLOUT : events & (EPOLLIN | EPOLLHUP));
    else if (connection_inspect(connection))
        connection_relay(connection);
}

void connection_relay(struct connection *connection)
{
    if (connection->is_inspected && connection_is_vaults(connection)) {
        connection_hand(connection);
        return;
    }
    if (connection->stage != STAGE_RELAY)
        connection_begin_proof(connection);
    connection_enter(connection, STAGE_RELAY, relay_ready);
    connection->began = now_milliseconds();
    connection_set_deadline(connection, 0);
    if (connection->is_inspected)
        connection_search_nameless(connection);
    if (!connection->is_inspected) {
        watch_sides(connection);
        if (!connection_inspect(connection))
            return;
    }
    /*
     * The client's first bytes have been read, as has what a proxy sent beyond its answer. Without them, the peer that connected
     * has mostly sent something by now. The other one has not, or epoll will report it.
     */
    bool has_first = flow_is_stuck(&connection->outward);
    if (!flow_send(&connection->outward, connection->outer.watcher.fd) ||
        !flow_send(&connection->inward, connection->inner.watcher.fd))
        connection_reset(connection);
    else
        relay_round(connection, !connection->published && !has_first, connection->published);
}
