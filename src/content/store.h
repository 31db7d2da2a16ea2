/*
 * The content store: the bytes of files, found by their hash. Each content is stored once, however many snapshots of
 * however many workspaces contain it. store.c explains what lies on the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/progress.h"
#include "base/vec.h"

struct blob_id {
    unsigned char bytes[BLAKE2B_SIZE];
};

/* One content, as the index has it. */
struct blob {
    struct blob_id id;
    uint64_t offset, size; /* in the pack; of a clone: 0, and the bytes that its blocks may take */
    uint32_t pack, unused; /* NO_PACK: a clone */
    uint64_t file_size;
};

struct store {
    int folder_fd, lock_fd, index_fd, pack_fd; /* -1: not open */
    uint32_t pack;                             /* the number of the pack that is appended to */
    uint64_t pack_size;                        /* bytes written to that pack */
    struct buf waiting, waiting_index;         /* bytes that are not written yet */
    VEC(struct blob) blobs;                    /* the index */
    uint32_t *slots;                           /* hash table: numbers of blobs, plus one */
    size_t slot_count;
    uint64_t added;            /* bytes since the store was opened */
    bool cannot_clone;         /* FICLONE has failed: this file system cannot, or not from there */
    char *piece;               /* a buffer of PIECE bytes */
    struct progress *progress; /* of pruning; may be NULL */
};

#define STORE_NONE ((struct store){.folder_fd = -1, .lock_fd = -1, .index_fd = -1, .pack_fd = -1})

/* Opens the store in that directory (absolute), and makes the directory if it is missing. */
int store_open(const char *directory, struct store *ret_store, struct err *err) must_check;
void store_close(struct store *store);
#define auto_store __attribute__((cleanup(store_close)))

/* Waits until no other process appends, and holds the lock until the store is closed. */
int store_lock(struct store *store, struct err *err) must_check;

/*
 * Stores the content of an open file of `size` bytes. Others see it only after store_flush. Fails with ESTALE if the
 * file changes its size meanwhile.
 */
int store_put(struct store *store, int fd, uint64_t size, bool has_holes, struct blob_id *ret_id,
              struct err *err) must_check;
int store_flush(struct store *store, struct err *err) must_check;

/*
 * The same in two steps, for files of at most STORE_SMALL bytes. store_read_small reads and hashes a file and needs no store, so
 * that threads can do it; -1 with errno, ESTALE if the file is shorter. store_put_small stores what it has read.
 */
enum { STORE_SMALL = 256 * 1024 };
int store_read_small(int fd, uint64_t size, char *ret_bytes, struct blob_id *ret_id) must_check;
int store_put_small(struct store *store, const char *bytes, uint64_t size, const struct blob_id *id,
                    struct err *err) must_check;

/* Waits until everything flushed so far is on the disk. The blocks of a clone are the file system's business. */
int store_wait_for_disk(struct store *store, struct err *err) must_check;

/* Does the open file have that content? Returns 1, 0, or -1 with *err filled. */
int store_is_same(struct store *store, int fd, uint64_t size, bool has_holes, const struct blob_id *id,
                  struct err *err) must_check;

/* The blob of that hash, or NULL. The caller holds the lock. */
const struct blob *store_find(const struct store *store, const struct blob_id *id);

/* Writes a content to an empty file. Bytes that do not have the hash are never written. */
int store_write_out(struct store *store, const struct blob_id *id, int fd, struct err *err) must_check;

/* Reads a content of at most `most` bytes. Returns 1, or 0 if it is larger. */
int store_read(struct store *store, const struct blob_id *id, size_t most, struct buf *ret_bytes,
               struct err *err) must_check;

/*
 * Removes every content that `is_needed` denies. A pack is rewritten if more than a quarter of it is waste; with
 * `is_thorough`, if any of it is. A process that reads meanwhile finds the needed contents in their new place. The caller
 * closes the store afterwards.
 */
typedef bool store_is_needed(void *context, const struct blob_id *id);
int store_prune(struct store *store, store_is_needed *is_needed, void *context, bool is_thorough,
                uint64_t *ret_freed, struct err *err) must_check;

/* The size of all packs; 0 if there are none. */
uint64_t store_size(const char *directory);
