/*
 * Contents of files, each kept once however many snapshots of however many workspaces have it. They are appended to packs
 * and found by their hash: one file a content would cost three times as much. Runs of zeros are not kept. A large file is not
 * appended where the file system can share its blocks (FICLONE): then it has a file of its own, which takes no room.
 *
 *   DIRECTORY/lock      held by whoever appends
 *   DIRECTORY/pack-N    contents, one after the other
 *   DIRECTORY/clone-H   a content by itself, under its hash
 *   DIRECTORY/index     for each: hash, pack, offset, size. Written after the content, so that what it names is there
 *
 * A crash leaves at worst a piece of a pack that nothing names. What is read back is compared with its hash.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/blake2b.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/vec.h"

struct blob_id {
    unsigned char bytes[BLAKE2B_SIZE];
};

struct store_record {
    struct blob_id id;
    uint64_t offset, size; /* as it lies in the pack; of a clone, what it may take */
    uint32_t pack, unused;
    uint64_t file_size;
};

struct store {
    int folder_fd, lock_fd, index_fd, pack_fd; /* -1: not open */
    uint32_t pack;                             /* the one that is appended to */
    uint64_t pack_size;                        /* what is written of it */
    struct buf waiting, waiting_index;         /* what is not yet written */
    VEC(struct store_record) records;
    uint32_t *slots; /* a hash table of records: their numbers plus one */
    size_t slot_count;
    uint64_t added;            /* bytes since it was opened */
    bool cannot_clone;         /* this file system, or not from there */
    char *piece;               /* room for a piece of a file */
    struct progress *progress; /* who wants to know how far pruning is; may be NULL */
};

#define STORE_NONE ((struct store){.folder_fd = -1, .lock_fd = -1, .index_fd = -1, .pack_fd = -1})

/* Opens the store in that directory (absolute), made where it is missing. */
int store_open(const char *directory, struct store *ret_store, struct err *err) must_check;
void store_close(struct store *store);
#define auto_store __attribute__((cleanup(store_close)))

/*
 * Keeps the content of an open file of `size` bytes. It counts only after store_flush. A file that has changed its size
 * in the meantime fails with ESTALE.
 */
int store_put(struct store *store, int fd, uint64_t size, bool has_holes, struct blob_id *ret_id,
              struct err *err) must_check;
int store_flush(struct store *store, struct err *err) must_check;

/* Contents that were kept until now are there even if the machine stops in this moment. A clone is its file system's matter. */
int store_wait_for_disk(struct store *store, struct err *err) must_check;

/* Waits until nobody else appends, and keeps it so until the store is closed. */
int store_lock(struct store *store, struct err *err) must_check;

/* The hash alone, without keeping anything. */
int store_identify(struct store *store, int fd, uint64_t size, bool has_holes, struct blob_id *ret_id,
                   struct err *err) must_check;

/* Writes a content to an empty file. */
int store_write_out(struct store *store, const struct blob_id *id, int fd, struct err *err) must_check;

/* Reads a content of at most `most` bytes. Returns 1, or 0 where it is larger. */
int store_read(struct store *store, const struct blob_id *id, size_t most, struct buf *ret_bytes,
               struct err *err) must_check;

/*
 * Keeps only the contents that `is_kept` says yes to: each pack of which a quarter is of no use any more is written anew
 * or, where that `is_thorough`, each with any waste. Who reads at the time finds a content that stays in its new place.
 * Afterwards the store is to be closed.
 */
typedef bool store_is_kept(void *context, const struct blob_id *id);
int store_prune(struct store *store, store_is_kept *is_kept, void *context, bool is_thorough,
                uint64_t *ret_freed, struct err *err) must_check;

/* What all contents take on the disk; 0 where there are none. */
uint64_t store_size(const char *directory);
