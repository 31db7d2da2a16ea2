#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "content/parts.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_PACKS = 100000 }; /* a number above is none of bawn's */

static int copy_record(struct store *store, const struct store_record *record, int to_fd,
                       uint64_t *ret_offset, struct err *err)
{
    auto_fd int from_fd = store_open_pack(store, record->pack, O_RDONLY);
    off_t start = lseek(to_fd, 0, SEEK_END);
    if (from_fd < 0 || start < 0)
        return err_sys(err, errno, "cannot open pack-%u of the snapshots", record->pack);
    for (uint64_t done = 0; done < record->size;) {
        size_t part = record->size - done < PIECE ? (size_t)(record->size - done) : (size_t)PIECE;
        if (store_read_piece(from_fd, store_room(store), part, record->offset + done, err) < 0)
            return -1;
        if (write_whole(to_fd, store->piece, part) < 0)
            return store_explain_write(err);
        done += part;
    }
    *ret_offset = (uint64_t)start;
    return 0;
}

struct pack_use {
    uint64_t size, kept; /* of the file, and of contents in it that stay */
    bool is_there, goes;
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

/* The files there are, named by the index or left by a crash. */
static int find_packs(const struct store *store, pack_uses *uses, struct err *err)
{
    DIR *folder = directories_list(store->folder_fd);
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
    closedir(folder);
    return 0;
}

/* Little waste is as a rule not worth the work. */
static void judge_packs(const struct store *store, store_is_kept *is_kept, void *context, bool is_thorough,
                        pack_uses *uses)
{
    for (size_t i = 0; i < store->records.count; i++) {
        const struct store_record *record = &store->records.at[i];
        if (record->pack < MOST_PACKS && is_kept(context, &record->id))
            use_of(uses, record->pack)->kept += record->size;
    }
    for (size_t i = 0; i < uses->count; i++) {
        struct pack_use *use = &uses->at[i];
        uint64_t waste = use->size > use->kept ? use->size - use->kept : 0;
        use->goes = use->is_there && waste > (is_thorough ? 0 : use->size / 4);
    }
}

/* What is copied goes to new packs, which begin behind the last one. */
struct rewriting {
    int pack_fd, index_fd;
    uint32_t number;
    uint64_t written;
};

static int move_record(struct store *store, struct rewriting *rewriting, struct store_record *record,
                       struct err *err)
{
    if (rewriting->pack_fd >= 0 && rewriting->written > PACK_FULL) {
        if (fdatasync(rewriting->pack_fd) < 0)
            return store_explain_write(err);
        close(rewriting->pack_fd);
        rewriting->pack_fd = -1;
        rewriting->number++;
    }
    if (rewriting->pack_fd < 0) {
        rewriting->pack_fd = store_open_pack(store, rewriting->number, O_RDWR | O_CREAT | O_TRUNC);
        rewriting->written = 0;
    }
    if (rewriting->pack_fd < 0)
        return store_explain_write(err);
    if (copy_record(store, record, rewriting->pack_fd, &record->offset, err) < 0)
        return -1;
    record->pack = rewriting->number;
    rewriting->written += record->size;
    return 0;
}

static int rewrite(struct store *store, struct rewriting *rewriting, store_is_kept *is_kept, void *context,
                   const pack_uses *uses, struct err *err)
{
    for (size_t i = 0; i < store->records.count; i++) {
        struct store_record record = store->records.at[i];
        progress_tell(store->progress, i, store->records.count);
        if (!is_kept(context, &record.id))
            continue;
        bool moves = record.pack < uses->count && uses->at[record.pack].goes;
        if (moves && move_record(store, rewriting, &record, err) < 0)
            return -1;
        if (write_whole(rewriting->index_fd, &record, sizeof(record)) < 0)
            return store_explain_write(err);
    }
    /* The new index is on the disk before an old pack goes: whatever ends this in between, one index is true. */
    if ((rewriting->pack_fd >= 0 && fdatasync(rewriting->pack_fd) < 0) ||
        fdatasync(rewriting->index_fd) < 0 ||
        renameat(store->folder_fd, "index.new", store->folder_fd, "index") < 0 || fsync(store->folder_fd) < 0)
        return store_explain_write(err);
    return 0;
}

static uint64_t remove_packs(const struct store *store, const pack_uses *uses)
{
    uint64_t freed = 0;
    for (size_t i = 0; i < uses->count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "pack-%zu", i);
        if (uses->at[i].goes && unlinkat(store->folder_fd, name, 0) == 0)
            freed += uses->at[i].size - uses->at[i].kept;
    }
    return freed;
}

int store_prune(struct store *store, store_is_kept *is_kept, void *context, bool is_thorough,
                uint64_t *ret_freed, struct err *err)
{
    *ret_freed = 0;
    if (store_begin_appending(store, err) < 0 || store_flush(store, err) < 0)
        return -1;
    pack_uses uses = {0};
    int result = find_packs(store, &uses, err);
    if (result == 0)
        judge_packs(store, is_kept, context, is_thorough, &uses);
    struct rewriting rewriting = {.pack_fd = -1, .index_fd = -1, .number = (uint32_t)uses.count};
    bool any_goes = false;
    for (size_t i = 0; i < uses.count; i++)
        any_goes |= uses.at[i].goes;
    for (size_t i = 0; !any_goes && i < store->records.count; i++)
        any_goes = store->records.at[i].pack == NO_PACK && !is_kept(context, &store->records.at[i].id);
    if (result == 0 && any_goes) {
        rewriting.index_fd =
            openat(store->folder_fd, "index.new", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        result = rewriting.index_fd < 0 ? store_explain_write(err)
                                        : rewrite(store, &rewriting, is_kept, context, &uses, err);
        if (result == 0)
            *ret_freed = remove_packs(store, &uses);
    }
    if (result == 0)
        *ret_freed += store_remove_clones(store, is_kept, context);
    const int fds[] = {rewriting.pack_fd, rewriting.index_fd};
    for (size_t i = 0; i < array_len(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    vec_free(&uses);
    return result;
}

uint64_t store_size(const char *directory)
{
    auto_store struct store store = STORE_NONE;
    struct err ignored;
    pack_uses uses = {0};
    uint64_t size = 0;
    store.folder_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store.folder_fd >= 0 && find_packs(&store, &uses, &ignored) == 0) {
        for (size_t i = 0; i < uses.count; i++)
            size += uses.at[i].size;
    }
    vec_free(&uses);
    return size;
}
