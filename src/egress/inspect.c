/*
 * The first words of a connection. The network of the host that is dialled may hold many others: what the client itself
 * calls it, in TLS or in HTTP, must be the name that it asked for. The bytes are only looked at and stay where they are.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "egress/egress.h"
#include "egress/hello.h"

enum { TLS_ALERT = 21, TLS_HANDSHAKE = 22 };
enum verdict { VERDICT_WAIT, VERDICT_PASS, VERDICT_HTTP, VERDICT_UNKNOWN, VERDICT_REFUSE };

static enum verdict inspect_tls(const struct connection *connection, const uint8_t *bytes, size_t size,
                                const char **ret_problem)
{
    char name[NAME_LONGEST + 1];
    switch (hello_read(bytes, size, name)) {
    case HELLO_MORE:
        return VERDICT_WAIT;
    case HELLO_NAMELESS:
        *ret_problem = "its TLS names no host, so that it could be any: a rule that ends in " HOST_UNNAMED
                       " lets it pass";
        return connection->rule.host.may_be_unnamed ? VERDICT_PASS : VERDICT_REFUSE;
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
static enum verdict inspect_alert(const uint8_t *bytes, size_t size, const char **ret_problem)
{
    enum { HEAD = 5, VERSION = 2 };
    static const uint8_t alert[HEAD] = {TLS_ALERT, 3, 0, 0, 2};
    for (size_t i = 0; i < HEAD && i < size; i++) {
        if (i != VERSION && bytes[i] != alert[i])
            return VERDICT_UNKNOWN;
    }
    *ret_problem = "its TLS does not begin with a hello";
    return size < HEAD ? VERDICT_WAIT : VERDICT_REFUSE;
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
        return bytes[0] == TLS_ALERT ? inspect_alert(bytes, size, ret_problem) : VERDICT_UNKNOWN;
    size_t known = size < sizeof(ssh) - 1 ? size : sizeof(ssh) - 1;
    *ret_problem = "its first words are not those of TLS";
    if (memcmp(bytes, ssh, known) != 0)
        return VERDICT_REFUSE;
    return known == sizeof(ssh) - 1 ? VERDICT_UNKNOWN : VERDICT_WAIT;
}

void connection_inspect(struct connection *connection)
{
    uint8_t bytes[2 * HELLO_LARGEST];
    ssize_t got = recv(connection->inner.watcher.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool is_early = connection->stage == STAGE_INSPECT;
    if (got < 0 || (got == 0 && is_early)) {
        connection_reset(connection);
        return;
    }
    const char *problem = NULL;
    enum verdict verdict = got == 0 ? VERDICT_PASS : inspect(connection, bytes, (size_t)got, &problem);
    if (verdict == VERDICT_WAIT && (size_t)got == sizeof(bytes))
        verdict = VERDICT_REFUSE;
    if (verdict == VERDICT_WAIT)
        return;
    if (verdict == VERDICT_REFUSE) {
        connection_refuse(connection, problem);
        return;
    }
    connection->is_inspected = true;
    connection->speaks_http = verdict == VERDICT_HTTP || verdict == VERDICT_UNKNOWN;
    if (verdict == VERDICT_UNKNOWN)
        connection->http.state = HTTP_UNKNOWN;
    if (is_early)
        connection_dial(connection);
    else
        connection_relay(connection);
}
