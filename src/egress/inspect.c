/*
 * The first words of a connection. The network of the host that is dialled may hold many others: what the client itself
 * calls it, in TLS or in HTTP, must be the name that it asked for. The bytes are only looked at and stay where they are.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "egress/egress.h"
#include "egress/hello.h"

enum { TLS_CHANGE = 20, TLS_ALERT = 21, TLS_HANDSHAKE = 22 };

enum verdict {
    VERDICT_SILENT, /* nothing has come yet */
    VERDICT_WAIT,   /* too little */
    VERDICT_PASS,
    VERDICT_HTTP,
    VERDICT_UNKNOWN,
    VERDICT_REFUSE,
    VERDICT_BROKEN,
};

/* Could be any host's. */
static enum verdict inspect_nameless(const struct connection *connection, const char **ret_problem)
{
    *ret_problem =
        "its TLS names no host, so that it could be any: a rule that ends in " HOST_UNNAMED " lets it pass";
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
        *ret_problem = "its first words are not those of TLS";
        return VERDICT_REFUSE;
    case HELLO_NAMED:
        break;
    }
    *ret_problem = "its TLS is for another host";
    return strcmp(name, connection->name->text) == 0 ? VERDICT_PASS : VERDICT_REFUSE;
}

/* Some servers pass over a warning that comes before the hello. It is told by its head: other protocols have this first byte too. */
static enum verdict inspect_before_hello(const uint8_t *bytes, size_t size, const char **ret_problem)
{
    enum { HEAD = 5, VERSION = 2 };
    const uint8_t head[HEAD] = {bytes[0], 3, 0, 0, bytes[0] == TLS_ALERT ? 2 : 1};
    for (size_t i = 0; i < HEAD && i < size; i++) {
        if (i != VERSION && bytes[i] != head[i])
            return VERDICT_UNKNOWN;
    }
    *ret_problem = "its TLS does not begin with a hello";
    return size < HEAD ? VERDICT_WAIT : VERDICT_REFUSE;
}

/* A hello as SSL 2 wrote it, which servers still take for the beginning of TLS. There is no place for a name in it. */
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

/* At a port where anything may be spoken. */
static enum verdict inspect_any(const struct connection *connection, const uint8_t *bytes, size_t size,
                                const char **ret_problem)
{
    if (bytes[0] == TLS_ALERT || bytes[0] == TLS_CHANGE)
        return inspect_before_hello(bytes, size, ret_problem);
    bool may_be_oldest = bytes[0] >> 6 == 2; /* marked, and no longer than a record may be */
    return may_be_oldest ? inspect_oldest(connection, bytes, size, ret_problem) : VERDICT_UNKNOWN;
}

static enum verdict inspect(const struct connection *connection, const uint8_t *bytes, size_t size,
                            const char **ret_problem)
{
    static const char ssh[] = "SSH-2.0-"; /* which has no names that could differ */
    uint16_t port = connection->asked.port;
    if (bytes[0] == TLS_HANDSHAKE)
        return inspect_tls(connection, bytes, size, ret_problem);
    if (port == PORT_HTTP)
        return VERDICT_HTTP;
    if (port != PORT_HTTPS)
        return inspect_any(connection, bytes, size, ret_problem);
    size_t known = size < sizeof(ssh) - 1 ? size : sizeof(ssh) - 1;
    *ret_problem = "its first words are not those of TLS";
    if (memcmp(bytes, ssh, known) != 0)
        return VERDICT_REFUSE;
    return known == sizeof(ssh) - 1 ? VERDICT_UNKNOWN : VERDICT_WAIT;
}

static bool has_ended(int fd)
{
    struct tcp_info information = {0};
    socklen_t size = sizeof(information);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &information, &size) == 0 &&
           information.tcpi_state == TCP_CLOSE_WAIT;
}

/* Nothing more comes: what might have become TLS is none, which is fine where other protocols may be spoken. */
static enum verdict inspect_end(const struct connection *connection, uint8_t first)
{
    return first == TLS_HANDSHAKE || connection->asked.port == PORT_HTTPS ? VERDICT_REFUSE : VERDICT_UNKNOWN;
}

static enum verdict look(const struct connection *connection, bool is_over, const char **ret_problem)
{
    enum { LARGEST = 2 * HELLO_LARGEST };
    uint8_t bytes[LARGEST];
    ssize_t got = recv(connection->inner.watcher.fd, bytes, LARGEST, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? VERDICT_SILENT : VERDICT_BROKEN;
    if (got == 0)
        return connection->stage == STAGE_INSPECT ? VERDICT_BROKEN : VERDICT_PASS;
    enum verdict verdict = inspect(connection, bytes, (size_t)got, ret_problem);
    if (verdict == VERDICT_WAIT && got == LARGEST)
        return VERDICT_REFUSE;
    return verdict == VERDICT_WAIT && is_over ? inspect_end(connection, bytes[0]) : verdict;
}

void connection_inspect(struct connection *connection)
{
    bool is_early = connection->stage == STAGE_INSPECT;
    const char *problem = "its first words do not tell which host it is for";
    enum verdict verdict = look(connection, false, &problem);
    /* The last words may have come since then: they are looked at once more. */
    if (verdict == VERDICT_WAIT && has_ended(connection->inner.watcher.fd))
        verdict = look(connection, true, &problem);
    switch (verdict) {
    case VERDICT_SILENT:
    case VERDICT_WAIT:
        return;
    case VERDICT_BROKEN:
        connection_reset(connection);
        return;
    case VERDICT_REFUSE:
        connection_refuse(connection, problem);
        return;
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
    connection->is_inspected = true;
    if (is_early)
        connection_dial(connection);
    else
        connection_relay(connection);
}
