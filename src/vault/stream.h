/* TLS on a socket that never blocks: bytes move between the socket and OpenSSL through memory, and every queue has a limit. */
#pragma once

#include <openssl/ssl.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "kernel/poller.h"

struct stream {
    struct watcher watcher;
    SSL *ssl;
    BIO *from_peer, *to_peer; /* the encrypted bytes; owned by `ssl` */
    struct buf out;           /* encrypted, and not all sent */
    size_t out_sent;
    bool is_closed; /* nothing more comes from the socket */
    bool is_ready;  /* the handshake is done */
    bool is_ended;  /* the peer sends nothing more, and said so in TLS */
    bool is_broken; /* the socket or TLS failed */
};

/* Owns the SSL from now on. `first`: bytes that were read from the socket already. */
void stream_begin(struct stream *stream, SSL *ssl, struct bytes first);

/* Receives what is there, goes on with the handshake, sends what waits. Returns whether something moved. */
bool stream_pump(struct stream *stream, bool may_receive);

/* Adds decrypted bytes, `most` at most. Returns whether there were some. */
bool stream_read(struct stream *stream, size_t most, struct buf *out);

/* Encrypts the bytes; stream_pump sends them. */
void stream_write(struct stream *stream, struct bytes bytes);

/* Encrypted bytes that wait to be sent. */
size_t stream_waiting(const struct stream *stream);
uint32_t stream_events(const struct stream *stream, bool may_receive);

/* Tells the peer that nothing more comes: queues the end of TLS. */
void stream_finish(struct stream *stream);

/* `is_clean`: the peer gets FIN, else RST. Other descriptors of the same socket may be open. */
void stream_close(struct stream *stream, struct poller *poller, bool is_clean);
