/*
 * Messages between front and back, over one channel (SOCK_STREAM) for each connection. A record is a head of four bytes, its kind and
 * its size, and so many bytes. Either side may be taken over: an unknown kind or a size above the limit ends the connection.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "kernel/poller.h"
#include "vault/head.h"

enum { RECORD_LARGEST = HEAD_LARGEST * 2, RECORD_CONTENT_LARGEST = 16 * 1024 };

enum record_kind {
    RECORD_HEAD = 1, /* the head of a request or an answer, as head.h writes it */
    RECORD_CONTENT,  /* a piece of content, without its framing */
    RECORD_END,      /* the message is complete */
    RECORD_RAW,      /* bytes of the protocol that was changed to */
    RECORD_FAILED,   /* from the back: a sentence that says why there is no answer */
};

struct channel {
    struct watcher watcher;
    struct buf in, out;
    size_t in_taken, out_sent;
    bool is_ended; /* the other side has closed it, or it broke */
};

void channel_add(struct channel *channel, enum record_kind kind, struct bytes bytes);

/* Content or raw bytes of any size, as records. */
void channel_add_all(struct channel *channel, enum record_kind kind, struct bytes bytes);

/* Receives what is there, unless too much waits already, and sends. Returns whether something moved. */
bool channel_pump(struct channel *channel);

/* Takes the next record. 1: there is one, valid until the next call. 0: none yet. -1: the sender is not what it should be. */
int channel_next(struct channel *channel, enum record_kind *ret_kind, struct bytes *ret_bytes);

/* Bytes that wait to be sent. */
size_t channel_waiting(const struct channel *channel);

/* Does it want to write? Then EPOLLOUT is to be waited for. */
uint32_t channel_events(const struct channel *channel);

void channel_close(struct channel *channel);
