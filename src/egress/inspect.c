#include "egress/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "egress/hello.h"

enum { TLS_CHANGE = 20, TLS_ALERT = 21, TLS_HANDSHAKE = 22 };

enum verdict {
    VERDICT_SILENT,  /* nothing has come yet */
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
    *ret_problem = "its TLS does not begin with a hello";
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

/* Nothing more comes. An incomplete TLS header is refused, unless the port takes any protocol. */
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

bool connection_inspect(struct connection *connection)
{
    const char *problem = "its first words do not tell which host it is for";
    enum verdict verdict = look(connection, false, &problem);
    /* The last bytes may have come between the peek and the check for the end: peek again. */
    if (verdict == VERDICT_WAIT && has_ended(connection->inner.watcher.fd))
        verdict = look(connection, true, &problem);
    switch (verdict) {
    case VERDICT_SILENT:
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
    connection->is_inspected = true;
    return true;
}
