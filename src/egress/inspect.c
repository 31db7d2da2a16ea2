#include "egress/connection.h"

#include <errno.h>
#include <string.h>

#include "egress/hello.h"

static const char no_room[] = "too many unfinished requests: no room for a large one";

enum { TLS_CHANGE = 20, TLS_ALERT = 21, TLS_HANDSHAKE = 22 };

enum verdict {
    VERDICT_WAIT,    /* too few bytes */
    VERDICT_PASS,    /* the right host, or a protocol without host names */
    VERDICT_HTTP,    /* http.c checks each request */
    VERDICT_UNKNOWN, /* perhaps HTTP: http.c finds out */
    VERDICT_REFUSE,
    VERDICT_BROKEN, /* the client is gone */
};

/* TLS without a server name: the server chooses the host. */
static enum verdict inspect_nameless(const struct connection *connection, const char **ret_problem)
{
    *ret_problem = "its TLS names no host; a rule that ends in " HOST_UNNAMED " allows that";
    return connection->rule.host.may_be_unnamed ? VERDICT_PASS : VERDICT_REFUSE;
}

static enum verdict inspect_tls(const struct connection *connection, const uint8_t *bytes, size_t size,
                                const char **ret_problem)
{
    char name[NAME_LONGEST + 1];
    switch (hello_read(bytes, size, name)) {
    case HELLO_MORE:
        return VERDICT_WAIT;
    case HELLO_NAMELESS:
        return inspect_nameless(connection, ret_problem);
    case HELLO_BAD:
        *ret_problem = "it does not begin with TLS";
        return VERDICT_REFUSE;
    case HELLO_NAMED:
        break;
    }
    *ret_problem = "its TLS is for another host";
    return strcmp(name, connection->name->text) == 0 ? VERDICT_PASS : VERDICT_REFUSE;
}

/*
 * Some servers accept an alert or a ChangeCipherSpec before the ClientHello. The whole record header is compared, since other
 * protocols may begin with the same byte.
 */
static enum verdict inspect_before_hello(const uint8_t *bytes, size_t size, const char **ret_problem)
{
    enum { HEAD = 5, VERSION = 2 };
    const uint8_t head[HEAD] = {bytes[0], 3, 0, 0, bytes[0] == TLS_ALERT ? 2 : 1};
    for (size_t i = 0; i < HEAD && i < size; i++) {
        if (i != VERSION && bytes[i] != head[i])
            return VERDICT_UNKNOWN;
    }
    *ret_problem = "its TLS does not begin with a ClientHello";
    return size < HEAD ? VERDICT_WAIT : VERDICT_REFUSE;
}

/* An SSL 2 ClientHello, which some servers still accept as the beginning of TLS. It cannot carry a server name. */
static enum verdict inspect_oldest(const struct connection *connection, const uint8_t *bytes, size_t size,
                                   const char **ret_problem)
{
    enum { HEAD = 5, TYPE = 2, MAJOR = 3, MINOR = 4, CLIENT_HELLO = 1, NEWEST_MINOR = 4 };
    if (size > TYPE && bytes[TYPE] != CLIENT_HELLO)
        return VERDICT_UNKNOWN;
    if (size > MAJOR && bytes[MAJOR] != 0 && bytes[MAJOR] != 3)
        return VERDICT_UNKNOWN;
    if (size < HEAD)
        return VERDICT_WAIT;
    if (bytes[MAJOR] == 0 ? bytes[MINOR] != 2 : bytes[MINOR] > NEWEST_MINOR)
        return VERDICT_UNKNOWN;
    return inspect_nameless(connection, ret_problem);
}

/* A port at which any protocol may be spoken. */
static enum verdict inspect_any(const struct connection *connection, const uint8_t *bytes, size_t size,
                                const char **ret_problem)
{
    if (bytes[0] == TLS_ALERT || bytes[0] == TLS_CHANGE)
        return inspect_before_hello(bytes, size, ret_problem);
    bool may_be_oldest = bytes[0] >> 6 == 2; /* a two-byte header, and a size below 16 KiB */
    return may_be_oldest ? inspect_oldest(connection, bytes, size, ret_problem) : VERDICT_UNKNOWN;
}

static enum verdict inspect(const struct connection *connection, const uint8_t *bytes, size_t size,
                            const char **ret_problem)
{
    static const char ssh[] = "SSH-2.0-"; /* SSH sends no host name */
    uint16_t port = connection->asked.port;
    if (port == PORT_HTTP) {
        *ret_problem = "it does not begin with HTTP";
        return bytes[0] == TLS_HANDSHAKE ? VERDICT_REFUSE : VERDICT_HTTP;
    }
    if (bytes[0] == TLS_HANDSHAKE)
        return inspect_tls(connection, bytes, size, ret_problem);
    if (port != PORT_HTTPS && !connection_is_vaults(connection))
        return inspect_any(connection, bytes, size, ret_problem);
    size_t known = size < sizeof(ssh) - 1 ? size : sizeof(ssh) - 1;
    *ret_problem = "it does not begin with TLS";
    if (memcmp(bytes, ssh, known) != 0)
        return VERDICT_REFUSE;
    return known == sizeof(ssh) - 1 ? VERDICT_UNKNOWN : VERDICT_WAIT;
}

/* Nothing more comes. An incomplete TLS header is refused, unless the port takes any protocol. */
static enum verdict inspect_end(const struct connection *connection)
{
    const struct buf *first = &connection->first;
    if (!first->size)
        return connection->stage == STAGE_INSPECT ? VERDICT_BROKEN : VERDICT_PASS;
    bool must_be_whole = first->bytes[0] == TLS_HANDSHAKE || connection->asked.port == PORT_HTTPS;
    return must_be_whole ? VERDICT_REFUSE : VERDICT_UNKNOWN;
}

/*
 * Reads until the bytes suffice for a verdict, or no more are there: epoll reports an edge, and the end may have come together
 * with the last bytes.
 */
static enum verdict read_first(struct connection *connection, const char **ret_problem)
{
    enum { LARGEST = 2 * HELLO_LARGEST };
    struct buf *first = &connection->first;
    enum verdict verdict = VERDICT_WAIT;
    while (verdict == VERDICT_WAIT) {
        const char *bytes;
        ssize_t got = flow_receive(&connection->outward, connection->inner.watcher.fd, &bytes);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR ? VERDICT_WAIT : VERDICT_BROKEN;
        if (got == 0)
            return inspect_end(connection);
        buf_add(first, bytes, (size_t)got);
        verdict = inspect(connection, (const uint8_t *)first->bytes, first->size, ret_problem);
        if (verdict == VERDICT_WAIT && first->size >= LARGEST)
            return VERDICT_REFUSE;
        if (verdict == VERDICT_WAIT && !connection_may_hold(connection)) {
            *ret_problem = no_room;
            return VERDICT_REFUSE;
        }
    }
    return verdict;
}

/* --- placeholders ------------------------------------------------------------------------------------------------- */

bool connection_is_watched(const struct connection *connection)
{
    return connection->egress->watch.list.count && !connection->published &&
           connection->watched_size < WATCH_LARGEST;
}

void connection_stop_watching(struct connection *connection)
{
    connection->watched_size = WATCH_LARGEST;
    buf_free(&connection->watched_end);
}

/* Searches the bytes, and where they meet those before. Only as many are kept as a placeholder may have in common with both. */
static const struct watched *search(const struct watch *watch, struct buf *end, struct bytes bytes)
{
    size_t common = watch->longest - 1, part = bytes.size < common ? bytes.size : common;
    const struct watched *found = watch_find(watch, bytes);
    buf_add(end, bytes.at, part);
    if (!found)
        found = watch_find(watch, bytes_of(end->bytes, end->size));
    if (part == common) { /* what is common with the next bytes is at the end of these */
        end->size = 0;
        buf_add(end, bytes.at + bytes.size - common, common);
    }
    size_t extra = end->size > common ? end->size - common : 0;
    memmove(end->bytes, end->bytes + extra, end->size - extra);
    end->size -= extra;
    return found;
}

bool connection_watch(struct connection *connection, const char *bytes, size_t size)
{
    const struct watch *watch = &connection->egress->watch;
    char text[ENDPOINT_TEXT_SIZE];
    if (!watch->list.count || connection->published || size == 0)
        return true;
    const struct watched *found = search(watch, &connection->watched_end, bytes_of(bytes, size));
    connection->watched_size += size;
    if (!found)
        return true;
    tell_host(&connection->egress->tell, TOLD_MISUSED, connection_is_one_of_many(connection),
              connection_host(connection, text), connection->asked.port, found->name);
    connection_refuse(connection, "a placeholder of a secret was sent to it");
    return false;
}

/* --- secrets of the host ------------------------------------------------------------------------------------------ */

static void begin_search(struct connection *connection)
{
    const struct leak_table *table = &connection->egress->leaks;
    if (table->answer && !connection->http.search)
        connection->http.search = search_new(table);
}

void connection_search_nameless(struct connection *connection)
{
    if (connection->name || connection->published || !connection->egress->leaks.answer)
        return;
    connection->http.state = HTTP_UNKNOWN;
    connection->speaks_http = true;
    begin_search(connection);
}

/* Reports the secrets that were found in a request. Returns false if it was stopped for that. */
static bool leaks_may_pass(struct connection *connection)
{
    struct leak_search *leaks = connection->http.search ? &connection->http.search->leaks : NULL;
    auto_arena struct arena scratch = {0};
    char text[ENDPOINT_TEXT_SIZE];
    const char *host = connection_host(connection, text);
    if (!leaks || !leaks->found_count)
        return true;
    bool is_stopped = leaks->table->answer == LEAK_BLOCK;
    for (size_t i = 0; i < leaks->found_count; i++)
        connection_tell(connection, TOLD_LEAK,
                        arena_printf(&scratch, "%s %s %s", leak_kind_name(leaks->found[i].kind),
                                     is_stopped ? "stopped" : "passed", leaks->found[i].name));
    const char *what = leak_what(&scratch, leaks->found[0].kind, leaks->found[0].name);
    leaks->found_count = 0;
    if (is_stopped) /* which may free the search */
        connection_forbid(connection, arena_printf(&scratch, "%s.\n", leak_refusal(&scratch, host, what)));
    return !is_stopped;
}

/* ------------------------------------------------------------------------------------------------------------------ */

bool connection_check_http(struct connection *connection, const char *bytes, size_t size)
{
    const char *problem = "it sends data before the server accepted the change of protocol";
    struct http *http = &connection->http;
    struct buf *out = &connection->outward.copied;
    if (!connection_watch(connection, bytes, size))
        return false;
    bool has_passed = http_take(http, connection->name ? connection->name->text : NULL,
                                connection->asked.port, bytes, size, out, &problem) == (ptrdiff_t)size &&
                      (!connection->outward.ended || http_finish(http, out, &problem) == 0);
    if (!leaks_may_pass(connection))
        return false;
    if (!has_passed) {
        connection_refuse(connection, problem);
        return false;
    }
    if (http->state == HTTP_PASSING) {
        connection->speaks_http = false; /* the rest is not HTTP: no need to read it */
        http_free(http);
    }
    if (!connection_may_hold(connection)) {
        connection_refuse(connection, no_room);
        return false;
    }
    return true;
}

/* The same bytes that were inspected are sent, or are checked as HTTP and sent as far as they pass. */
static bool pass_first(struct connection *connection)
{
    struct buf first = connection->first;
    connection->first = (struct buf){0};
    connection->is_inspected = true;
    if (!connection->speaks_http) {
        connection->outward.copied = first;
        if (first.size && first.bytes[0] == TLS_HANDSHAKE)
            connection_stop_watching(connection);
        else if (!connection_watch(connection, first.bytes, first.size))
            return false;
        return connection_may_hold(connection); /* it holds nothing any more */
    }
    bool has_passed = connection_check_http(connection, first.bytes, first.size);
    buf_free(&first);
    return has_passed;
}

bool connection_inspect(struct connection *connection)
{
    const char *problem = "its first bytes do not name a host";
    switch (read_first(connection, &problem)) {
    case VERDICT_WAIT:
        return false;
    case VERDICT_BROKEN:
        connection_reset(connection);
        return false;
    case VERDICT_REFUSE:
        connection_refuse(connection, problem);
        return false;
    case VERDICT_PASS:
        break;
    case VERDICT_UNKNOWN:
        connection->http.state = HTTP_UNKNOWN;
        connection->speaks_http = true;
        break;
    case VERDICT_HTTP:
        connection->speaks_http = true;
        break;
    }
    if (connection->speaks_http)
        begin_search(connection);
    return pass_first(connection);
}
