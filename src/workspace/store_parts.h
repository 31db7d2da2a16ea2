/* What the parts of the store share: store.c writes, store_read.c reads, store_prune.c prunes. */
#pragma once

#include "workspace/store.h"

enum {
    PIECE = 1024 * 1024, /* what is read at once */
    SMALL = 256 * 1024,  /* a file up to this size is kept as it is, a larger one as runs between zeros */
    ZERO_BLOCK = 4096,   /* zeros are left out in blocks of this size */
    WAITING = 4 * 1024 * 1024,
};
#define PACK_FULL (1024ULL * 1024 * 1024)

/* A run of bytes in a larger file's content; the last one is empty and stands at the file's end. */
struct run {
    uint64_t offset, size;
};

char *store_room(struct store *store);

/* The index is read when it is first asked: a walk that finds nothing new never needs it. */
int store_load_index(struct store *store, struct err *err) must_check;
void store_forget_index(struct store *store);

const struct store_record *store_find_record(struct store *store, const struct blob_id *id);

int store_open_pack(const struct store *store, uint32_t number, int flags) must_check;

/* Takes the lock, and finds the pack that is appended to: the last one, or a new one where that is full. */
int store_begin_appending(struct store *store, struct err *err) must_check;

int store_explain_write(struct err *err) must_check;

/* The size comes first, so that a small file cannot look like the runs of a large one. */
void store_begin_hash(struct blake2b *hash, uint64_t file_size);

int store_read_piece(int fd, char *piece, size_t size, uint64_t offset, struct err *err) must_check;

bool store_is_zero(const char *bytes, size_t size);
