#include "kernel/relayed.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void relayed_add(struct buf *out, enum relayed_kind kind, struct bytes content)
{
    do {
        size_t size = content.size < RELAYED_LARGEST ? content.size : RELAYED_LARGEST;
        const char head[RELAYED_HEAD] = {(char)kind, (char)(size >> 24), (char)(size >> 16),
                                         (char)(size >> 8), (char)size};
        buf_add(out, head, sizeof(head));
        if (size)
            buf_add(out, content.at, size);
        content = bytes_after(content, size);
    } while (content.size);
}

static bool is_kind(char letter)
{
#define X(id, letter_) letter_,
    static const char letters[] = {RELAYED_KINDS(X)};
#undef X
    return memchr(letters, letter, sizeof(letters)) != NULL;
}

enum relayed_state relayed_take(struct bytes *bytes, enum relayed_kind *ret_kind, struct bytes *ret_content)
{
    if (bytes->size && !is_kind(*bytes->at))
        return RELAYED_BAD;
    if (bytes->size < RELAYED_HEAD)
        return RELAYED_MORE;
    size_t size = 0;
    for (size_t i = 1; i < RELAYED_HEAD; i++)
        size = size << 8 | (unsigned char)bytes->at[i];
    if (size > RELAYED_LARGEST)
        return RELAYED_BAD;
    if (bytes->size < RELAYED_HEAD + size)
        return RELAYED_MORE;
    *ret_kind = (enum relayed_kind) * bytes->at;
    *ret_content = bytes_of(bytes->at + RELAYED_HEAD, size);
    *bytes = bytes_after(*bytes, RELAYED_HEAD + size);
    return RELAYED_TAKEN;
}

size_t relayed_waiting(const struct relayed_queue *queue)
{
    return queue->bytes.size - queue->sent;
}

int relayed_send(struct relayed_queue *queue, int fd, size_t most)
{
    size_t size = relayed_waiting(queue) < most ? relayed_waiting(queue) : most;
    ssize_t sent = size ? write(fd, queue->bytes.bytes + queue->sent, size) : 0;
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    queue->sent += (size_t)sent;
    if (queue->sent == queue->bytes.size)
        queue->sent = queue->bytes.size = 0;
    else if (queue->sent > RELAYED_QUEUE) {
        relayed_drop(&queue->bytes, queue->sent);
        queue->sent = 0;
    }
    return 0;
}

int relayed_read(int fd, struct buf *into)
{
    not_zeroed char piece[32 * 1024];
    ssize_t got = read(fd, piece, sizeof(piece));
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    buf_add(into, piece, (size_t)got);
    return (int)got;
}

void relayed_drop(struct buf *buf, size_t size)
{
    if (!size)
        return;
    memmove(buf->bytes, buf->bytes + size, buf->size - size);
    buf->size -= size;
}
