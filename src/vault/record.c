#include "vault/record.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { RECORD_HEAD_SIZE = 4 };

void channel_add(struct channel *channel, enum record_kind kind, struct bytes bytes)
{
    const char head[RECORD_HEAD_SIZE] = {(char)kind, (char)(bytes.size >> 16), (char)(bytes.size >> 8),
                                         (char)bytes.size};
    buf_add(&channel->out, head, sizeof(head));
    buf_add(&channel->out, bytes.at, bytes.size);
}

void channel_add_all(struct channel *channel, enum record_kind kind, struct bytes bytes)
{
    while (bytes.size) {
        size_t part = bytes.size < RECORD_CONTENT_LARGEST ? bytes.size : RECORD_CONTENT_LARGEST;
        channel_add(channel, kind, bytes_of(bytes.at, part));
        bytes = bytes_after(bytes, part);
    }
}

static void drop_taken(struct buf *buf, size_t *taken)
{
    if (*taken == 0)
        return;
    memmove(buf->bytes, buf->bytes + *taken, buf->size - *taken);
    buf->size -= *taken;
    *taken = 0;
}

static bool receive(struct channel *channel)
{
    enum { PIECE = 32 * 1024 };
    not_zeroed char piece[PIECE];
    if (channel->is_ended || channel->in.size - channel->in_taken >= (size_t)2 * RECORD_LARGEST)
        return false;
    ssize_t got = recv(channel->watcher.fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        channel->is_ended = true;
        return true;
    }
    drop_taken(&channel->in, &channel->in_taken);
    buf_add(&channel->in, piece, (size_t)got);
    return true;
}

bool channel_pump(struct channel *channel)
{
    bool has_moved = receive(channel);
    while (channel->out_sent < channel->out.size) {
        ssize_t sent = send(channel->watcher.fd, channel->out.bytes + channel->out_sent,
                            channel->out.size - channel->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            channel->is_ended = true;
        if (sent <= 0)
            break;
        channel->out_sent += (size_t)sent;
        has_moved = true;
    }
    drop_taken(&channel->out, &channel->out_sent);
    return has_moved;
}

int channel_next(struct channel *channel, enum record_kind *ret_kind, struct bytes *ret_bytes)
{
    const struct bytes in = bytes_of(channel->in.bytes, channel->in.size);
    size_t there = in.size - channel->in_taken;
    if (there < RECORD_HEAD_SIZE)
        return 0;
    const unsigned char *head = (const unsigned char *)in.at + channel->in_taken;
    size_t size = (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (size > RECORD_LARGEST || head[0] < RECORD_HEAD || head[0] > RECORD_FAILED)
        return -1;
    if (there - RECORD_HEAD_SIZE < size)
        return 0;
    *ret_kind = head[0];
    *ret_bytes = bytes_of((const char *)head + RECORD_HEAD_SIZE, size);
    channel->in_taken += RECORD_HEAD_SIZE + size;
    return 1;
}

size_t channel_waiting(const struct channel *channel)
{
    return channel->out.size - channel->out_sent;
}

uint32_t channel_events(const struct channel *channel)
{
    bool reads = !channel->is_ended && channel->in.size - channel->in_taken < (size_t)2 * RECORD_LARGEST;
    return (reads ? EPOLLIN : 0U) | (channel_waiting(channel) ? EPOLLOUT : 0U);
}

void channel_close(struct channel *channel)
{
    poller_close(&channel->watcher);
    buf_free(&channel->in);
    buf_free(&channel->out);
}
