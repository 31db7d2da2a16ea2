#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "content/blob.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_PACKS = 100000 }; /* a file with a higher number is not a pack */

static int copy_blob(struct store *store, const struct blob *blob, int to_fd, uint64_t *ret_offset,
                     struct err *err)
{
    auto_fd int from_fd = blob_open_pack(store, blob->pack, O_RDONLY);
    off_t start = lseek(to_fd, 0, SEEK_END);
    if (from_fd < 0 || start < 0)
        return err_sys(err, errno, "cannot open pack-%u of the snapshots", blob->pack);
    for (uint64_t done = 0; done < blob->size;) {
        size_t part = blob->size - done < PIECE ? (size_t)(blob->size - done) : (size_t)PIECE;
        if (blob_read_piece(from_fd, blob_buffer(store), part, blob->offset + done, err) < 0)
            return -1;
        if (write_whole(to_fd, store->piece, part) < 0)
            return blob_explain_write(err);
        done += part;
    }
    *ret_offset = (uint64_t)start;
    return 0;
}

struct pack_use {
    uint64_t size, needed; /* bytes of the file, and of the needed contents in it */
    bool is_there, goes;   /* goes: it is rewritten without its waste */
};

/* cppcheck-suppress unusedStructMember; vec_push uses it */
typedef VEC(struct pack_use) pack_uses;

static bool pack_number(const char *name, uint64_t *ret_number)
{
    static const char start[] = "pack-";
    if (!text_starts_with(name, start))
        return false;
    name += strlen(start);
    return text_take_number(&name, ret_number) && !*name && *ret_number < MOST_PACKS;
}

static struct pack_use *use_of(pack_uses *uses, uint64_t number)
{
    while (uses->count <= number)
        vec_push(uses, (struct pack_use){0});
    return &uses->at[number];
}

/* Lists the packs, whether the index names them or a crash left them. */
static int find_packs(const struct store *store, pack_uses *uses, struct err *err)
{
    auto_dir DIR *folder = directories_list(store->folder_fd);
    if (!folder)
        return err_sys(err, errno, "cannot look through the snapshots");
    for (const struct dirent *entry; (entry = readdir(folder));) {
        uint64_t number;
        struct stat status;
        if (!pack_number(entry->d_name, &number) ||
            fstatat(store->folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        struct pack_use *use = use_of(uses, number);
        use->is_there = true;
        use->size = (uint64_t)status.st_size;
    }
    return 0;
}

/* Chooses the packs to rewrite. A little waste is not worth the work, unless the caller wants all of it. */
static void judge_packs(const struct store *store, store_is_needed *is_needed, void *context,
                        bool is_thorough, pack_uses *uses)
{
    vec_each (const struct blob, blob, &store->blobs) {
        if (blob->pack < MOST_PACKS && is_needed(context, &blob->id))
            use_of(uses, blob->pack)->needed += blob->size;
    }
    vec_each (struct pack_use, use, uses) {
        uint64_t waste = use->size > use->needed ? use->size - use->needed : 0;
        use->goes = use->is_there && waste > (is_thorough ? 0 : use->size / 4);
    }
}

/* Needed contents move to new packs, numbered after the last one. */
struct rewriting {
    int pack_fd, index_fd;
    uint32_t number;
    uint64_t written;
};

static int move_blob(struct store *store, struct rewriting *rewriting, struct blob *blob, struct err *err)
{
    if (rewriting->pack_fd >= 0 && rewriting->written > PACK_FULL) {
        if (fdatasync(rewriting->pack_fd) < 0)
            return blob_explain_write(err);
        close(rewriting->pack_fd);
        rewriting->pack_fd = -1;
        rewriting->number++;
    }
    if (rewriting->pack_fd < 0) {
        rewriting->pack_fd = blob_open_pack(store, rewriting->number, O_RDWR | O_CREAT | O_TRUNC);
        rewriting->written = 0;
    }
    if (rewriting->pack_fd < 0)
        return blob_explain_write(err);
    if (copy_blob(store, blob, rewriting->pack_fd, &blob->offset, err) < 0)
        return -1;
    blob->pack = rewriting->number;
    rewriting->written += blob->size;
    return 0;
}

static int rewrite(struct store *store, struct rewriting *rewriting, store_is_needed *is_needed,
                   void *context, const pack_uses *uses, struct err *err)
{
    for (size_t i = 0; i < store->blobs.count; i++) {
        struct blob blob = store->blobs.at[i];
        progress_tell(store->progress, i, store->blobs.count);
        if (!is_needed(context, &blob.id))
            continue;
        bool moves = blob.pack < uses->count && uses->at[blob.pack].goes;
        if (moves && move_blob(store, rewriting, &blob, err) < 0)
            return -1;
        if (write_whole(rewriting->index_fd, &blob, sizeof(blob)) < 0)
            return blob_explain_write(err);
    }
    /* The new index is on the disk before an old pack is removed: whatever interrupts this, one index is valid. */
    if ((rewriting->pack_fd >= 0 && fdatasync(rewriting->pack_fd) < 0) ||
        fdatasync(rewriting->index_fd) < 0 ||
        renameat(store->folder_fd, "index.new", store->folder_fd, "index") < 0 || fsync(store->folder_fd) < 0)
        return blob_explain_write(err);
    return 0;
}

static uint64_t remove_packs(const struct store *store, const pack_uses *uses)
{
    uint64_t freed = 0;
    for (size_t i = 0; i < uses->count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "pack-%zu", i);
        if (uses->at[i].goes && unlinkat(store->folder_fd, name, 0) == 0)
            freed += uses->at[i].size - uses->at[i].needed;
    }
    return freed;
}

/* The hash in a clone's name. Another name gives a hash that no content has. */
static struct blob_id id_in(const char *name)
{
    struct blob_id id = {0};
    const char *at = name + strlen(CLONE);
    for (size_t i = 0; i < 2 * sizeof(id.bytes) && text_hex_digit(at[i]) >= 0; i++)
        id.bytes[i / 2] = (unsigned char)(id.bytes[i / 2] | text_hex_digit(at[i]) << (i % 2 ? 0 : 4));
    return id;
}

static bool is_needed_clone(const struct store *store, const char *name, store_is_needed *is_needed,
                            void *context)
{
    struct blob_id id = id_in(name);
    const struct blob *blob = store_find(store, &id);
    return blob && blob->pack == NO_PACK && is_needed(context, &id);
}

/* Returns the bytes that were freed. */
static uint64_t remove_clones(const struct store *store, store_is_needed *is_needed, void *context)
{
    uint64_t freed = 0;
    auto_dir DIR *folder = directories_list(store->folder_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        if (text_starts_with(entry->d_name, CLONE) &&
            !is_needed_clone(store, entry->d_name, is_needed, context) &&
            fstatat(store->folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            unlinkat(store->folder_fd, entry->d_name, 0) == 0)
            freed += (uint64_t)status.st_blocks * 512;
    }
    return freed;
}

int store_prune(struct store *store, store_is_needed *is_needed, void *context, bool is_thorough,
                uint64_t *ret_freed, struct err *err)
{
    *ret_freed = 0;
    if (store_lock(store, err) < 0 || store_flush(store, err) < 0)
        return -1;
    auto_vec pack_uses uses = {0};
    int result = find_packs(store, &uses, err);
    if (result == 0)
        judge_packs(store, is_needed, context, is_thorough, &uses);
    struct rewriting rewriting = {.pack_fd = -1, .index_fd = -1, .number = (uint32_t)uses.count};
    bool any_goes = false;
    for (size_t i = 0; i < uses.count; i++)
        any_goes |= uses.at[i].goes;
    for (size_t i = 0; !any_goes && i < store->blobs.count; i++)
        any_goes = store->blobs.at[i].pack == NO_PACK && !is_needed(context, &store->blobs.at[i].id);
    if (result == 0 && any_goes) {
        rewriting.index_fd =
            openat(store->folder_fd, "index.new", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        result = rewriting.index_fd < 0 ? blob_explain_write(err)
                                        : rewrite(store, &rewriting, is_needed, context, &uses, err);
        if (result == 0)
            *ret_freed = remove_packs(store, &uses);
    }
    if (result == 0)
        *ret_freed += remove_clones(store, is_needed, context);
    const int fds[] = {rewriting.pack_fd, rewriting.index_fd};
    for (size_t i = 0; i < array_len(fds); i++)
        fd_close(fds[i]);
    return result;
}

uint64_t store_size(const char *directory)
{
    auto_store struct store store = STORE_NONE;
    struct err ignored;
    auto_vec pack_uses uses = {0};
    uint64_t size = 0;
    store.folder_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store.folder_fd >= 0 && find_packs(&store, &uses, &ignored) == 0) {
        for (size_t i = 0; i < uses.count; i++)
            size += uses.at[i].size;
    }
    return size;
}
