/* Takes connections, finds out what they are for, and ends them. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/classes.h"
#include "egress/egress.h"

enum {
    PATIENCE = 30000 /* milliseconds, for everything that comes before the first byte */,
    FAREWELL = 1000
};

const char *connection_host(const struct connection *connection, char text[ENDPOINT_TEXT_SIZE])
{
    if (connection->name)
        return connection->name->text;
    endpoint_text(&connection->asked, text);
    return text;
}

bool connection_is_one_of_many(const struct connection *connection)
{
    const struct host_object *host = &connection->rule.host;
    bool is_spelled_out = connection->rule.verb == VERB_CONNECT &&
                          (host->kind == HOST_NAME || (host->kind == HOST_ADDRESS && host->prefix == 128));
    return !is_spelled_out && !connection->published;
}

static void side_open(struct side *side, struct connection *connection, int fd, uint32_t events)
{
    side->connection = connection;
    if (poller_add(&connection->egress->poller, &side->watcher, fd, events, relay_ready) < 0)
        side->watcher.is_open = false;
}

void connection_set_deadline(struct connection *connection, int64_t milliseconds)
{
    connection->egress->pending += (milliseconds != 0) - (size_t)(connection->deadline != 0);
    connection->deadline = milliseconds ? now_milliseconds() + milliseconds : 0;
}

static struct connection *connection_new(struct egress *egress)
{
    struct connection *connection = must_realloc(NULL, 1, sizeof(*connection));
    *connection = (struct connection){.egress = egress, .next = egress->connections};
    connection_set_deadline(connection, PATIENCE);
    if (egress->connections)
        egress->connections->previous = connection;
    egress->connections = connection;
    egress->connection_count++;
    return connection;
}

void connection_close(struct connection *connection)
{
    struct egress *egress = connection->egress;
    connection_account(connection);
    ask_forget(egress, connection);
    for (size_t i = 0; i < connection->attempts_begun; i++)
        poller_close(&connection->attempts[i].watcher);
    poller_close(&connection->inner.watcher);
    poller_close(&connection->outer.watcher);
    flow_free(&connection->outward, &egress->pipes);
    flow_free(&connection->inward, &egress->pipes);
    connection_set_deadline(connection, 0);
    buf_free(&connection->http.line);
    if (connection->next)
        connection->next->previous = connection->previous;
    *(connection->previous ? &connection->previous->next : &egress->connections) = connection->next;
    egress->connection_count--;
    egress->published_count -= connection->published != 0;
    poller_retire(&egress->poller, connection);
    listeners_pause(egress, false);
}

static void break_when_closed(int fd)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void reset_side(struct side *side)
{
    if (side->watcher.is_open)
        break_when_closed(side->watcher.fd);
}

void connection_reset(struct connection *connection)
{
    reset_side(&connection->inner);
    reset_side(&connection->outer);
    connection_close(connection);
}

/* Plain HTTP has a way to say no. Whatever the client still sends is read, or the kernel would take the words back. */
static void say_no(struct connection *connection, const char *host, const char *sentence)
{
    char text[512];
    int length = snprintf(text, sizeof(text),
                          "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
                          "bawn: this sandbox may not reach %s: %s.\n",
                          host, sentence);
    size_t size = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    reset_side(&connection->outer);
    poller_close(&connection->outer.watcher);
    if (send(connection->inner.watcher.fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
        connection_reset(connection);
        return;
    }
    shutdown(connection->inner.watcher.fd, SHUT_WR);
    connection->stage = STAGE_FAREWELL;
    connection_set_deadline(connection, FAREWELL);
    poller_change(&connection->egress->poller, &connection->inner.watcher, EPOLLIN);
}

void connection_refuse(struct connection *connection, const char *sentence)
{
    char text[ENDPOINT_TEXT_SIZE];
    const char *host = connection_host(connection, text);
    tell_connection(connection, TOLD_REFUSED, sentence);
    if (connection->speaks_http)
        say_no(connection, host, sentence);
    else
        connection_reset(connection);
}

void connection_fail(struct connection *connection, int errnum, const char *sentence)
{
    tell_connection(connection, TOLD_FAILED, errnum ? strerrordesc_np(errnum) : sentence);
    connection_reset(connection);
}

/* Who it is for: a name that an address stands for, a port of the host's, or an address that a rule names. */
static bool find_target(struct connection *connection)
{
    struct egress *egress = connection->egress;
    const struct endpoint *asked = &connection->asked;
    connection->name = name_of_address(egress, asked);
    if (connection->name) {
        return table_allows(&egress->table, &connection->name->host, asked->port, &connection->rule);
    }
    connection->is_inspected = true; /* an address has no name that could differ */
    if (table_is_host_port(&egress->table, asked))
        return true;
    struct host_object host = table_address(asked);
    return table_allows(&egress->table, &host, asked->port, &connection->rule);
}

static void begin_outward(struct egress *egress, int fd)
{
    struct connection *connection = connection_new(egress);
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    bool is_known = getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
                    endpoint_from_socket(&address, &connection->asked);
    bool is_allowed = is_known && find_target(connection);
    /* What need not be looked at is not waited for before there is somewhere to put it. */
    side_open(&connection->inner, connection, fd, connection->is_inspected ? 0 : EPOLLIN | EPOLLET);
    if (!connection->inner.watcher.is_open || !is_known) {
        connection_reset(connection);
        return;
    }
    if (!is_allowed) {
        connection_refuse(connection, "is not on the list of hosts");
        return;
    }
    /* Where only one protocol is spoken, nothing is dialled before the first words have named the host. */
    bool names_first = connection->asked.port == PORT_HTTPS || connection->asked.port == PORT_HTTP;
    if (connection->name && names_first)
        connection_inspect(connection);
    else
        connection_dial(connection);
}

static void begin_inward(struct egress *egress, int fd, uint16_t port)
{
    /* Who comes from outside may be anybody, and shall not use up what those inside need. */
    if (egress->published_count >= egress->most_published) {
        tell_trouble(egress, "port %u inside has so many connections that further ones are turned away",
                     port);
        break_when_closed(fd);
        close(fd);
        return;
    }
    struct connection *connection = connection_new(egress);
    connection->published = port;
    egress->published_count++;
    connection->stage = STAGE_DIAL;
    connection->is_inspected = true;
    connection->asked = endpoint_v4(INADDR_LOOPBACK, port);
    side_open(&connection->outer, connection, fd, EPOLLIN | EPOLLET);
    if (connection->outer.watcher.is_open)
        connection_dial_inside(connection);
    else
        connection_reset(connection);
}

bool accept_has_no_room(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOBUFS || errnum == ENOMEM;
}

static void listener_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    enum { MOST_AT_ONCE = 64 };
    struct listener *listener = (struct listener *)watcher;
    struct egress *egress = listener->egress;
    /* Where nothing else happens there is mostly one; then the next round costs no more than to ask for a second in vain. */
    int most = egress->poller.ready < MOST_AT_ONCE ? egress->poller.ready : MOST_AT_ONCE;
    for (int i = 0; i < most; i++) {
        if (egress->connection_count >= MOST_CONNECTIONS) {
            listeners_pause(egress, true);
            return;
        }
        int fd = accept4(watcher->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && accept_has_no_room(errno))
            listeners_pause(egress, true);
        if (fd < 0)
            return;
        if (listener->published)
            begin_inward(egress, fd, listener->published);
        else
            begin_outward(egress, fd);
    }
}

int listener_add(struct egress *egress, int fd, uint16_t published)
{
    static const int on = 1;
    struct listener *listener = must_realloc(NULL, 1, sizeof(*listener));
    *listener = (struct listener){.egress = egress, .next = egress->listeners, .published = published};
    /* What is accepted inherits them. A byte sent as urgent stays in its place: what was looked at is what is sent on. */
    setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (poller_add(&egress->poller, &listener->watcher, fd, EPOLLIN, listener_ready) < 0) {
        free(listener);
        return -1;
    }
    egress->listeners = listener;
    egress->listener_count++;
    return 0;
}

/* With too many connections nobody is turned away: who comes waits in the kernel until one has ended, or a while. */
void listeners_pause(struct egress *egress, bool pause)
{
    if (egress->listeners_are_paused == pause)
        return;
    egress->listeners_are_paused = pause;
    for (struct listener *at = egress->listeners; at; at = at->next)
        poller_change(&egress->poller, &at->watcher, pause ? 0 : EPOLLIN);
    if (!pause)
        poller_change(&egress->poller, &egress->streams, EPOLLIN);
}
