#include "hold/past.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/beneath.h"

/* Was the file changed so shortly before the snapshot that a later change could have the same time? */
static bool is_too_young(const struct past *past, const struct entry *entry)
{
    enum { TICK_NANOSECONDS = 20 * 1000 * 1000 };
    return timespec_between(entry->changed, past->tree->taken) < TICK_NANOSECONDS;
}

/* Did the snapshot read the directory of this name? If not, nothing is known of it. */
static bool is_looked_at(const struct past *past, struct arena *arena, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        const struct entry *above = tree_find(past->tree, arena_copy(arena, path, (size_t)(slash - path)));
        if (!above || tree_is_skipped(above))
            return !above; /* a directory that was not there held nothing */
    }
    return true;
}

/* Could the file look unchanged and still be another? */
static bool is_doubted(const struct past *past, const struct entry *entry, const char *path)
{
    auto_fd int fd = is_too_young(past, entry) ? -1 : open_absolute(path, O_PATH);
    return fd < 0 || !times_tell(fd);
}

static void read_bytes(struct past *past, struct arena *arena, const struct entry *entry,
                       struct file_content *content)
{
    auto_buf struct buf bytes = {0};
    struct err ignored;
    if (!past->directory) /* whoever asks wants to know only what was there */
        return;
    if (past->store.folder_fd < 0 && store_open(past->directory, &past->store, &ignored) < 0)
        return;
    if (store_read(&past->store, &entry->blob, FILE_CONTENT_LARGEST, &bytes, &ignored) != 1)
        return;
    content->bytes = bytes_of(arena_copy(arena, buf_text(&bytes), bytes.size), bytes.size);
    content->length = bytes.size;
}

static bool reaches(const struct past *past, const char *path)
{
    return past->tree && path_is_beneath(path, past->workspace) && strcmp(path, past->workspace) != 0;
}

enum past_answer past_find(struct past *past, struct arena *arena, const struct file_content *now,
                           struct file_content *ret_before)
{
    while (past && !reaches(past, now->path))
        past = past->next;
    if (!past)
        return PAST_UNKNOWN;
    const char *path = now->path + strlen(past->workspace) + 1;
    const struct entry *entry = tree_find(past->tree, path);
    if (!entry)
        return is_looked_at(past, arena, path) ? PAST_NOTHING : PAST_UNKNOWN;
    struct file_content before = {.path = now->path,
                                  .mode = entry->mode,
                                  .links = entry->links,
                                  .device = entry->device,
                                  .inode = entry->inode,
                                  .changed = entry->changed,
                                  .length = entry->size};
    if (S_ISLNK(entry->mode)) {
        before.length = strlen(entry->target);
        before.bytes = bytes_of(arena_str(arena, entry->target), strlen(entry->target));
    } else if (S_ISREG(entry->mode)) {
        bool is_in_doubt = is_doubted(past, entry, now->path);
        if (entry->content == CONTENT_STORED && (is_in_doubt || !content_equal(&before, now)))
            read_bytes(past, arena, entry, &before);
        if (is_in_doubt && !bytes_known(before.bytes))
            before.inode = 0; /* nothing tells that it is the same: it counts as changed */
    }
    *ret_before = before;
    return PAST_SOMETHING;
}

void past_free(struct past *past)
{
    for (; past; past = past->next) {
        if (past->tree)
            store_close(&past->store);
    }
}
