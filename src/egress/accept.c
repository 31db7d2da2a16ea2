
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/connection.h"

/* Finds the name for the connection's synthetic address, and the rule that allows the connection. */
static bool find_rule(struct connection *connection)
{
    struct egress *egress = connection->egress;
    const struct endpoint *asked = &connection->asked;
    connection->name = name_of_address(&egress->names, asked);
    if (connection->name)
        return table_allows(&egress->table, &connection->name->host, asked->port, &connection->rule);
    connection->is_inspected = true; /* the connection has no name that the first bytes could contradict */
    if (table_is_host_port(&egress->table, asked))
        return true;
    struct host_object host = table_address(asked);
    return table_allows(&egress->table, &host, asked->port, &connection->rule);
}

/* *ret_is_spent: the rule was for one connection, and this is it. */
static bool find_target(struct connection *connection, bool *ret_is_spent)
{
    bool is_found = find_rule(connection);
    struct egress *egress = connection->egress;
    *ret_is_spent = is_found && table_spend(&egress->table, &connection->rule);
    if (*ret_is_spent && connection->name)
        tell_forget_held(&egress->tell, connection->name->text, connection->asked.port);
    return is_found;
}

static void inspect_ready(struct connection *connection, bool is_inner, uint32_t events)
{
    (void)is_inner, (void)events;
    if (connection_inspect(connection))
        connection_dial(connection);
}

/* In TLS and in HTTP the client speaks first. At other ports the server may: it is dialled first. */
static void go_on(struct connection *connection)
{
    bool names_first = connection->asked.port == PORT_HTTPS || connection->asked.port == PORT_HTTP ||
                       connection_is_vaults(connection);
    if (connection->name && names_first) {
        connection_enter(connection, STAGE_INSPECT, inspect_ready);
        inspect_ready(connection, true, 0);
    } else {
        connection_dial(connection);
    }
}

/* Nothing is read, looked up or dialled before the answer. */
static void wait_for_answer(struct connection *connection)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    struct endpoint client = {0};
    if (getpeername(connection->inner.watcher.fd, (struct sockaddr *)&address, &size) < 0 ||
        !endpoint_from_socket(&address, &client))
        client.port = 0;
    /* If this helper is killed meanwhile, the program must not take the end of the connection for an answer. */
    break_when_closed(connection->inner.watcher.fd);
    connection_enter(connection, STAGE_ASK, NULL);
    connection_set_deadline(connection, connection->egress->ask_patience);
    tell_held(&connection->egress->tell, connection->name->text, connection->asked.port, client.port);
}

static bool is_asked_for(const struct connection *connection)
{
    return connection->name &&
           table_asks(&connection->egress->table, &connection->name->host, connection->asked.port);
}

/* A host that was allowed for one connection, which one of those that wait has got. NULL: none. */
static bool is_late(const struct connection *connection, const struct connection *spent)
{
    return spent && connection->name == spent->name && connection->asked.port == spent->asked.port;
}

void accept_answered(struct egress *egress)
{
    const struct connection *spent = NULL;
    for (struct connection *at = egress->oldest, *next; at; at = next) {
        next = at->previous;
        bool is_spent = false;
        if (at->stage != STAGE_ASK || (is_asked_for(at) && !is_late(at, spent)))
            continue;
        if (is_late(at, spent)) {
            connection_refuse(at, "was allowed for one connection, which another program has used");
        } else if (find_target(at, &is_spent)) {
            spent = is_spent ? at : spent;
            connection_set_deadline(at, CONNECTION_PATIENCE);
            close_in_order(at->inner.watcher.fd);
            go_on(at);
        } else {
            connection_refuse(at, "was refused by the person who was asked");
        }
    }
}

/* `asked`: the address that the client connected to; NULL: the socket's own. */
static void begin_outward(struct egress *egress, struct listener *listener, int fd,
                          const struct endpoint *asked)
{
    struct connection *connection = connection_new(egress, listener);
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    bool is_known = asked || (getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
                              endpoint_from_socket(&address, &connection->asked));
    if (asked)
        connection->asked = *asked;
    bool is_spent = false;
    bool is_allowed = is_known && find_target(connection, &is_spent);
    /* Without inspection the socket is first read in STAGE_RELAY. */
    side_open(&connection->inner, connection, fd, connection->is_inspected ? 0 : EPOLLIN | EPOLLET);
    if (!connection->inner.watcher.is_open || !is_known) {
        connection_reset(connection);
        return;
    }
    if (is_allowed)
        go_on(connection);
    else if (is_asked_for(connection))
        wait_for_answer(connection);
    else
        connection_refuse(connection, "is not on the list of hosts");
}

static void begin_inward(struct egress *egress, struct listener *listener, int fd)
{
    uint16_t port = listener->published;
    /* Any process of the host can connect to a published port, and must not use up the descriptors for those inside. */
    if (egress->published_count >= egress->most_published) {
        tell_trouble(&egress->tell, "port %u inside has too many connections: further ones are refused",
                     port);
        break_when_closed(fd);
        close(fd);
        return;
    }
    struct connection *connection = connection_new(egress, listener);
    connection->published = port;
    egress->published_count++;
    connection_enter(connection, STAGE_DIAL, NULL);
    connection->is_inspected = true;
    connection->asked = endpoint_v4(INADDR_LOOPBACK, port);
    side_open(&connection->outer, connection, fd, EPOLLIN | EPOLLET);
    if (connection->outer.watcher.is_open)
        connection_dial_inside(connection);
    else
        connection_reset(connection);
}

void accept_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    enum { MOST_AT_ONCE = 64 };
    struct listener *listener = (struct listener *)watcher;
    struct egress *egress = container_of(listener->all, struct egress, listeners);
    /* If few descriptors are ready, one connection is likely: a further round costs no more than a vain accept. */
    int most = egress->poller.ready < MOST_AT_ONCE ? egress->poller.ready : MOST_AT_ONCE;
    for (int i = 0; i < most; i++) {
        if (!room_make(egress, listener))
            return;
        int fd = accept4(watcher->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && listeners_lack_room(errno))
            listener_pause(listener);
        if (fd < 0)
            return;
        listener->waits_since = 0;
        if (listener->published)
            begin_inward(egress, listener, fd);
        else
            begin_outward(egress, listener, fd, NULL);
    }
}

/* Without a namespace programs ask the host's resolver, whatever its address is. A rule for that address comes first. */
static bool is_for_resolver(const struct egress *egress, const struct endpoint *at)
{
    struct host_object host = table_address(at);
    return at->port == PORT_NAMES && !name_of_address(&egress->names, at) &&
           !table_is_host_port(&egress->table, at) && !table_allows(&egress->table, &host, at->port, NULL);
}

static bool is_of_type(int fd, int wanted)
{
    int type = 0;
    socklen_t size = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == wanted;
}

void accept_arrival(struct asks *asks, const struct port_request *arrival, int fd)
{
    struct egress *egress = container_of(asks, struct egress, asks);
    bool is_question = arrival->kind == PORT_QUESTIONS;
    if (!is_of_type(fd, is_question ? SOCK_SEQPACKET : SOCK_STREAM))
        close(fd);
    else if (is_question || is_for_resolver(egress, &arrival->at))
        resolver_add_stream(&egress->resolver, fd, is_question, arrival->number);
    else if (room_make(egress, &egress->arrivals))
        begin_outward(egress, &egress->arrivals, fd, &arrival->at);
    else {
        break_when_closed(fd);
        close(fd);
    }
}
