
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/connection.h"

enum {
    KEPT = 5000,           /* milliseconds for which the addresses of a name are cached */
    BEFORE_THE_NEXT = 250, /* milliseconds until the next address is tried too */
};

/* The host answers, through the proxy perhaps. */
static void is_through(struct connection *connection)
{
    struct egress *egress = connection->egress;
    bool is_news = !endpoint_equal(&egress->last_connected, &connection->asked);
    egress->last_connected = connection->asked;
    if (is_news) {
        char reached[ENDPOINT_TEXT_SIZE];
        endpoint_text(&connection->reached, reached);
        connection_tell(connection, connection->published ? TOLD_PUBLISHED : TOLD_CONNECTED, reached);
    }
    connection_relay(connection);
}

static void proxy_agrees(struct connection *connection, size_t answer_size)
{
    flow_drop(&connection->inward, answer_size);
    is_through(connection);
}

/* Reads the proxy's answer. Bytes after it are the host's: the relay begins with them. */
static void proxy_ready(struct connection *connection, bool is_inner, uint32_t events)
{
    (void)events;
    if (is_inner)
        return;
    struct flow *in = &connection->inward;
    char bytes[PROXY_LARGEST_ANSWER];
    ssize_t got = recv(connection->outer.watcher.fd, bytes, sizeof(bytes) - in->copied.size, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got > 0)
        buf_add(&in->copied, bytes, (size_t)got);
    ptrdiff_t size = got <= 0 ? -1 : proxy_read_answer(in->copied.bytes, in->copied.size);
    if (size < 0)
        connection_fail(connection, 0, "the proxy does not connect to it");
    else if (size > 0)
        proxy_agrees(connection, (size_t)size);
}

static void ask_proxy(struct connection *connection)
{
    struct egress *egress = connection->egress;
    struct watcher *outer = &connection->outer.watcher;
    char text[ENDPOINT_TEXT_SIZE];
    auto_buf struct buf request = {0};
    proxy_add_request(&egress->proxy, connection_host(connection, text), connection->asked.port, &request);
    connection_enter(connection, STAGE_PROXY, proxy_ready);
    if (send(outer->fd, request.bytes, request.size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)request.size)
        connection_fail(connection, errno, "");
    else
        poller_change(&egress->poller, outer, EPOLLIN);
}

static void connected(struct connection *connection, struct attempt *attempt)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof(peer);
    struct side *side = connection->published ? &connection->inner : &connection->outer;
    if (side_take(side, attempt, EPOLLIN) < 0) {
        connection_fail(connection, errno, "");
        return;
    }
    for (size_t i = 0; i < connection->attempts_begun; i++)
        poller_close(&connection->attempts[i].watcher);
    if (getpeername(side->watcher.fd, (struct sockaddr *)&peer, &size) < 0 ||
        !endpoint_from_socket(&peer, &connection->reached))
        connection->reached = (struct endpoint){0};
    if (connection->via_proxy)
        ask_proxy(connection);
    else
        is_through(connection);
}

static void attempts_are_over(struct connection *connection)
{
    if (connection->published && connection->last_errnum == ECONNREFUSED && !connection->tried_v6)
        connection_dial_inside(connection);
    else
        connection_fail(connection, connection->last_errnum, "");
}

static void attempt_failed(struct connection *connection, struct attempt *attempt, int errnum)
{
    connection->last_errnum = errnum;
    poller_close(&attempt->watcher);
    connection->attempts_open--;
    if (connection->attempts_begun < connection->addresses.count)
        connection_attempt(connection);
    else if (connection->attempts_open == 0)
        attempts_are_over(connection);
}

static void attempt_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    struct attempt *attempt = (struct attempt *)watcher;
    int errnum = 0;
    socklen_t size = sizeof(errnum);
    if (getsockopt(watcher->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0)
        errnum = errno;
    if (errnum)
        attempt_failed(attempt->connection, attempt, errnum);
    else
        connected(attempt->connection, attempt);
}

static bool is_connected(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);
    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

/* A host nearby may have answered already, which saves one round of the poller. */
static void attempt_begin(struct connection *connection, int fd)
{
    struct attempt *attempt = &connection->attempts[connection->attempts_begun++];
    connection_enter(connection, STAGE_DIAL, NULL);
    connection->attempts_open++;
    attempt->connection = connection;
    bool is_there = is_connected(fd);
    if (poller_add(&connection->egress->poller, &attempt->watcher, fd, is_there ? 0 : EPOLLOUT,
                   attempt_ready) < 0)
        attempt_failed(connection, attempt, errno);
    else if (is_there)
        connected(connection, attempt);
}

void connection_attempt(struct connection *connection)
{
    static const int on = 1;
    connection->next_attempt = now_milliseconds() + BEFORE_THE_NEXT;
    struct sockaddr_storage address;
    socklen_t size =
        endpoint_to_socket(&connection->addresses.addresses[connection->attempts_begun], &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS)) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        attempt_begin(connection, fd);
        return;
    }
    struct attempt *failed = &connection->attempts[connection->attempts_begun++];
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    connection->attempts_open++;
    attempt_failed(connection, failed, errnum);
}

static bool is_same_host(const struct connection *a, const struct connection *b)
{
    return a->name == b->name &&
           (a->name || memcmp(a->asked.address, b->asked.address, sizeof(a->asked.address)) == 0);
}

int64_t connection_try_turn(struct connection *connection)
{
    const struct rate *rate = &connection->egress->rate;
    const struct name *name = connection->name;
    uint64_t wait = name ? rate_take(rate, name->text, strlen(name->text))
                         : rate_take(rate, connection->asked.address, sizeof(connection->asked.address));
    if (wait)
        return (int64_t)(wait / 1000 + 1);
    connection_enter(connection, STAGE_DIAL, NULL);
    connection_set_deadline(connection, CONNECTION_PATIENCE);
    connection_attempt(connection);
    return 0;
}

/* With a rate limit the oldest connection to a host has the next turn. */
static void begin_turn(struct connection *connection)
{
    struct egress *egress = connection->egress;
    char text[ENDPOINT_TEXT_SIZE];
    bool waits = false;
    for (const struct connection *at = egress->oldest; egress->rate.per_second && !waits && at;
         at = at->previous)
        waits = at->stage == STAGE_TURN && is_same_host(at, connection);
    connection_enter(connection, STAGE_TURN, NULL);
    if (!waits && connection_try_turn(connection) == 0)
        return;
    connection_set_deadline(connection, TURN_PATIENCE);
    egress->next_look = 0; /* how long it has to wait, is found with all others */
    tell_trouble(&egress->tell, "connections to %s wait, because of limit rate=%llu",
                 connection_host(connection, text), (unsigned long long)egress->rate.per_second);
}

static void dial_addresses(struct connection *connection, uint16_t port)
{
    for (size_t i = 0; i < connection->addresses.count; i++)
        connection->addresses.addresses[i].port = port;
    begin_turn(connection);
}

/* The addresses of the name, or of the proxy, are known. */
static void connection_found(struct connection *connection)
{
    const struct name *name = connection->name;
    if (connection->via_proxy) { /* the caller chose the proxy: leads.h does not judge its address */
        if (connection->addresses.count == 0)
            connection_fail(connection, 0, connection->addresses.problem);
        else
            dial_addresses(connection, connection->egress->proxy.port);
        return;
    }
    connection->addresses = name->found;
    if (connection->addresses.count == 0) {
        connection_fail(connection, 0, name->found.problem);
        return;
    }
    struct leads *leads = &connection->egress->leads;
    connection->waits_for_translators = leads_must_wait(leads, name->found.addresses, name->found.count);
    if (connection->waits_for_translators)
        return;
    char sentence[LEADS_SENTENCE_SIZE];
    leads_keep_permitted(leads, &connection->rule, connection->asked.port, &connection->addresses, sentence);
    if (connection->addresses.count == 0) {
        connection_refuse(connection, sentence);
        return;
    }
    dial_addresses(connection, connection->asked.port);
}

/* An address that a rule names needs no lookup. */
static void dial_address(struct connection *connection)
{
    struct egress *egress = connection->egress;
    const struct endpoint *asked = &connection->asked;
    bool has_rule = connection->rule.verb != VERB_NONE;
    bool is_network = has_rule && connection->rule.host.prefix < 128;
    if (has_rule && !address_is_meant(&connection->rule.host, leads_class(&egress->leads, asked))) {
        connection_refuse(connection,
                          "a rule for a network does not cover special addresses in it; name the address");
        return;
    }
    if (is_network && leads_to_refused(&egress->leads, asked, asked->port)) {
        connection_refuse(connection, "it resolves to an address that a rule refuses");
        return;
    }
    connection->addresses = (struct lookup_result){.count = 1, .addresses = {connection->asked}};
    if (!has_rule) /* host-port: the server may listen at either loopback address */
        connection->addresses = (struct lookup_result){
            .count = 2, .addresses = {endpoint_v4(INADDR_LOOPBACK, 0), {.address = {[15] = 1}}}};
    dial_addresses(connection, connection->asked.port);
}

void connection_dial(struct connection *connection)
{
    struct egress *egress = connection->egress;
    struct name *name = connection->name;
    char text[ENDPOINT_TEXT_SIZE];
    connection_enter(connection, STAGE_LOOKUP, NULL);
    if (!name) {
        connection->waits_for_translators = leads_must_wait(&egress->leads, &connection->asked, 1);
        if (connection->waits_for_translators)
            return;
    }
    bool is_special = !name && leads_class(&egress->leads, &connection->asked) != ADDRESS_PUBLIC;
    connection->via_proxy =
        egress->proxy.host && !is_special &&
        !proxy_is_excepted(&egress->proxy, connection_host(connection, text), connection->asked.port);
    if (connection->via_proxy) {
        if (!egress->proxy.is_looked_up)
            lookup_start(egress->lookup, egress->proxy.host, false, &egress->proxy);
        egress->proxy.is_looked_up = true;
    } else if (!name) {
        dial_address(connection);
    } else if (name->found_until > now_milliseconds()) {
        connection_found(connection);
    } else if (!name->is_looked_up) {
        name->is_looked_up = true;
        lookup_start(egress->lookup, name->text, connection_is_one_of_many(connection), name);
    }
}

static void inside_made(void *self, int fd, int errnum)
{
    struct connection *connection = self;
    if (fd < 0) {
        connection_fail(connection, errnum, "");
        return;
    }
    connection->attempts_begun = 0;
    attempt_begin(connection, fd);
}

void connection_dial_inside(struct connection *connection)
{
    struct endpoint v6 = {.address = {[15] = 1}, .port = connection->published};
    bool again = connection->attempts_begun > 0;
    connection->tried_v6 = again;
    ask_port(&connection->egress->asks, PORT_CONNECTION, again ? v6 : connection->asked, inside_made,
             connection);
}

static void go_on_with_translators(struct egress *egress)
{
    for (struct connection *at = egress->connections, *next; at; at = next) {
        next = at->next;
        if (at->stage != STAGE_LOOKUP || !at->waits_for_translators)
            continue;
        if (at->name)
            connection_found(at);
        else
            connection_dial(at);
    }
}

/* `name` NULL: the result is the proxy's. */
static void go_on_with(struct egress *egress, const struct name *name, const struct lookup_result *result)
{
    for (struct connection *at = egress->connections, *next; at; at = next) {
        next = at->next;
        bool is_for =
            at->stage == STAGE_LOOKUP && (name ? !at->via_proxy && at->name == name : at->via_proxy);
        if (is_for && !name)
            at->addresses = *result;
        if (is_for)
            connection_found(at);
    }
}

static void looked_up_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    struct egress *egress = container_of(watcher, struct egress, looked_up);
    struct lookup_result result;
    for (void *self; (self = lookup_next(egress->lookup, &result));) {
        if (self == &egress->leads) {
            leads_take_translators(&egress->leads, &result);
            go_on_with_translators(egress);
            continue;
        }
        struct name *name = self == &egress->proxy ? NULL : self;
        if (name) {
            name->found = result;
            name->found_until = result.count ? now_milliseconds() + KEPT : 0;
            name->is_looked_up = false;
        } else {
            egress->proxy.is_looked_up = false;
        }
        go_on_with(egress, name, &result);
    }
}

int dial_open(struct egress *egress)
{
    int ready_fd = -1;
    egress->lookup = lookup_open(&ready_fd);
    if (!egress->lookup)
        return -1;
    egress->leads.lookup = egress->lookup;
    return poller_add(&egress->poller, &egress->looked_up, ready_fd, EPOLLIN, looked_up_ready);
}
