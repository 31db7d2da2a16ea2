#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "vault/agent.h"

static bool receive_all(int fd, char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = recv(fd, bytes + at, size - at, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* Memory is taken as bytes come: a size alone costs nothing. */
bool agent_receive(int fd, struct buf *ret_message)
{
    uint32_t size;
    char piece[4096];
    ret_message->size = 0;
    if (!receive_all(fd, (char *)&size, sizeof(size)) || (size = ntohl(size)) > AGENT_LARGEST)
        return false;
    while (ret_message->size < size) {
        size_t left = size - ret_message->size, part = left < sizeof(piece) ? left : sizeof(piece);
        if (!receive_all(fd, piece, part))
            return false;
        buf_add(ret_message, piece, part);
    }
    return true;
}

bool agent_send(int fd, struct bytes message)
{
    auto_buf struct buf out = {0};
    agent_add_string(&out, message);
    for (size_t at = 0; at < out.size;) {
        ssize_t sent = send(fd, out.bytes + at, out.size - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}
