#include "content/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content/parts.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/* --- the index -------------------------------------------------------------------------------------------------- */

static size_t slot_of(const struct store *store, const struct blob_id *id)
{
    uint64_t start;
    memcpy(&start, id->bytes, sizeof(start));
    size_t slot = start & (store->slot_count - 1);
    while (store->slots[slot] &&
           memcmp(store->records.at[store->slots[slot] - 1].id.bytes, id->bytes, sizeof(id->bytes)) != 0)
        slot = (slot + 1) & (store->slot_count - 1);
    return slot;
}

static void rehash(struct store *store, size_t slot_count)
{
    free(store->slots);
    store->slot_count = slot_count;
    store->slots = must_realloc(NULL, slot_count, sizeof(*store->slots));
    memset(store->slots, 0, slot_count * sizeof(*store->slots));
    for (size_t i = 0; i < store->records.count; i++)
        store->slots[slot_of(store, &store->records.at[i].id)] = (uint32_t)i + 1;
}

static void remember(struct store *store, const struct store_record *record)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): load_index has made room */
    vec_push(&store->records, *record);
    if (store->records.count * 2 > store->slot_count)
        rehash(store, store->slot_count * 2);
    else
        store->slots[slot_of(store, &record->id)] = (uint32_t)store->records.count;
}

/* All of it is opened when it is first needed: a walk that finds nothing new needs none. */
static int open_own(const struct store *store, const char *name, int *fd)
{
    if (*fd < 0)
        *fd = openat(store->folder_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd < 0 ? -1 : 0;
}

static int open_index(struct store *store)
{
    return open_own(store, "index", &store->index_fd);
}

char *store_room(struct store *store)
{
    if (!store->piece)
        store->piece = must_realloc(NULL, PIECE, 1);
    return store->piece;
}

void store_forget_index(struct store *store)
{
    if (store->index_fd >= 0)
        close(store->index_fd);
    store->index_fd = -1;
    free(store->slots);
    store->slots = NULL;
    vec_free(&store->records);
    store->records.at = NULL;
    store->records.count = store->records.capacity = 0;
}

int store_load_index(struct store *store, struct err *err)
{
    if (store->slots)
        return 0;
    struct stat status;
    if (open_index(store) < 0 || fstat(store->index_fd, &status) < 0)
        return err_sys(err, errno, "cannot read the index of snapshots");
    size_t count = (size_t)status.st_size / sizeof(struct store_record);
    if (count >= UINT32_MAX / 4)
        return err_set(err, "the index of snapshots is too large");
    store->records.at = must_realloc(NULL, count + 1, sizeof(struct store_record));
    store->records.capacity = count + 1;
    size_t size = count * sizeof(struct store_record);
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(store->index_fd, (char *)store->records.at + done, size - done, (off_t)done);
        if (got <= 0)
            return err_sys(err, errno, "cannot read the index of snapshots");
        done += (size_t)got;
    }
    store->records.count = count;
    size_t slots = 1024;
    while (slots < count * 3)
        slots *= 2;
    rehash(store, slots);
    return 0;
}

const struct store_record *store_find_record(struct store *store, const struct blob_id *id)
{
    uint32_t number = store->slots[slot_of(store, id)];
    return number ? &store->records.at[number - 1] : NULL;
}

/* --- appending -------------------------------------------------------------------------------------------------- */

int store_open_pack(const struct store *store, uint32_t number, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "pack-%u", number);
    return openat(store->folder_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int store_begin_appending(struct store *store, struct err *err)
{
    if (store->pack_fd >= 0)
        return 0;
    if (open_own(store, "lock", &store->lock_fd) < 0 || flock(store->lock_fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot lock the snapshots");
    store_forget_index(store); /* what was read before the lock may have been pruned since */
    struct stat status;
    /* A record that was cut short by a crash is none; the next one must not begin in the middle of it. */
    if (open_index(store) < 0 || fstat(store->index_fd, &status) < 0 ||
        ftruncate(store->index_fd, status.st_size - status.st_size % (off_t)sizeof(struct store_record)) < 0)
        return err_sys(err, errno, "cannot write the index of snapshots");
    if (store_load_index(store, err) < 0)
        return -1;
    for (size_t i = 0; i < store->records.count; i++) {
        if (store->records.at[i].pack != NO_PACK && store->records.at[i].pack > store->pack)
            store->pack = store->records.at[i].pack;
    }
    store->pack_fd = store_open_pack(store, store->pack, O_RDWR | O_CREAT);
    if (store->pack_fd >= 0 && fstat(store->pack_fd, &status) == 0 && (uint64_t)status.st_size > PACK_FULL) {
        close(store->pack_fd);
        store->pack_fd = store_open_pack(store, ++store->pack, O_RDWR | O_CREAT);
    }
    if (store->pack_fd < 0 || fstat(store->pack_fd, &status) < 0)
        return err_sys(err, errno, "cannot write a snapshot");
    store->pack_size = (uint64_t)status.st_size;
    return lseek(store->pack_fd, status.st_size, SEEK_SET) < 0
               ? err_sys(err, errno, "cannot write a snapshot")
               : 0;
}

int store_explain_write(struct err *err)
{
    int errnum = errno;
    err_sys(err, errnum, "cannot keep a file's content in the snapshots");
    if (errnum == ENOSPC || errnum == EDQUOT)
        err_hint(err, "the disk is full; `bawn undo --prune` removes old snapshots");
    return -1;
}

static int write_waiting(struct store *store, struct err *err)
{
    if (store->waiting.size && write_whole(store->pack_fd, store->waiting.bytes, store->waiting.size) < 0)
        return store_explain_write(err);
    store->pack_size += store->waiting.size;
    store->waiting.size = 0;
    return 0;
}

int store_lock(struct store *store, struct err *err)
{
    return store_begin_appending(store, err);
}

int store_flush(struct store *store, struct err *err)
{
    if (store->pack_fd < 0)
        return 0;
    if (write_waiting(store, err) < 0)
        return -1;
    off_t end = lseek(store->index_fd, 0, SEEK_END);
    if (store->waiting_index.size &&
        (end < 0 || write_whole(store->index_fd, store->waiting_index.bytes, store->waiting_index.size) < 0))
        return store_explain_write(err);
    store->waiting_index.size = 0;
    return 0;
}

int store_wait_for_disk(struct store *store, struct err *err)
{
    if (store_begin_appending(store, err) < 0)
        return -1;
    bool is_there =
        fdatasync(store->pack_fd) == 0 && fdatasync(store->index_fd) == 0 && fsync(store->folder_fd) == 0;
    return is_there ? 0 : store_explain_write(err);
}

/* --- a file's content, piece by piece ---------------------------------------------------------------------------- */

/* Where a content goes: to the hash, and to the pack unless only the hash is wanted. */
struct sink {
    struct store *store;
    struct blake2b hash;
    bool is_kept;
};

void store_begin_hash(struct blake2b *hash, uint64_t file_size)
{
    blake2b_begin(hash);
    blake2b_add(hash, &file_size, sizeof(file_size));
}

static int sink_add(struct sink *sink, const void *bytes, size_t size, struct err *err)
{
    blake2b_add(&sink->hash, bytes, size);
    if (!sink->is_kept)
        return 0;
    buf_add(&sink->store->waiting, bytes, size);
    return sink->store->waiting.size < WAITING ? 0 : write_waiting(sink->store, err);
}

int store_read_piece(int fd, char *piece, size_t size, uint64_t offset, struct err *err)
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

bool store_is_zero(const char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* The runs of a piece that are not zero, whole blocks at a time. */
static int add_runs(struct sink *sink, const char *piece, size_t size, uint64_t offset, struct err *err)
{
    for (size_t at = 0; at < size;) {
        size_t start = at;
        while (at < size && !store_is_zero(piece + at, size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK))
            at += size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK;
        struct run run = {offset + start, at - start};
        if (run.size &&
            (sink_add(sink, &run, sizeof(run), err) < 0 || sink_add(sink, piece + start, run.size, err) < 0))
            return -1;
        while (at < size && store_is_zero(piece + at, size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK))
            at += size - at < ZERO_BLOCK ? size - at : ZERO_BLOCK;
    }
    return 0;
}

/* The next place with data at or after an offset: holes may be larger than anyone could read. */
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
    char *piece = store_room(sink->store);
    store_begin_hash(&sink->hash, size);
    if (size <= SMALL)
        return store_read_piece(fd, piece, size, 0, err) < 0 ? -1 : sink_add(sink, piece, size, err);
    for (uint64_t offset = 0; offset < size;) {
        if (has_holes && (offset = skip_hole(fd, offset, size)) >= size)
            break;
        size_t part = size - offset < PIECE ? (size_t)(size - offset) : (size_t)PIECE;
        if (store_read_piece(fd, piece, part, offset, err) < 0 ||
            add_runs(sink, piece, part, offset, err) < 0)
            return -1;
        offset += part;
    }
    struct run end = {size, 0};
    return sink_add(sink, &end, sizeof(end), err);
}

int store_identify(struct store *store, int fd, uint64_t size, bool has_holes, struct blob_id *ret_id,
                   struct err *err)
{
    struct sink sink = {.store = store};
    if (add_file(&sink, fd, size, has_holes, err) < 0)
        return -1;
    blake2b_end(&sink.hash, ret_id->bytes);
    return 0;
}

int store_put(struct store *store, int fd, uint64_t size, bool has_holes, struct blob_id *ret_id,
              struct err *err)
{
    if (store_begin_appending(store, err) < 0)
        return -1;
    struct store_record clone;
    int is_cloned = size > SMALL ? store_clone(store, fd, &clone, err) : 0;
    if (is_cloned < 0)
        return -1;
    if (is_cloned) {
        if (clone.file_size != size)
            return err_sys(err, ESTALE, "a file changes while it is read");
        if (!store_find_record(store, &clone.id)) {
            remember(store, &clone);
            buf_add(&store->waiting_index, (const char *)&clone, sizeof(clone));
        }
        *ret_id = clone.id;
        return 0;
    }
    struct sink sink = {.store = store, .is_kept = true};
    uint64_t start = store->pack_size + store->waiting.size;
    struct blob_id id = {0};
    int result = add_file(&sink, fd, size, has_holes, err);
    if (result == 0)
        blake2b_end(&sink.hash, id.bytes);
    bool is_known = result == 0 && store_find_record(store, &id);
    if (result < 0 || is_known) {
        /* What came of it so far is taken back: from memory, or from the pack's end. */
        if (store->pack_size > start) {
            store->waiting.size = 0;
            store->pack_size = start;
            if (ftruncate(store->pack_fd, (off_t)start) < 0 ||
                lseek(store->pack_fd, (off_t)start, SEEK_SET) < 0)
                return store_explain_write(err);
        } else {
            store->waiting.size = (size_t)(start - store->pack_size);
        }
        if (is_known)
            *ret_id = id;
        return result;
    }
    struct store_record record = {.id = id,
                                  .offset = start,
                                  .size = store->pack_size + store->waiting.size - start,
                                  .pack = store->pack,
                                  .file_size = size};
    remember(store, &record);
    buf_add(&store->waiting_index, (const char *)&record, sizeof(record));
    store->added += record.size;
    *ret_id = id;
    return 0;
}

/* --- the folder ------------------------------------------------------------------------------------------------- */

int store_open(const char *directory, struct store *ret_store, struct err *err)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (directories_make(directory, err) < 0)
            return -1;
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", directory);
    *ret_store = STORE_NONE;
    ret_store->folder_fd = fd;
    return 0;
}

void store_close(struct store *store)
{
    const int fds[] = {store->folder_fd, store->lock_fd, store->index_fd, store->pack_fd};
    for (size_t i = 0; i < array_len(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]); /* and with it the lock */
    }
    buf_free(&store->waiting);
    buf_free(&store->waiting_index);
    vec_free(&store->records);
    free(store->slots);
    free(store->piece);
    *store = STORE_NONE;
}
