#include "workspace/reconcile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "workspace/diff.h"
#include "workspace/record.h"
#include "workspace/scan.h"

enum { LARGEST = 8 * 1024 * 1024 };

static bool is_stored_file(const struct entry *entry)
{
    return entry && S_ISREG(entry->mode) && entry->content == CONTENT_STORED;
}

/* Have both sides changed the mode, to different modes? */
static bool modes_clash(const struct change *change, const struct entry *now)
{
    return change->before && now->mode != change->before->mode &&
           change->after->mode != change->before->mode && now->mode != change->after->mode;
}

/* Reads the workspace's file, if it is still the one that was judged. */
static int read_present(const char *workspace, const struct entry *now, struct buf *ret_text)
{
    auto_fd int top_fd = open_absolute(workspace, O_RDONLY | O_DIRECTORY);
    auto_fd int fd = top_fd < 0 ? -1 : open_beneath(top_fd, now->path, O_RDONLY | O_NONBLOCK, 0);
    struct stat status;
    if (fd < 0 || buf_read(ret_text, fd, LARGEST) < 0 || fstat(fd, &status) < 0)
        return 0;
    struct entry read = look_entry(&status, now->path);
    return S_ISREG(status.st_mode) && ret_text->size == now->size && look_is_same(&read, now);
}

int conflict_read(const struct transition *transition, struct store *store, const struct decision *decision,
                  struct conflict *ret_conflict, struct err *err)
{
    *ret_conflict = (struct conflict){0};
    const struct change *change = &decision->judged.change;
    const struct entry *now = &decision->judged.now;
    if (!is_stored_file(change->after) || (change->before && !is_stored_file(change->before)) || !now->path ||
        !S_ISREG(now->mode) || modes_clash(change, now) || git_directory_size(change->path))
        return 0;
    int read = read_present(transition->workspace, now, &ret_conflict->ours);
    if (read > 0 && change->before)
        read = store_read(store, &change->before->blob, LARGEST, &ret_conflict->base, err);
    if (read > 0)
        read = store_read(store, &change->after->blob, LARGEST, &ret_conflict->theirs, err);
    const struct buf *texts[] = {&ret_conflict->base, &ret_conflict->ours, &ret_conflict->theirs};
    for (size_t i = 0; i < array_len(texts) && read > 0; i++)
        read = lines_are_text(buf_text(texts[i]), texts[i]->size);
    if (read <= 0)
        conflict_free(ret_conflict);
    return read;
}

void conflict_free(struct conflict *conflict)
{
    buf_free(&conflict->base);
    buf_free(&conflict->ours);
    buf_free(&conflict->theirs);
}

static int put_text(struct store *store, const struct buf *text, struct blob_id *ret_id, struct err *err)
{
    auto_fd int fd = memfd_create("text", MFD_CLOEXEC);
    if (fd < 0 || write_whole(fd, buf_text(text), text->size) < 0)
        return err_sys(err, errno, "cannot make room for a text");
    return store_put(store, fd, text->size, false, ret_id, err);
}

int entry_of_text(struct store *store, struct arena *arena, const struct entry *like, const struct buf *text,
                  struct entry **ret_entry, struct err *err)
{
    struct entry *entry = arena_new(arena, struct entry);
    *entry = *like;
    entry->size = text->size;
    entry->inode = 0;
    entry->linked_to = "";
    entry->changed = (struct timespec){0};
    entry->content = CONTENT_STORED;
    clock_gettime(CLOCK_REALTIME, &entry->modified);
    if (put_text(store, text, &entry->blob, err) < 0)
        return -1;
    *ret_entry = entry;
    return 0;
}

static int rewrite_one(struct store *store, struct arena *arena, struct rewrite *rewrite, struct err *err)
{
    const struct change *change = &rewrite->of->judged.change;
    const struct entry *now = &rewrite->of->judged.now;
    struct entry like = *change->after;
    if (change->before && change->before->mode == change->after->mode && now->path)
        like.mode = now->mode;
    return entry_of_text(store, arena, &like, &rewrite->text, &rewrite->entry, err);
}

int rewrite_all(const char *store_directory, int folder_fd, struct arena *arena, rewrite_list *rewrites,
                struct err *err)
{
    auto_store struct store store = STORE_NONE;
    auto_tree struct tree named = {0};
    if (rewrites->count == 0)
        return 0;
    if (store_open(store_directory, &store, err) < 0)
        return -1;
    for (size_t i = 0; i < rewrites->count; i++) {
        if (rewrite_one(&store, arena, &rewrites->at[i], err) < 0)
            return -1;
        struct entry entry = *rewrites->at[i].entry;
        entry.path = arena_printf(arena, "%010zu", i); /* a file may be rewritten twice */
        vec_push(&named.entries, entry);
    }
    if (store_flush(&store, err) < 0)
        return -1;
    return tree_save(&named, folder_fd, RECORD_REWRITTEN, err);
}

void rewrites_free(rewrite_list *rewrites)
{
    for (size_t i = 0; i < rewrites->count; i++)
        buf_free(&rewrites->at[i].text);
    vec_free(rewrites);
}
