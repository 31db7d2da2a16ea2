#include <stdio.h>

#include "egress/connection.h"

/* The host of a rule that was dialled; NULL: none. A published port is not dialled outside. */
static const struct proving_host *find_host(const struct connection *connection)
{
    const struct egress *egress = connection->egress;
    struct host_object asked = connection->name ? connection->name->host : table_address(&connection->asked);
    for (size_t i = 0; i < egress->proving.count && !connection->published; i++) {
        const struct proving_host *proving = &egress->proving.at[i];
        if (proving->host.port == connection->asked.port && host_covers(&proving->host, &asked))
            return proving;
    }
    return NULL;
}

/* A port of the host's (host-port) may answer at another address of the loopback than the one that was asked for. */
static bool is_elsewhere(const struct connection *connection)
{
    return !connection->name && !connection->via_proxy &&
           !endpoint_equal(&connection->reached, &connection->asked);
}

void connection_begin_proof(struct connection *connection)
{
    const struct flow *in = &connection->inward;
    if (!find_host(connection) || is_elsewhere(connection))
        return;
    connection->kex.step = KEX_IDENTIFICATION;
    if (in->copied.size)
        connection_hear_proof(connection,
                              bytes_after(bytes_of(in->copied.bytes, in->copied.size), in->copied_sent));
}

bool connection_is_proving(const struct connection *connection)
{
    return connection->kex.step != KEX_OVER;
}

void connection_hear_proof(struct connection *connection, struct bytes bytes)
{
    char mark[SHA256_HEX_SIZE];
    if (!connection_is_proving(connection))
        return;
    if (kex_take(&connection->kex, bytes, mark)) {
        char line[TELL_LONGEST];
        snprintf(line, sizeof(line), "proved %s %s", find_host(connection)->text, mark);
        tell_now(&connection->egress->tell, line);
    }
    while (!connection_may_hold(connection) && connection_is_proving(connection))
        kex_end(&connection->kex);
}
