#include "kernel/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"

enum { BACKLOG = 1024 };

int port_make(const struct port_request *request)
{
    struct sockaddr_storage address;
    socklen_t size = endpoint_to_socket(&request->at, &address);
    bool is_datagram = request->kind == PORT_DATAGRAM;
    auto_fd int fd =
        socket(address.ss_family, (is_datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    static const int on = 1;
    if (fd < 0)
        return -1;
    if (request->kind == PORT_CONNECTION)
        return connect(fd, (struct sockaddr *)&address, size) < 0 && errno != EINPROGRESS ? -1 : fd_take(&fd);
    bool is_shared = request->kind == PORT_LISTENER;
    if (!is_shared && !is_datagram && request->kind != PORT_SOLE_LISTENER) {
        errno = EINVAL;
        return -1;
    }
    /* All IPv6 addresses are local here, but bind() accepts only an interface's own without this option. */
    if (address.ss_family == AF_INET6 && (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0 ||
                                          setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0))
        return -1;
    if ((is_shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&address, size) < 0 || (!is_datagram && listen(fd, BACKLOG) < 0))
        return -1;
    return fd_take(&fd);
}

void port_prepare(int listening_fd)
{
    static const int on = 1;
    setsockopt(listening_fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
    setsockopt(listening_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(listening_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

#define ALL_V4 "00000000"
#define ALL_V6 ALL_V4 ALL_V4 ALL_V4 ALL_V4

bool port_has_server_on_all(uint16_t port)
{
    enum { LARGEST = 64 * 1024 * 1024 };
    static const struct {
        const char *path, *peer, *own[2]; /* addresses as the list spells them */
    } lists[] = {
        {"/proc/net/tcp", ALL_V4, {ALL_V4}},
        {"/proc/net/tcp6", ALL_V6, {ALL_V6, ALL_V4 ALL_V4 "FFFF0000" ALL_V4}}, /* the second: all of IPv4 */
    };
    for (size_t i = 0; i < array_len(lists); i++) {
        auto_buf struct buf list = {0};
        auto_fd int fd = open(lists[i].path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue; /* there is no IPv6 */
        if (fd < 0 || buf_read(&list, fd, LARGEST) < 0 || list.size == LARGEST)
            return true;
        for (size_t k = 0; k < array_len(lists[i].own) && lists[i].own[k]; k++) {
            char server[128]; /* 0A: it listens */
            snprintf(server, sizeof(server), " %s:%04X %s:0000 0A ", lists[i].own[k], (unsigned)port,
                     lists[i].peer);
            if (strstr(buf_text(&list), server))
                return true;
        }
    }
    return false;
}

int port_open_table(void)
{
    return open("/proc/net/tcp", O_RDONLY | O_CLOEXEC);
}

/* "… 0100007F:9C40 0100007F:1F90 01 …": an established connection, and the user behind its queues, timer and retries. */
static bool take_user(const char *list, const char *connection, uid_t *ret_user)
{
    enum { WORDS_BEFORE = 6 };
    const char *at = strstr(list, connection);
    uint64_t user;
    for (int words = 0; at && words < WORDS_BEFORE; words++) {
        at += strspn(at, " ");
        at += strcspn(at, " \n");
    }
    if (!at || (at += strspn(at, " "), !text_take_number(&at, &user)) || *at != ' ' || user > UINT32_MAX)
        return false;
    *ret_user = (uid_t)user;
    return true;
}

bool port_peer_user(int table_fd, int connection_fd, uid_t *ret_user)
{
    enum { TABLE_LARGEST = 16 * 1024 * 1024 };
    struct sockaddr_in own = {0}, far = {0};
    socklen_t own_size = sizeof(own), far_size = sizeof(far);
    if (getsockname(connection_fd, (struct sockaddr *)&own, &own_size) < 0)
        return false;
    if (own.sin_family == AF_UNIX) {
        struct ucred peer;
        socklen_t size = sizeof(peer);
        bool is_known = getsockopt(connection_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
        *ret_user = is_known ? peer.uid : (uid_t)-1;
        return is_known;
    }
    auto_buf struct buf list = {0};
    if (getpeername(connection_fd, (struct sockaddr *)&far, &far_size) < 0 || own.sin_family != AF_INET ||
        far.sin_family != AF_INET || lseek(table_fd, 0, SEEK_SET) < 0 ||
        buf_read(&list, table_fd, TABLE_LARGEST) < 0 || list.size == TABLE_LARGEST)
        return false;
    char connection
        [64]; /* 01: established. A closed socket has no user any more, and the list then says root */
    snprintf(connection, sizeof(connection), " %08X:%04X %08X:%04X 01 ", far.sin_addr.s_addr,
             ntohs(far.sin_port), own.sin_addr.s_addr, ntohs(own.sin_port));
    return take_user(buf_text(&list), connection, ret_user);
}

int port_send(int channel_fd, const struct port_request *message, int fd)
{
    return passing_send(channel_fd, message, sizeof(*message), fd);
}

int port_receive(int channel_fd, struct port_request *ret_message, int *ret_fd)
{
    struct port_request message;
    int fd = -1;
    ssize_t got = passing_receive(channel_fd, &message, sizeof(message), &fd);
    if (got <= 0)
        return (int)got;
    if (got != sizeof(message) || message.kind > PORT_REFUSALS) {
        fd_close(fd);
        errno = EPROTO;
        return -1;
    }
    *ret_message = message;
    *ret_fd = fd;
    return 1;
}

int port_serve(int channel_fd)
{
    struct port_request request;
    auto_fd int unwanted = -1;
    int result = port_receive(channel_fd, &request, &unwanted);
    if (result <= 0)
        return result;
    auto_fd int fd = port_make(&request);
    request.errnum = fd < 0 ? errno : 0;
    return port_send(channel_fd, &request, fd) < 0 ? -1 : 1;
}
