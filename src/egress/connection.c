/*
 * Theory of operation
 *
 * A connection joins two TCP sockets. `inner` is the socket inside the sandbox's network namespace, `outer` is the one on the
 * host. A connection is accepted at one side (accept.c) and dialled at the other (dial.c). It goes through these stages:
 *
 *   from inside:      ASK ─▶ INSPECT ─▶ LOOKUP ─▶ TURN ─▶ DIAL ─▶ PROXY ─▶ RELAY ─▶ closed
 *   published port:                                       DIAL ──────────▶ RELAY ─▶ closed
 *
 *   ASK        only with --ask, for names that no rule decides about. Nothing is read, looked up or dialled before the answer, which comes
 *              as a rule.
 *   INSPECT    only for names at ports 80 and 443. The first bytes must name the host (inspect.c) before anything is dialled.
 *   LOOKUP     waits for the addresses of the name or of the proxy, or for this network's NAT64 prefixes. A name whose
 *              addresses are cached, and an address that a rule names, pass through at once.
 *   TURN       only with `limit rate`: waits until another connection to this host may begin (rate.h).
 *   DIAL       tries the permitted addresses, a further one every 250 ms, until one answers. A published port asks process 1
 *              for a socket that connects inside.
 *   PROXY      only with a proxy: has sent CONNECT, and waits for the answer.
 *   RELAY      moves bytes (relay.c). At other ports than 80 and 443 the first bytes are inspected here: the server may speak
 *              first, so bytes from outside pass already. A host whose secrets stay outside is inspected first at every port, and
 *              its sockets are handed to the vault (hand.c), which moves the bytes.
 *   FAREWELL   can follow any stage before the end: a client that speaks HTTP has been sent a 403, and its remaining bytes are
 *              read and dropped, since closing a socket with unread bytes would discard the answer.
 *
 * The file of each stage sets `ready` when it enters the stage. In ASK, LOOKUP, TURN and DIAL it is NULL: bytes that the client sends
 * after those that were inspected stay in the socket's buffer until there is a peer to send them to.
 *
 * One copy
 *
 *   sendfile, splice and vmsplice queue pages by reference. The sender can rewrite them until they are read, so two reads of
 *   the same bytes can differ. Hence no byte is looked at in a queue (MSG_PEEK): it is read once, into memory of this program,
 *   judged there, and sent from there. Bytes that nobody judges may be spliced. These are all the places that judge bytes:
 *
 *     the client's first bytes    inspect.c reads them into `first`, and passes on that buffer
 *     requests of HTTP            http.c keeps the head in http.line. What passes is added to outward.copied. With `leak block`
 *                                 content waits in http.search->held until it has been searched
 *     the answer to an Upgrade    relay.c reads its first words, and adds them to inward.copied
 *     a server's proof            relay.c reads the beginning of what an ssh server says, ssh.c hears it, and inward.copied has it
 *     the proxy's answer          dial.c reads it into inward.copied. The relay begins with what follows it
 *     questions for names         resolver.c reads a question, by UDP or TCP, into its own memory
 *     requests to process 1       asks.c, and bawn's lines (settings.c): one message of fixed or bounded size, read once
 *     bawn's settings             settings.c reads the whole file once, and parses that copy
 *
 *   At a published port, and at an address that a rule names, nothing is judged, but with `leak … plain` requests to an address are searched.
 *
 * Invariants
 *
 *   1. While is_inspected is false no byte from inside is sent out. `first` has those that were read so far, and is empty
 *      afterwards.
 *   2. A name at port 80 or 443 is not dialled while is_inspected is false.
 *   3. Only addresses that leads.c permits, the proxy and the host's loopback (host-port) are dialled. The name is not looked
 *      up again between the check and connect().
 *   4. egress->pending counts the connections whose deadline is not 0. In RELAY there is no deadline; in every other stage
 *      there is one, so no connection waits for ever.
 *   5. `rule` is the rule as it was when the connection was accepted, or left ASK. Later rules do not end it.
 *   6. connection_close unlinks the connection and closes its descriptors at once. The memory is freed at the end of the
 *      poller's round, because epoll may have reported another of its descriptors in the same round.
 *   7. attempts_open counts the begun attempts that have not failed. attempts[attempts_begun] and those after it are unused.
 *   8. published_count counts the connections of published ports. It has a limit of its own, so that connections from the host
 *      cannot use up the descriptors for connections from inside.
 *   9. Bytes without a verdict are bounded: by 32 KiB for `first`, 64 KiB for http.line, 52 KiB for kex.unread and 96 KiB for what waits for a search, and by MOST_HELD for all connections
 *      together. Beyond that each connection still has its SHARE.
 *  10. egress->connections has every connection, the newest first. listener->connections counts those of a listener.
 *
 * Who owns which descriptor
 *
 *   accepted socket     `inner` (published port: `outer`), from accept until connection_close
 *   dialled sockets     attempts[i], until one answers. That one moves to `outer` (published port: `inner`); all others are
 *                       closed
 *   sockets that were   asks.c until the reply, then attempts[0]. connection_close calls ask_forget, so that a socket that
 *   asked for           comes too late is closed by asks.c
 *   pipes               each flow has one while there are bytes in it. An empty pipe goes back to egress->pipes
 */
#include "egress/connection.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    FAREWELL = 1000,
    MOST_ACCOUNTS = 1000,
    MOST_HELD = 64 << 20, /* bytes, for unfinished requests of all connections */
    SHARE = 8192,         /* bytes that any connection may hold: far more than most hellos and heads have */
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

void connection_tell(const struct connection *connection, enum told kind, const char *detail)
{
    char text[ENDPOINT_TEXT_SIZE];
    tell_host(&connection->egress->tell, kind, connection_is_one_of_many(connection),
              connection_host(connection, text), connection->asked.port, detail);
}

/* --- stages and sides --------------------------------------------------------------------------------------------- */

void connection_enter(struct connection *connection, enum stage stage, connection_ready *ready)
{
    connection->stage = stage;
    connection->ready = ready;
}

static void side_ready(struct watcher *watcher, uint32_t events)
{
    const struct side *side = (const struct side *)watcher;
    struct connection *connection = side->connection;
    if (connection->stage != STAGE_RELAY && events & (EPOLLERR | EPOLLHUP))
        connection_reset(connection); /* the peer gave up: nothing more is dialled for it */
    else if (connection->ready)
        connection->ready(connection, side == &connection->inner, events);
}

void side_open(struct side *side, struct connection *connection, int fd, uint32_t events)
{
    side->connection = connection;
    if (poller_add(&connection->egress->poller, &side->watcher, fd, events, side_ready) < 0)
        side->watcher.is_open = false;
}

int side_take(struct side *side, struct attempt *attempt, uint32_t events)
{
    side->connection = attempt->connection;
    return poller_move(&attempt->connection->egress->poller, &attempt->watcher, &side->watcher, events,
                       side_ready);
}

void connection_set_deadline(struct connection *connection, int64_t milliseconds)
{
    connection->egress->pending += (milliseconds != 0) - (size_t)(connection->deadline != 0);
    connection->deadline = milliseconds ? now_milliseconds() + milliseconds : 0;
}

struct connection *connection_new(struct egress *egress, struct listener *listener)
{
    struct connection *connection = must_realloc(NULL, 1, sizeof(*connection));
    *connection = (struct connection){.egress = egress, .next = egress->connections, .listener = listener};
    connection_set_deadline(connection, CONNECTION_PATIENCE);
    connection->accepted = connection->deadline - CONNECTION_PATIENCE;
    *(egress->connections ? &egress->connections->previous : &egress->oldest) = connection;
    egress->connections = connection;
    egress->connection_count++;
    listener->connections++;
    return connection;
}

bool connection_may_hold(struct connection *connection)
{
    struct egress *egress = connection->egress;
    struct buf *waiting = connection->http.search ? &connection->http.search->held : NULL;
    if (!connection->http.line.size && connection->http.line.capacity > SHARE)
        buf_free(&connection->http.line);
    if (waiting && !waiting->size)
        buf_free(waiting);
    size_t held = connection->first.capacity + connection->http.line.capacity +
                  connection->kex.unread.capacity + (waiting ? waiting->capacity : 0);
    egress->held += held - connection->held;
    connection->held = held;
    return held <= SHARE || egress->held <= MOST_HELD;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* The kernel has counted the bytes (TCP_INFO), so that the relay need not. */
void connection_account(const struct connection *connection)
{
    struct egress *egress = connection->egress;
    struct tcp_info information = {0};
    socklen_t size = sizeof(information);
    char address[ENDPOINT_TEXT_SIZE], host[ENDPOINT_TEXT_SIZE];
    int fd = connection->outer.watcher.fd;
    if (connection->stage != STAGE_RELAY || connection->published || !connection->outer.watcher.is_open ||
        egress->accounts > MOST_ACCOUNTS)
        return;
    if (egress->accounts++ == MOST_ACCOUNTS) {
        tell_trouble(&egress->tell, "the traffic of further connections is not recorded: there were %d",
                     MOST_ACCOUNTS);
        return;
    }
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &information, &size) < 0)
        return;
    endpoint_text(&connection->reached, address);
    /* The kernel counts a received FIN as one byte. */
    uint64_t sent = information.tcpi_bytes_sent - information.tcpi_bytes_retrans,
             received = information.tcpi_bytes_received;
    received -= connection->inward.ended && received;
    tell_always(&egress->tell, arena_printf(&egress->arena, "closed %s %u %s %llu %llu %lld",
                                            connection_host(connection, host), connection->asked.port,
                                            address, (unsigned long long)sent, (unsigned long long)received,
                                            (long long)(now_milliseconds() - connection->began)));
}

static void leave_gathering(struct connection *connection)
{
    struct connection **link = &connection->egress->gathering;
    while (*link && *link != connection)
        link = &(*link)->next_gathering;
    if (*link)
        *link = connection->next_gathering;
    connection->is_gathering = false;
}

void connection_close(struct connection *connection)
{
    struct egress *egress = connection->egress;
    connection_account(connection);
    ask_forget(&egress->asks, connection);
    for (size_t i = 0; i < connection->attempts_begun; i++)
        poller_close(&connection->attempts[i].watcher);
    poller_close(&connection->inner.watcher);
    poller_close(&connection->outer.watcher);
    poller_close(&connection->tether);
    flow_free(&connection->outward, &egress->pipes);
    flow_free(&connection->inward, &egress->pipes);
    connection_set_deadline(connection, 0);
    buf_free(&connection->first);
    buf_free(&connection->watched_end);
    http_free(&connection->http);
    kex_end(&connection->kex);
    egress->held -= connection->held;
    *(connection->next ? &connection->next->previous : &egress->oldest) = connection->previous;
    *(connection->previous ? &connection->previous->next : &egress->connections) = connection->next;
    if (connection->is_gathering)
        leave_gathering(connection);
    egress->connection_count--;
    connection->listener->connections--;
    egress->published_count -= connection->published != 0;
    poller_retire(&egress->poller, connection);
    listeners_resume(&egress->listeners); /* there is room for another one now */
}

void break_when_closed(int fd)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void close_in_order(int fd)
{
    static const struct linger usual = {0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &usual, sizeof(usual));
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

static void farewell_ready(struct connection *connection, bool is_inner, uint32_t events)
{
    (void)is_inner, (void)events; /* the outer side is closed */
    const char *unread;
    if (flow_receive(&connection->outward, connection->inner.watcher.fd, &unread) <= 0)
        connection_close(connection);
}

/*
 * What a program can do now. Whoever was told no by a person needs no second way to ask. Where a rule allows the host, `bawn why` would say
 * that it can be reached: what was refused is this request, or the address that the name leads to.
 */
static void add_next_step(const struct connection *connection, const char *host, char *text, size_t size)
{
    const struct table *table = &connection->egress->table;
    uint16_t port = connection->asked.port;
    if (connection->stage == STAGE_ASK) {
        if (table_asks(table, &connection->name->host, port))
            snprintf(text, size, "`bawn ask connect %s:%u` waits for the answer.\n", host, port);
    } else if (connection->name && !table_allows(table, &connection->name->host, port, NULL)) {
        snprintf(text, size,
                 "`bawn why %s:%u` explains it; `bawn ask connect %s:%u` asks the person for it.\n", host,
                 port, host, port);
    } else {
        snprintf(
            text, size,
            "Ask the person who started this run if you need it; `bawn ask connect HOST` asks for another "
            "host.\n");
    }
}

void connection_forbid(struct connection *connection, const char *sentences)
{
    char text[2048];
    int length = snprintf(
        text, sizeof(text),
        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        "bawn: %s",
        sentences);
    size_t size = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    close_in_order(connection->inner.watcher.fd);
    reset_side(&connection->outer);
    poller_close(&connection->outer.watcher);
    if (send(connection->inner.watcher.fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
        connection_reset(connection);
        return;
    }
    shutdown(connection->inner.watcher.fd, SHUT_WR);
    connection_enter(connection, STAGE_FAREWELL, farewell_ready);
    connection_set_deadline(connection, FAREWELL);
    poller_change(&connection->egress->poller, &connection->inner.watcher, EPOLLIN);
}

/* Answers a request of plain HTTP with the reason of the refusal. */
static void say_no(struct connection *connection, const char *host, const char *sentence)
{
    char text[1024], next[2 * NAME_LONGEST + 128] = "";
    add_next_step(connection, host, next, sizeof(next));
    snprintf(text, sizeof(text), "this sandbox may not reach %s: %s.\n%s", host, sentence, next);
    connection_forbid(connection, text);
}

void connection_refuse(struct connection *connection, const char *sentence)
{
    char text[ENDPOINT_TEXT_SIZE];
    const char *host = connection_host(connection, text);
    connection_tell(connection, TOLD_REFUSED, sentence);
    close_in_order(connection->inner.watcher.fd);
    /* One that waited for a person has not been read: at this port it speaks HTTP, or nothing that may pass. */
    bool waited_for_http = connection->stage == STAGE_ASK && connection->asked.port == PORT_HTTP;
    if (connection->speaks_http || waited_for_http)
        say_no(connection, host, sentence);
    else
        connection_reset(connection);
}

void connection_fail(struct connection *connection, int errnum, const char *sentence)
{
    connection_tell(connection, TOLD_FAILED, errnum ? strerrordesc_np(errnum) : sentence);
    connection_reset(connection);
}
