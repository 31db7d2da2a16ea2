#include "vault/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { PIECE = 16 * 1024 };

void stream_begin(struct stream *stream, SSL *ssl, struct bytes first)
{
    stream->ssl = ssl;
    stream->from_peer = BIO_new(BIO_s_mem());
    stream->to_peer = BIO_new(BIO_s_mem());
    stream->is_broken = !ssl || !stream->from_peer || !stream->to_peer;
    if (stream->is_broken)
        return;
    BIO_set_mem_eof_return(stream->from_peer, -1);
    SSL_set_bio(ssl, stream->from_peer, stream->to_peer);
    if (first.size && BIO_write(stream->from_peer, first.at, (int)first.size) != (int)first.size)
        stream->is_broken = true;
}

static bool receive(struct stream *stream)
{
    not_zeroed char piece[PIECE];
    if (stream->is_closed)
        return false;
    ssize_t got = recv(stream->watcher.fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    stream->is_closed = got <= 0 || BIO_write(stream->from_peer, piece, (int)got) != (int)got;
    if (stream->is_closed)
        BIO_set_mem_eof_return(stream->from_peer, 0); /* what came before can still be read */
    return true;
}

/* What a call of OpenSSL returned: notes the end or a failure. */
static void note_result(struct stream *stream, int result)
{
    int error = SSL_get_error(stream->ssl, result);
    if (error == SSL_ERROR_ZERO_RETURN)
        stream->is_ended = true;
    else if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE && error != SSL_ERROR_NONE)
        stream->is_broken = true;
}

static bool handshake(struct stream *stream)
{
    ERR_clear_error();
    int result = SSL_do_handshake(stream->ssl);
    if (result == 1)
        stream->is_ready = true;
    else
        note_result(stream, result);
    return result == 1;
}

static bool send_waiting(struct stream *stream)
{
    bool has_moved = false;
    not_zeroed char piece[PIECE];
    for (int got; stream->out.size - stream->out_sent < PIECE &&
                  (got = BIO_read(stream->to_peer, piece, sizeof(piece))) > 0;)
        buf_add(&stream->out, piece, (size_t)got);
    while (stream->out_sent < stream->out.size) {
        ssize_t sent = send(stream->watcher.fd, stream->out.bytes + stream->out_sent,
                            stream->out.size - stream->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            stream->is_broken = true;
        if (sent <= 0)
            break;
        stream->out_sent += (size_t)sent;
        has_moved = true;
    }
    if (stream->out_sent == stream->out.size)
        stream->out.size = stream->out_sent = 0;
    return has_moved;
}

bool stream_pump(struct stream *stream, bool may_receive)
{
    if (stream->is_broken)
        return false;
    bool has_moved = (may_receive || !stream->is_ready) && receive(stream);
    if (!stream->is_ready)
        has_moved |= handshake(stream);
    while (send_waiting(stream))
        has_moved = true;
    return has_moved;
}

bool stream_read(struct stream *stream, size_t most, struct buf *out)
{
    not_zeroed char piece[PIECE];
    size_t begun = out->size;
    while (stream->is_ready && !stream->is_broken && !stream->is_ended && out->size - begun < most) {
        size_t room = most - (out->size - begun);
        ERR_clear_error();
        int got = SSL_read(stream->ssl, piece, (int)(room < sizeof(piece) ? room : sizeof(piece)));
        if (got <= 0) {
            note_result(stream, got);
            break;
        }
        buf_add(out, piece, (size_t)got);
    }
    return out->size > begun;
}

void stream_write(struct stream *stream, struct bytes bytes)
{
    while (bytes.size && !stream->is_broken) {
        size_t part = bytes.size < PIECE ? bytes.size : PIECE;
        ERR_clear_error();
        int written = SSL_write(stream->ssl, bytes.at, (int)part);
        if (written <= 0)
            stream->is_broken = true; /* memory takes everything: TLS itself has failed */
        else
            bytes = bytes_after(bytes, (size_t)written);
    }
}

size_t stream_waiting(const struct stream *stream)
{
    return stream->out.size - stream->out_sent + (stream->to_peer ? BIO_ctrl_pending(stream->to_peer) : 0);
}

uint32_t stream_events(const struct stream *stream, bool may_receive)
{
    bool receives = (may_receive || !stream->is_ready) && !stream->is_closed;
    return (receives ? EPOLLIN : 0U) | (stream_waiting(stream) ? EPOLLOUT : 0U);
}

void stream_finish(struct stream *stream)
{
    if (stream->is_ready && !stream->is_broken)
        SSL_shutdown(stream->ssl);
}

void stream_close(struct stream *stream, struct poller *poller, bool is_clean)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    /* bawn-egress has the socket too, so closing it here does not take it out of epoll, which would report it to freed memory. */
    poller_change(poller, &stream->watcher, 0);
    if (stream->watcher.is_open && is_clean)
        shutdown(stream->watcher.fd, SHUT_RDWR);
    else if (stream->watcher.is_open)
        setsockopt(stream->watcher.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    poller_close(&stream->watcher);
    SSL_free(stream->ssl);
    stream->ssl = NULL;
    stream->from_peer = stream->to_peer = NULL;
    buf_free(&stream->out);
}
