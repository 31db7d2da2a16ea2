#include "content/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/beneath.h"

/* Bytes of a larger file that are not zero. */
struct run {
    uint64_t offset, size;
};

char *blob_buffer(struct store *store)
{
    if (!store->piece)
        store->piece = must_realloc(NULL, PIECE, 1);
    return store->piece;
}

int blob_read_piece(int fd, char *piece, size_t size, uint64_t offset, struct err *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, piece + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_sys(err, got < 0 ? errno : ESTALE, "a file cannot be read, or changes while it is");
        done += (size_t)got;
    }
    return 0;
}

static int write_at(int fd, const char *bytes, size_t size, uint64_t offset)
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

int blob_explain_write(struct err *err)
{
    int errnum = errno;
    err_sys(err, errnum, "cannot keep a file's content in the snapshots");
    if (errnum == ENOSPC || errnum == EDQUOT)
        err_hint(err, "the disk is full; `bawn undo --prune` removes old snapshots");
    return -1;
}

int blob_open_pack(const struct store *store, uint32_t number, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "pack-%u", number);
    return openat(store->folder_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* --- from a file to its form -------------------------------------------------------------------------------------- */

/* Receives the form of a content, piece by piece. */
struct sink {
    struct store *store;
    struct blake2b hash;
    bool is_stored;
};

/* The size comes first, so that a small file cannot have the hash of a large file's runs. */
static void begin_hash(struct blake2b *hash, uint64_t file_size)
{
    blake2b_begin(hash);
    blake2b_add(hash, &file_size, sizeof(file_size));
}

int blob_write_waiting(struct store *store, struct err *err)
{
    if (store->waiting.size && write_whole(store->pack_fd, store->waiting.bytes, store->waiting.size) < 0)
        return blob_explain_write(err);
    store->pack_size += store->waiting.size;
    store->waiting.size = 0;
    return 0;
}

int blob_append(struct store *store, const void *bytes, size_t size, struct err *err)
{
    buf_add(&store->waiting, bytes, size);
    return store->waiting.size < WAITING ? 0 : blob_write_waiting(store, err);
}

void blob_hash_small(const char *bytes, uint64_t size, struct blob_id *ret_id)
{
    struct blake2b hash;
    begin_hash(&hash, size);
    blake2b_add(&hash, bytes, size);
    blake2b_end(&hash, ret_id->bytes);
}

static int sink_add(struct sink *sink, const void *bytes, size_t size, struct err *err)
{
    blake2b_add(&sink->hash, bytes, size);
    return sink->is_stored ? blob_append(sink->store, bytes, size, err) : 0;
}

static bool is_zero(const char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Adds the runs of a piece, in whole blocks. */
static int add_runs(struct sink *sink, const char *piece, size_t size, uint64_t offset, struct err *err)
{
    for (size_t at = 0; at < size;) {
        size_t start = at;
        while (at < size && !is_zero(piece + at, size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK))
            at += size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK;
        struct run run = {offset + start, at - start};
        if (run.size &&
            (sink_add(sink, &run, sizeof(run), err) < 0 || sink_add(sink, piece + start, run.size, err) < 0))
            return -1;
        while (at < size && is_zero(piece + at, size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK))
            at += size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK;
    }
    return 0;
}

/* The next piece with data at or after an offset. A hole may be too large to be read as zeros. */
static uint64_t skip_hole(int fd, uint64_t offset, uint64_t size)
{
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size : offset;
    return (uint64_t)data - (uint64_t)data % PIECE < offset ? offset
                                                            : (uint64_t)data - (uint64_t)data % PIECE;
}

static int add_file(struct sink *sink, int fd, uint64_t size, bool has_holes, struct err *err)
{
    char *piece = blob_buffer(sink->store);
    begin_hash(&sink->hash, size);
    if (size <= SMALL)
        return blob_read_piece(fd, piece, size, 0, err) < 0 ? -1 : sink_add(sink, piece, size, err);
    for (uint64_t offset = 0; offset < size;) {
        if (has_holes && (offset = skip_hole(fd, offset, size)) >= size)
            break;
        size_t part = size - offset < PIECE ? (size_t)(size - offset) : (size_t)PIECE;
        if (blob_read_piece(fd, piece, part, offset, err) < 0 || add_runs(sink, piece, part, offset, err) < 0)
            return -1;
        offset += part;
    }
    struct run end = {size, 0};
    return sink_add(sink, &end, sizeof(end), err);
}

int blob_add(struct store *store, int fd, uint64_t size, bool has_holes, bool is_stored,
             struct blob_id *ret_id, struct err *err)
{
    struct sink sink = {.store = store, .is_stored = is_stored};
    if (add_file(&sink, fd, size, has_holes, err) < 0)
        return -1;
    blake2b_end(&sink.hash, ret_id->bytes);
    return 0;
}

/* --- clones ------------------------------------------------------------------------------------------------------- */

static void name_of_clone(const struct blob_id *id, char ret_name[CLONE_NAME_SIZE])
{
    memcpy(ret_name, CLONE, strlen(CLONE));
    text_hex(id->bytes, sizeof(id->bytes), ret_name + strlen(CLONE));
}

int blob_clone(struct store *store, int fd, struct blob *ret_blob, struct err *err)
{
    auto_fd int clone_fd =
        openat(store->folder_fd, CLONE_NEW, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status;
    struct blob_id id;
    if (clone_fd < 0)
        return blob_explain_write(err);
    if (ioctl(clone_fd, FICLONE, fd) < 0) {
        store->cannot_clone = errno != ETXTBSY && errno != EPERM;
        return 0;
    }
    if (fstat(clone_fd, &status) < 0)
        return blob_explain_write(err);
    if (blob_add(store, clone_fd, (uint64_t)status.st_size, true, false, &id, err) < 0)
        return -1;
    *ret_blob = (struct blob){.id = id,
                              .size = (uint64_t)status.st_blocks * 512,
                              .pack = NO_PACK,
                              .file_size = (uint64_t)status.st_size};
    return 1;
}

int blob_name_clone(const struct store *store, const struct blob_id *id, struct err *err)
{
    char name[CLONE_NAME_SIZE];
    name_of_clone(id, name);
    return renameat(store->folder_fd, CLONE_NEW, store->folder_fd, name) < 0 ? blob_explain_write(err) : 0;
}

/* On another file system the clone is copied, without its holes. */
static int write_clone(struct store *store, int clone_fd, uint64_t size, int fd, struct err *err)
{
    if (ioctl(fd, FICLONE, clone_fd) == 0)
        return 0;
    if (ftruncate(fd, (off_t)size) < 0)
        return err_sys(err, errno, "cannot write a file");
    for (uint64_t at = 0; at < size;) {
        off_t data = lseek(clone_fd, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return 0; /* the rest is a hole */
        at = data > 0 ? (uint64_t)data : at;
        size_t part = size - at < PIECE ? (size_t)(size - at) : (size_t)PIECE;
        if (blob_read_piece(clone_fd, blob_buffer(store), part, at, err) < 0)
            return -1;
        if (write_at(fd, store->piece, part, at) < 0)
            return err_sys(err, errno, "cannot write a file");
        at += part;
    }
    return 0;
}

/* --- from the form to a file -------------------------------------------------------------------------------------- */

int blob_open(const struct store *store, const struct blob *blob)
{
    char name[CLONE_NAME_SIZE];
    if (blob->pack != NO_PACK)
        return blob_open_pack(store, blob->pack, O_RDONLY);
    name_of_clone(&blob->id, name);
    return openat(store->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static int hash_in_pack(struct store *store, int pack_fd, const struct blob *blob, struct blob_id *ret_id,
                        struct err *err)
{
    struct blake2b hash;
    begin_hash(&hash, blob->file_size);
    char *piece = blob_buffer(store);
    for (uint64_t done = 0; done < blob->size;) {
        size_t part = blob->size - done < PIECE ? (size_t)(blob->size - done) : (size_t)PIECE;
        if (blob_read_piece(pack_fd, piece, part, blob->offset + done, err) < 0)
            return -1;
        blake2b_add(&hash, piece, part);
        done += part;
    }
    blake2b_end(&hash, ret_id->bytes);
    return 0;
}

int blob_verify(struct store *store, int blob_fd, const struct blob *blob, struct err *err)
{
    struct blob_id id;
    int read = blob->pack == NO_PACK ? blob_add(store, blob_fd, blob->file_size, true, false, &id, err)
                                     : hash_in_pack(store, blob_fd, blob, &id, err);
    if (read < 0)
        return -1;
    return memcmp(id.bytes, blob->id.bytes, sizeof(id.bytes)) != 0
               ? err_set(err, "a content in the snapshots is damaged")
               : 0;
}

static int write_run(struct store *store, int pack_fd, uint64_t from, struct run run, int fd, struct err *err)
{
    while (run.size) {
        size_t part = run.size < PIECE ? (size_t)run.size : (size_t)PIECE;
        if (blob_read_piece(pack_fd, store->piece, part, from, err) < 0)
            return -1;
        for (size_t at = 0; at < part; at += ZERO_BLOCK) {
            size_t block = part - at < ZERO_BLOCK ? part - at : (size_t)ZERO_BLOCK;
            if (!is_zero(store->piece + at, block) &&
                write_at(fd, store->piece + at, block, run.offset + at) < 0)
                return err_sys(err, errno, "cannot write a file");
        }
        from += part;
        run.offset += part;
        run.size -= part;
    }
    return 0;
}

int blob_write_out(struct store *store, int blob_fd, const struct blob *blob, int fd, struct err *err)
{
    if (blob->pack == NO_PACK)
        return write_clone(store, blob_fd, blob->file_size, fd, err);
    if (ftruncate(fd, (off_t)blob->file_size) < 0)
        return err_sys(err, errno, "cannot write a file");
    if (blob->file_size <= SMALL)
        return write_run(store, blob_fd, blob->offset, (struct run){0, blob->size}, fd, err);
    for (uint64_t at = 0;;) {
        struct run run;
        if (blob->size - at < sizeof(run) ||
            blob_read_piece(blob_fd, (char *)&run, sizeof(run), blob->offset + at, err) < 0)
            return err_set(err, "a content in the snapshots is damaged");
        at += sizeof(run);
        if (run.size == 0)
            return 0;
        if (run.size > blob->size - at || run.offset > blob->file_size ||
            run.size > blob->file_size - run.offset)
            return err_set(err, "a content in the snapshots is damaged");
        if (write_run(store, blob_fd, blob->offset + at, run, fd, err) < 0)
            return -1;
        at += run.size;
    }
}
