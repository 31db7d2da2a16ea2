/*
 * Connections to hosts whose secrets stay outside, or whose requests are judged. The name was judged and the address was dialled as for any other; the vault gets the
 * client's socket, the server's and the bytes that were read so far. This program keeps its own descriptors of both, so that the
 * connection is counted, accounted for and can be ended; it neither reads nor writes them. The tether tells when the vault is done.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/connection.h"
#include "kernel/handed.h"
#include "kernel/ports.h"

/* Why the vault serves the connection; NULL: it does not. */
static const char *why_vaults(const struct connection *connection)
{
    const struct vault_link *vault = &connection->egress->vault;
    for (size_t i = 0; connection->name && i < vault->hosts.count; i++) {
        const struct host_object *host = &vault->hosts.at[i].host;
        if (host->port == connection->asked.port && host_covers(host, &connection->name->host))
            return vault->hosts.at[i].why;
    }
    return NULL;
}

bool connection_is_vaults(const struct connection *connection)
{
    return why_vaults(connection) != NULL;
}

static void refuse_to_hand(struct connection *connection, const char *what)
{
    char sentence[128];
    snprintf(sentence, sizeof(sentence), "%s, and %s", why_vaults(connection), what);
    connection_refuse(connection, sentence);
}

static void tether_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    connection_close(container_of(watcher, struct connection, tether));
}

/* Returns the vault's end of a new tether, or -1. */
static int open_tether(struct connection *connection)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -1;
    if (poller_add(&connection->egress->poller, &connection->tether, pair[0], EPOLLIN, tether_ready) == 0)
        return pair[1];
    close(pair[1]);
    return -1;
}

static int send_to_vault(const struct connection *connection, int tether_fd)
{
    const struct buf *first = &connection->outward.copied;
    struct handed_connection handed = {.port = connection->asked.port};
    size_t size = strlen(connection->name->text);
    if (size >= sizeof(handed.host) || first->size > HANDED_LARGEST_FIRST) {
        errno = EMSGSIZE;
        return -1;
    }
    memcpy(handed.host, connection->name->text, size);
    auto_buf struct buf message = {0};
    buf_add(&message, (const char *)&handed, sizeof(handed));
    buf_add(&message, first->bytes, first->size);
    const int fds[HANDED_DESCRIPTORS] = {connection->inner.watcher.fd, connection->outer.watcher.fd,
                                         tether_fd};
    return passing_send_all(connection->egress->vault.fd, message.bytes, message.size, fds,
                            HANDED_DESCRIPTORS);
}

void connection_hand(struct connection *connection)
{
    struct egress *egress = connection->egress;
    auto_fd int tether_fd = -1;
    if (connection->speaks_http || egress->vault.fd < 0 || flow_is_stuck(&connection->inward)) {
        refuse_to_hand(connection,
                       egress->vault.fd < 0 ? "bawn-vault is not running" : "only TLS may be spoken with it");
        return;
    }
    tether_fd = open_tether(connection);
    if (tether_fd < 0 || send_to_vault(connection, tether_fd) < 0) {
        refuse_to_hand(connection, "bawn-vault does not answer");
        return;
    }
    connection_enter(connection, STAGE_RELAY, NULL);
    connection->began = now_milliseconds();
    connection_set_deadline(connection, 0);
    flow_drop(&connection->outward, connection->outward.copied.size);
    poller_change(&egress->poller, &connection->inner.watcher, 0);
    poller_change(&egress->poller, &connection->outer.watcher, 0);
}
