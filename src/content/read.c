#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "content/parts.h"
#include "kernel/beneath.h"

/* A content is read twice: what does not have its hash is never written anywhere. */
static int verify(struct store *store, int pack_fd, const struct store_record *record, struct err *err)
{
    struct blake2b hash;
    struct blob_id id;
    store_begin_hash(&hash, record->file_size);
    char *piece = store_room(store);
    for (uint64_t done = 0; done < record->size;) {
        size_t part = record->size - done < PIECE ? (size_t)(record->size - done) : (size_t)PIECE;
        if (store_read_piece(pack_fd, piece, part, record->offset + done, err) < 0)
            return -1;
        blake2b_add(&hash, piece, part);
        done += part;
    }
    blake2b_end(&hash, id.bytes);
    if (memcmp(id.bytes, record->id.bytes, sizeof(id.bytes)) != 0)
        return err_set(err, "a content in the snapshots is damaged");
    return 0;
}

static int verify_clone(struct store *store, int clone_fd, const struct store_record *record, struct err *err)
{
    struct blob_id id;
    if (store_identify(store, clone_fd, record->file_size, true, &id, err) < 0)
        return -1;
    return memcmp(id.bytes, record->id.bytes, sizeof(id.bytes))
               ? err_set(err, "a content in the snapshots is damaged")
               : 0;
}

static int open_content(const struct store *store, const struct store_record *record)
{
    char name[CLONE_NAME_SIZE];
    if (record->pack != NO_PACK)
        return store_open_pack(store, record->pack, O_RDONLY);
    store_clone_name(&record->id, name);
    return openat(store->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* Where a content lies. Packs are written anew when others prune: then the index says where it is now. */
static int open_record(struct store *store, const struct blob_id *id, struct store_record *ret_record,
                       struct err *err)
{
    enum { TRIES = 2 };
    if (store_flush(store, err) < 0)
        return -1;
    for (int i = 0; i < TRIES; i++) {
        if (store_load_index(store, err) < 0)
            return -1;
        const struct store_record *record = store_find_record(store, id);
        auto_fd int fd = record ? open_content(store, record) : -1;
        if (fd >= 0) {
            *ret_record = *record;
            int verified = record->pack == NO_PACK ? verify_clone(store, fd, record, err)
                                                   : verify(store, fd, record, err);
            return verified < 0 ? -1 : fd_take(&fd);
        }
        if (record && errno != ENOENT)
            return err_sys(err, errno, "cannot open a content of the snapshots");
        if (store->pack_fd < 0) /* who appends has the lock, and an index that is true */
            store_forget_index(store);
    }
    return err_set(err, "a content is not in the snapshots any more");
}

int store_write_at(int fd, const char *bytes, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t written = pwrite(fd, bytes, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        bytes += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return 0;
}

static int write_run(struct store *store, int pack_fd, uint64_t from, struct run run, int fd, struct err *err)
{
    while (run.size) {
        size_t part = run.size < PIECE ? (size_t)run.size : (size_t)PIECE;
        if (store_read_piece(pack_fd, store->piece, part, from, err) < 0)
            return -1;
        /* Blocks of zeros become holes. */
        for (size_t at = 0; at < part; at += ZERO_BLOCK) {
            size_t block = part - at < ZERO_BLOCK ? part - at : (size_t)ZERO_BLOCK;
            if (!store_is_zero(store->piece + at, block) &&
                store_write_at(fd, store->piece + at, block, run.offset + at) < 0)
                return err_sys(err, errno, "cannot write a file");
        }
        from += part;
        run.offset += part;
        run.size -= part;
    }
    return 0;
}

int store_write_out(struct store *store, const struct blob_id *id, int fd, struct err *err)
{
    struct store_record record = {0};
    auto_fd int pack_fd = open_record(store, id, &record, err);
    if (pack_fd < 0)
        return -1;
    if (record.pack == NO_PACK)
        return store_unclone(store, pack_fd, record.file_size, fd, err);
    if (ftruncate(fd, (off_t)record.file_size) < 0)
        return err_sys(err, errno, "cannot write a file");
    if (record.file_size <= SMALL)
        return write_run(store, pack_fd, record.offset, (struct run){0, record.size}, fd, err);
    for (uint64_t at = 0;;) {
        struct run run;
        if (record.size - at < sizeof(run) ||
            store_read_piece(pack_fd, (char *)&run, sizeof(run), record.offset + at, err) < 0)
            return err_set(err, "a content in the snapshots is damaged");
        at += sizeof(run);
        if (run.size == 0)
            return 0;
        if (run.size > record.size - at || run.offset > record.file_size ||
            run.size > record.file_size - run.offset)
            return err_set(err, "a content in the snapshots is damaged");
        if (write_run(store, pack_fd, record.offset + at, run, fd, err) < 0)
            return -1;
        at += run.size;
    }
}

int store_read(struct store *store, const struct blob_id *id, size_t most, struct buf *ret_bytes,
               struct err *err)
{
    struct store_record record = {0};
    auto_fd int pack_fd = open_record(store, id, &record, err);
    if (pack_fd < 0)
        return -1;
    if (record.file_size > most)
        return 0;
    /* Through a file without a name: what a content looks like in its pack is written in one place. */
    auto_fd int memory = memfd_create("content", MFD_CLOEXEC);
    if (memory < 0)
        return err_sys(err, errno, "cannot make room for a content");
    if (store_write_out(store, id, memory, err) < 0)
        return -1;
    ret_bytes->size = 0;
    for (uint64_t done = 0; done < record.file_size;) {
        size_t part = record.file_size - done < PIECE ? (size_t)(record.file_size - done) : (size_t)PIECE;
        if (store_read_piece(memory, store->piece, part, done, err) < 0)
            return -1;
        buf_add(ret_bytes, store->piece, part);
        done += part;
    }
    return 1;
}
