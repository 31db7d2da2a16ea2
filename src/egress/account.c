/* What a connection carried, told when it ends. The kernel has counted: the relay need not. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "egress/egress.h"

enum { MOST_ACCOUNTS = 1000 };

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
        tell_trouble(egress, "what further connections carry is not recorded: there were %d", MOST_ACCOUNTS);
        return;
    }
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &information, &size) < 0)
        return;
    endpoint_text(&connection->reached, address);
    /* The end of what comes in counts as one more. */
    uint64_t sent = information.tcpi_bytes_sent - information.tcpi_bytes_retrans,
             received = information.tcpi_bytes_received;
    received -= connection->inward.ended && received;
    tell_always(egress, arena_printf(&egress->arena, "closed %s %u %s %llu %llu %lld",
                                     connection_host(connection, host), connection->asked.port, address,
                                     (unsigned long long)sent, (unsigned long long)received,
                                     (long long)(now_milliseconds() - connection->began)));
}
