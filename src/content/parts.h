/* What the parts of the store share: store.c writes, read.c reads, clone.c keeps large files by themselves, prune.c prunes. */
#pragma once

#include "content/store.h"

enum {
    PIECE = 1024 * 1024, /* what is read at once */
    SMALL = 256 * 1024,  /* a file up to this size is kept as it is, a larger one as runs between zeros */
    ZERO_BLOCK = 4096,   /* zeros are left out in blocks of this size */
    WAITING = 4 * 1024 * 1024,
};
#define PACK_FULL (1024ULL * 1024 * 1024)
#define NO_PACK   UINT32_MAX /* it is a clone */
enum { CLONE_NAME_SIZE = 2 * BLAKE2B_SIZE + 16 };

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

/* A content that is a file of its own. */
void store_clone_name(const struct blob_id *id, char ret_name[CLONE_NAME_SIZE]);

/*
 * Keeps a large file so, if the file system can. Returns 1, or 0 where it cannot, now or at all. What it was cloned from may
 * change meanwhile: the clone does not.
 */
int store_clone(struct store *store, int fd, struct store_record *ret_record, struct err *err) must_check;

/* Writes the clone to an empty file: shared again, or copied where that is another file system. */
int store_unclone(struct store *store, int clone_fd, uint64_t size, int fd, struct err *err) must_check;

/* Removes those of which the index does not know. Returns the bytes that they were. */
uint64_t store_remove_clones(struct store *store, store_is_kept *is_kept, void *context);

int store_write_at(int fd, const char *bytes, size_t size, uint64_t offset);

int store_explain_write(struct err *err) must_check;

/* The size comes first, so that a small file cannot look like the runs of a large one. */
void store_begin_hash(struct blake2b *hash, uint64_t file_size);

int store_read_piece(int fd, char *piece, size_t size, uint64_t offset, struct err *err) must_check;

bool store_is_zero(const char *bytes, size_t size);
