/*
 * Finds the proof of a server (base/ssh_proof.h) in what it says first: SSH's identification line, then its packets of the first key
 * exchange, which are not encrypted (RFC 4253, 4419, 5656).
 *
 * Strict, because it is believed: the identification line comes first, then KEXINIT, then the reply, or the group of a group exchange and
 * its reply. After anything else no proof is found in this connection.
 */
#pragma once

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"

enum kex_step {
    KEX_OVER, /* a zeroed one: nothing is read */
    KEX_IDENTIFICATION,
    KEX_INIT,
    KEX_REPLY,
    KEX_GROUP_REPLY,
};

enum { KEX_LARGEST_PACKET = 35000 }; /* which every side must be able to take (RFC 4253, 6.1) */

struct kex {
    enum kex_step step;
    struct buf
        unread; /* the beginning of a line or of a packet, with at most one piece more than KEX_LARGEST_PACKET */
};

/* Takes the next bytes of the server. Returns true when they end its proof; then it is over. */
bool kex_take(struct kex *kex, struct bytes bytes, char ret_mark[SHA256_HEX_SIZE]) must_check;

/* Nothing more is read. */
void kex_end(struct kex *kex);
