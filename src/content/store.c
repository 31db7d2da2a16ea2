/*
 * Theory of operation
 *
 * On the disk, in DIRECTORY:
 *
 *   lock       an empty file, for flock()
 *   pack-N     contents, one after the other (blob.h has their form). Packs exist because a file for each content would
 *              cost three times as much
 *   clone-H    a large content as a file of its own, H being its hash. It shares blocks with the file it was cloned from
 *   index      one struct blob for each content: hash, pack, offset, size
 *   clone-new, index.new   unfinished files of the process that has the lock
 *
 * Invariants:
 *
 *   1. Only the process that has locked `lock` changes anything here. It takes the lock before its first write
 *      (store_lock) and has it until store_close, or until it dies.
 *   2. An entry of the index is written after the content it names. So a process that reads the index finds the content.
 *   3. Bytes of a pack that the index names never change; a pack is removed as a whole. The index is only appended to, or
 *      replaced by rename.
 *   4. No bytes leave the store before their hash has been compared.
 *
 * Readers take no lock. A reader may have loaded an index whose packs were pruned since. It then misses a file, loads the
 * index again and finds the content in its new place, or learns that it is gone.
 *
 * A content that nothing names is garbage, and any prune may remove it. Therefore a caller that has put contents keeps the
 * store open, and so the lock, until a tree that names them is saved. A caller that reuses contents of an older tree puts
 * nothing and has no lock; workspace/prune.c has a second lock for that case.
 *
 * If the process is killed:
 *
 *   while it appends            the pack ends with bytes that no entry names. They are waste until the next prune
 *   while it writes the index   the last entry may be cut short. store_lock cuts the index to whole entries
 *   while it clones             clone-new stays; the next clone overwrites it
 *   while it prunes             before the rename of index.new the old index is valid and all its packs are there. After
 *                               the rename the new index is valid, and packs that it does not name are waste. The next
 *                               prune removes whatever the valid index does not name
 *
 * If the machine stops, the kernel may have written the index and not the pack. Then the hash does not match and the content
 * counts as damaged (invariant 4). A caller that is about to destroy the only other copy calls store_wait_for_disk first.
 */
#include "content/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "content/blob.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/* --- the index ---------------------------------------------------------------------------------------------------- */

static size_t slot_of(const struct store *store, const struct blob_id *id)
{
    uint64_t start;
    memcpy(&start, id->bytes, sizeof(start));
    size_t slot = start & (store->slot_count - 1);
    while (store->slots[slot] &&
           memcmp(store->blobs.at[store->slots[slot] - 1].id.bytes, id->bytes, sizeof(id->bytes)) != 0)
        slot = (slot + 1) & (store->slot_count - 1);
    return slot;
}

static void rehash(struct store *store, size_t slot_count)
{
    free(store->slots);
    store->slot_count = slot_count;
    store->slots = must_realloc(NULL, slot_count, sizeof(*store->slots));
    memset(store->slots, 0, slot_count * sizeof(*store->slots));
    for (size_t i = 0; i < store->blobs.count; i++)
        store->slots[slot_of(store, &store->blobs.at[i].id)] = (uint32_t)i + 1;
}

static void remember(struct store *store, const struct blob *blob)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): load_index has allocated the slots */
    vec_push(&store->blobs, *blob);
    if (store->blobs.count * 2 > store->slot_count)
        rehash(store, store->slot_count * 2);
    else
        store->slots[slot_of(store, &blob->id)] = (uint32_t)store->blobs.count;
}

/* The files are opened when they are first needed: a snapshot that finds nothing new needs none. */
static int open_own(const struct store *store, const char *name, int *fd)
{
    if (*fd < 0)
        *fd = openat(store->folder_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd < 0 ? -1 : 0;
}

static int open_index(struct store *store)
{
    if (open_own(store, "index", &store->index_fd) == 0)
        return 0;
    if (errno == EACCES || errno == EROFS) /* it can still be read; who writes fails at the lock */
        store->index_fd = openat(store->folder_fd, "index", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return store->index_fd < 0 ? -1 : 0;
}

static void forget_index(struct store *store)
{
    fd_close(store->index_fd);
    store->index_fd = -1;
    free(store->slots);
    store->slots = NULL;
    vec_free(&store->blobs);
}

static int load_index(struct store *store, struct err *err)
{
    if (store->slots)
        return 0;
    struct stat status;
    if (open_index(store) < 0 || fstat(store->index_fd, &status) < 0)
        return err_sys(err, errno, "cannot read the index of snapshots");
    size_t count = (size_t)status.st_size / sizeof(struct blob);
    if (count >= UINT32_MAX / 4)
        return err_set(err, "the index of snapshots is too large");
    store->blobs.at = must_realloc(NULL, count + 1, sizeof(struct blob));
    store->blobs.capacity = count + 1;
    size_t size = count * sizeof(struct blob);
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(store->index_fd, (char *)store->blobs.at + done, size - done, (off_t)done);
        if (got <= 0)
            return err_sys(err, errno, "cannot read the index of snapshots");
        done += (size_t)got;
    }
    store->blobs.count = count;
    size_t slots = 1024;
    while (slots < count * 3)
        slots *= 2;
    rehash(store, slots);
    return 0;
}

const struct blob *store_find(const struct store *store, const struct blob_id *id)
{
    uint32_t number = store->slots ? store->slots[slot_of(store, id)] : 0;
    return number ? &store->blobs.at[number - 1] : NULL;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

int store_lock(struct store *store, struct err *err)
{
    if (store->pack_fd >= 0)
        return 0;
    if (open_own(store, "lock", &store->lock_fd) < 0 || flock(store->lock_fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot lock the snapshots");
    forget_index(store); /* others may have pruned since it was loaded */
    struct stat status;
    /* A crash may have cut the last entry short: the next one must not begin in its middle. */
    if (open_index(store) < 0 || fstat(store->index_fd, &status) < 0 ||
        ftruncate(store->index_fd, status.st_size - status.st_size % (off_t)sizeof(struct blob)) < 0)
        return err_sys(err, errno, "cannot write the index of snapshots");
    if (load_index(store, err) < 0)
        return -1;
    for (size_t i = 0; i < store->blobs.count; i++) {
        if (store->blobs.at[i].pack != NO_PACK && store->blobs.at[i].pack > store->pack)
            store->pack = store->blobs.at[i].pack;
    }
    store->pack_fd = blob_open_pack(store, store->pack, O_RDWR | O_CREAT);
    if (store->pack_fd >= 0 && fstat(store->pack_fd, &status) == 0 && (uint64_t)status.st_size > PACK_FULL) {
        close(store->pack_fd);
        store->pack_fd = blob_open_pack(store, ++store->pack, O_RDWR | O_CREAT);
    }
    if (store->pack_fd < 0 || fstat(store->pack_fd, &status) < 0)
        return err_sys(err, errno, "cannot write a snapshot");
    store->pack_size = (uint64_t)status.st_size;
    return lseek(store->pack_fd, status.st_size, SEEK_SET) < 0
               ? err_sys(err, errno, "cannot write a snapshot")
               : 0;
}

int store_flush(struct store *store, struct err *err)
{
    if (store->pack_fd < 0)
        return 0;
    if (blob_write_waiting(store, err) < 0)
        return -1;
    off_t end = lseek(store->index_fd, 0, SEEK_END);
    if (store->waiting_index.size &&
        (end < 0 || write_whole(store->index_fd, store->waiting_index.bytes, store->waiting_index.size) < 0))
        return blob_explain_write(err);
    store->waiting_index.size = 0;
    return 0;
}

int store_wait_for_disk(struct store *store, struct err *err)
{
    if (store_lock(store, err) < 0)
        return -1;
    bool is_there =
        fdatasync(store->pack_fd) == 0 && fdatasync(store->index_fd) == 0 && fsync(store->folder_fd) == 0;
    return is_there ? 0 : blob_explain_write(err);
}

int store_is_same(struct store *store, int fd, uint64_t size, bool has_holes, const struct blob_id *id,
                  struct err *err)
{
    struct blob_id found;
    return blob_add(store, fd, size, has_holes, false, &found, err) < 0
               ? -1
               : memcmp(found.bytes, id->bytes, sizeof(found.bytes)) == 0;
}

static void add_to_index(struct store *store, const struct blob *blob)
{
    remember(store, blob);
    buf_add(&store->waiting_index, (const char *)blob, sizeof(*blob));
}

/* Returns 1, or 0 if the file is to be appended to a pack. */
static int put_clone(struct store *store, int fd, uint64_t size, struct blob_id *ret_id, struct err *err)
{
    if (store->cannot_clone)
        return 0;
    struct blob blob;
    int is_cloned = blob_clone(store, fd, &blob, err);
    bool is_new = is_cloned > 0 && !store_find(store, &blob.id);
    if (is_new && blob_name_clone(store, &blob.id, err) < 0)
        is_cloned = -1;
    unlinkat(store->folder_fd, CLONE_NEW, 0);
    if (is_cloned <= 0)
        return is_cloned;
    if (blob.file_size != size)
        return err_sys(err, ESTALE, "a file changes while it is read");
    if (is_new)
        add_to_index(store, &blob);
    *ret_id = blob.id;
    return 1;
}

/* Removes what was appended since `start`, from memory or from the end of the pack. */
static int take_back(struct store *store, uint64_t start, struct err *err)
{
    if (store->pack_size <= start) {
        store->waiting.size = (size_t)(start - store->pack_size);
        return 0;
    }
    store->waiting.size = 0;
    store->pack_size = start;
    if (ftruncate(store->pack_fd, (off_t)start) < 0 || lseek(store->pack_fd, (off_t)start, SEEK_SET) < 0)
        return blob_explain_write(err);
    return 0;
}

int store_put(struct store *store, int fd, uint64_t size, bool has_holes, struct blob_id *ret_id,
              struct err *err)
{
    if (store_lock(store, err) < 0)
        return -1;
    int is_cloned = size > SMALL ? put_clone(store, fd, size, ret_id, err) : 0;
    if (is_cloned)
        return is_cloned < 0 ? -1 : 0;
    uint64_t start = store->pack_size + store->waiting.size;
    struct blob blob = {.offset = start, .pack = store->pack, .file_size = size};
    int result = blob_add(store, fd, size, has_holes, true, &blob.id, err);
    bool is_known = result == 0 && store_find(store, &blob.id);
    if (result < 0 || is_known) {
        if (take_back(store, start, err) < 0)
            return -1;
    } else {
        blob.size = store->pack_size + store->waiting.size - start;
        add_to_index(store, &blob);
        store->added += blob.size;
    }
    if (result == 0)
        *ret_id = blob.id;
    return result;
}

int store_read_small(int fd, uint64_t size, char *ret_bytes, struct blob_id *ret_id)
{
    struct err err;
    if (size > SMALL || blob_read_piece(fd, ret_bytes, (size_t)size, 0, &err) < 0) {
        errno = size > SMALL ? EFBIG : err.errnum;
        return -1;
    }
    blob_hash_small(ret_bytes, size, ret_id);
    return 0;
}

int store_put_small(struct store *store, const char *bytes, uint64_t size, const struct blob_id *id,
                    struct err *err)
{
    if (store_lock(store, err) < 0)
        return -1;
    if (store_find(store, id))
        return 0;
    struct blob blob = {.id = *id,
                        .offset = store->pack_size + store->waiting.size,
                        .size = size,
                        .pack = store->pack,
                        .file_size = size};
    if (blob_append(store, bytes, (size_t)size, err) < 0)
        return -1;
    add_to_index(store, &blob);
    store->added += size;
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Finds a content, opens the file that has it and compares its hash. */
static int open_content(struct store *store, const struct blob_id *id, struct blob *ret_blob, struct err *err)
{
    enum { TRIES = 2 };
    if (store_flush(store, err) < 0)
        return -1;
    for (int i = 0; i < TRIES; i++) {
        if (load_index(store, err) < 0)
            return -1;
        const struct blob *blob = store_find(store, id);
        auto_fd int fd = blob ? blob_open(store, blob) : -1;
        if (fd >= 0) {
            *ret_blob = *blob;
            return blob_verify(store, fd, blob, err) < 0 ? -1 : fd_take(&fd);
        }
        if (blob && errno != ENOENT)
            return err_sys(err, errno, "cannot open a content of the snapshots");
        if (store->pack_fd < 0) /* without the lock the index may be out of date */
            forget_index(store);
    }
    return err_set(err, "a content is not in the snapshots any more");
}

int store_write_out(struct store *store, const struct blob_id *id, int fd, struct err *err)
{
    struct blob blob = {0};
    auto_fd int blob_fd = open_content(store, id, &blob, err);
    return blob_fd < 0 ? -1 : blob_write_out(store, blob_fd, &blob, fd, err);
}

int store_read(struct store *store, const struct blob_id *id, size_t most, struct buf *ret_bytes,
               struct err *err)
{
    struct blob blob = {0};
    auto_fd int blob_fd = open_content(store, id, &blob, err);
    if (blob_fd < 0)
        return -1;
    if (blob.file_size > most)
        return 0;
    /* Through a file in memory, so that only blob_write_out knows the form of a content. */
    auto_fd int memory = memfd_create("content", MFD_CLOEXEC);
    if (memory < 0)
        return err_sys(err, errno, "cannot make room for a content");
    if (blob_write_out(store, blob_fd, &blob, memory, err) < 0)
        return -1;
    ret_bytes->size = 0;
    for (uint64_t done = 0; done < blob.file_size;) {
        size_t part = blob.file_size - done < PIECE ? (size_t)(blob.file_size - done) : (size_t)PIECE;
        if (blob_read_piece(memory, store->piece, part, done, err) < 0)
            return -1;
        buf_add(ret_bytes, store->piece, part);
        done += part;
    }
    return 1;
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

int store_open(const char *directory, struct store *ret_store, struct err *err)
{
    int fd = directories_open_made(directory, err);
    if (fd < 0)
        return -1;
    *ret_store = STORE_NONE;
    ret_store->folder_fd = fd;
    return 0;
}

void store_close(struct store *store)
{
    const int fds[] = {store->folder_fd, store->lock_fd, store->index_fd, store->pack_fd};
    for (size_t i = 0; i < array_len(fds); i++)
        fd_close(fds[i]); /* this releases the lock, too */
    buf_free(&store->waiting);
    buf_free(&store->waiting_index);
    vec_free(&store->blobs);
    free(store->slots);
    free(store->piece);
    *store = STORE_NONE;
}
