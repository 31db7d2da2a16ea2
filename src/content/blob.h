/*
 * The form of a content on the disk, for store.c and prune.c only.
 *
 *   up to SMALL bytes   the bytes themselves, in a pack
 *   larger              struct run and its bytes, again and again; blocks of zeros are left out. The last run is empty and
 *                       its offset is the file's size
 *   a clone             a file of its own that shares the blocks of the file it was made from (FICLONE)
 *
 * The hash covers the file's size and then this form without clones, so that a clone and a pack agree on it.
 */
#pragma once

#include "content/store.h"

enum {
    PIECE = 1024 * 1024, /* bytes that are read at once */
    SMALL = STORE_SMALL,
    ZERO_BLOCK = 4096,
    WAITING = 4 * 1024 * 1024, /* bytes in memory before they are written to the pack */
};
#define PACK_FULL (1024ULL * 1024 * 1024)
#define NO_PACK   UINT32_MAX
#define CLONE     "clone-"
#define CLONE_NEW CLONE "new" /* a clone before it has its name */
enum { CLONE_NAME_SIZE = sizeof(CLONE) + 2UL * BLAKE2B_SIZE };

/* The store's buffer of PIECE bytes. */
char *blob_buffer(struct store *store);

int blob_read_piece(int fd, char *piece, size_t size, uint64_t offset, struct err *err) must_check;

/* Hashes the form of a small content. */
void blob_hash_small(const char *bytes, uint64_t size, struct blob_id *ret_id);

/* Fills *err from errno, with a hint if the disk is full. Returns -1. */
int blob_explain_write(struct err *err) must_check;

int blob_open_pack(const struct store *store, uint32_t number, int flags) must_check;

/* Hashes a file and, if `is_stored`, appends its form to the open pack. */
int blob_add(struct store *store, int fd, uint64_t size, bool has_holes, bool is_stored,
             struct blob_id *ret_id, struct err *err) must_check;
int blob_write_waiting(struct store *store, struct err *err) must_check;

/* Appends bytes to the open pack. */
int blob_append(struct store *store, const void *bytes, size_t size, struct err *err) must_check;

/*
 * Clones a file as CLONE_NEW and hashes the clone, which nobody else has open: the file may change meanwhile.
 * Returns 1, or 0 if the file system cannot clone it. The caller names the clone or removes it.
 */
int blob_clone(struct store *store, int fd, struct blob *ret_blob, struct err *err) must_check;
int blob_name_clone(const struct store *store, const struct blob_id *id, struct err *err) must_check;

/* Opens the pack or the clone that has the blob. Returns -1 with errno. */
int blob_open(const struct store *store, const struct blob *blob);

/* Reads the blob and compares its hash. */
int blob_verify(struct store *store, int blob_fd, const struct blob *blob, struct err *err) must_check;

/* Writes the blob to an empty file: blocks of zeros become holes, a clone shares its blocks again if it can. */
int blob_write_out(struct store *store, int blob_fd, const struct blob *blob, int fd, struct err *err)
    must_check;
