/*
 * Records between `bawn git-ssh` inside and `bawn-forge` outside, on a stream: a kind, a size, bytes. Each side checks what the other sends.
 */
#pragma once

#include "base/buf.h"
#include "base/bytes.h"

/* What bawn-forge is called with as its first word. */
#define FORGE_PROGRAM "bawn-forge"

#define RELAYED_KINDS(X)                                                                                     \
    X(RELAYED_BYTES, 'b') /* from inside: git's bytes for the server; from outside: the server's for git */  \
    X(RELAYED_END, 'e')   /* from inside: git sends nothing more; from outside: the last record, a status */ \
    X(RELAYED_PROVE, 'v') /* from outside: "BEFORE AFTER": send the commits between them */                  \
    X(RELAYED_PROOF, 'p') /* from inside: a piece of those commits; without bytes, its end */                \
    X(RELAYED_SAID, 's')  /* from outside: for standard error */

enum relayed_kind {
#define X(id, letter) id = letter,
    RELAYED_KINDS(X)
#undef X
};

enum { RELAYED_HEAD = 5, RELAYED_LARGEST = 64 * 1024 };

/* Adds records with these bytes; more than one where they are too many. */
void relayed_add(struct buf *out, enum relayed_kind kind, struct bytes content);

enum relayed_state { RELAYED_MORE, RELAYED_TAKEN, RELAYED_BAD };

/* Takes one record off the front. */
enum relayed_state relayed_take(struct bytes *bytes, enum relayed_kind *ret_kind, struct bytes *ret_content);

/* --- bytes on their way to a descriptor --- */

enum { RELAYED_QUEUE = 256 * 1024 }; /* a queue that is longer takes no more */

struct relayed_queue {
    struct buf bytes;
    size_t sent;
};

size_t relayed_waiting(const struct relayed_queue *queue);

/* Sends what goes without waiting, at most `most` bytes. Returns -1 if nobody reads any more. */
int relayed_send(struct relayed_queue *queue, int fd, size_t most);

/* Reads once, without waiting longer than for the first byte. Returns the number of bytes, 0 at the end, -1: try again. */
int relayed_read(int fd, struct buf *into);

/* Removes bytes from the front. */
void relayed_drop(struct buf *buf, size_t size);
