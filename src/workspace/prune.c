#include "workspace/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "workspace/checkpoint.h"
#include "workspace/record.h"

struct marks {
    struct arena arena;
    struct map blobs;
};

/* Every content that a tree names is needed. */
static int mark_tree(struct marks *marks, int folder_fd, const char *name, struct err *err)
{
    auto_tree struct tree tree = {0};
    if (tree_load(folder_fd, name, &tree, err) < 0)
        return -1;
    for (size_t i = 0; i < tree.entries.count; i++) {
        const struct entry *entry = &tree.entries.at[i];
        if (entry->content != CONTENT_STORED)
            continue;
        const char *key = (const char *)entry->blob.bytes;
        if (!map_get(&marks->blobs, key, sizeof(entry->blob.bytes)))
            *map_at(&marks->blobs, arena_copy(&marks->arena, key, sizeof(entry->blob.bytes)),
                    sizeof(entry->blob.bytes)) = marks;
    }
    return 0;
}

typedef int visit_entry(void *context, int folder_fd, const char *name, struct err *err);

static int each_entry(int folder_fd, visit_entry *visit, void *context, struct err *err)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory)
        return err_sys(err, errno, "cannot look through the sessions");
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (*entry->d_name != '.')
            result = visit(context, folder_fd, entry->d_name, err);
    }
    closedir(directory);
    return result;
}

static int visit_tree(void *context, int folder_fd, const char *name, struct err *err)
{
    return mark_tree(context, folder_fd, name, err);
}

static int visit_checkpoint(void *context, int folder_fd, const char *name, struct err *err)
{
    return checkpoint_is_tree(name) ? mark_tree(context, folder_fd, name, err) : 0;
}

static int mark_session(struct marks *marks, int folder_fd, struct err *err)
{
    static const char *const names[] = {"start", "before", "after"};
    for (size_t i = 0; i < array_len(names); i++) {
        if (mark_tree(marks, folder_fd, names[i], err) < 0)
            return -1;
    }
    return each_entry(folder_fd, visit_checkpoint, marks, err);
}

static int visit_session(void *context, int folder_fd, const char *name, struct err *err)
{
    auto_fd int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? 0 : mark_session(context, fd, err);
}

static bool is_marked(void *context, const struct blob_id *id)
{
    const struct marks *marks = context;
    return map_get(&marks->blobs, (const char *)id->bytes, sizeof(id->bytes)) != NULL;
}

static bool is_settled(const struct record *record, int64_t oldest_seconds)
{
    return record_is_settled(record) && record->ended.tv_sec < oldest_seconds;
}

static int forget_old(int sessions_fd, int64_t oldest_seconds, uint64_t *ret_count, struct err *err)
{
    struct arena arena = {0};
    record_list records;
    if (record_list_all(sessions_fd, &arena, NULL, &records, err) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < records.count && result == 0; i++) {
        /* It may be about to name contents that it has just put into the store. */
        if (record_is_busy(sessions_fd, records.at[i].name)) {
            err_set(err, "%s is at work, so that nothing was pruned", records.at[i].name);
            result = err_hint(err, "try again when it has ended");
        }
    }
    for (size_t i = 0; i < records.count && result == 0; i++) {
        auto_fd int fd =
            openat(sessions_fd, records.at[i].name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || !is_settled(&records.at[i], oldest_seconds))
            continue;
        record_forget(fd);
        ++*ret_count;
    }
    vec_free(&records);
    arena_free(&arena);
    return result;
}

int prune(const char *store_directory, int sessions_fd, int64_t oldest_seconds, struct pruned *ret_pruned,
          struct err *err)
{
    *ret_pruned = (struct pruned){0};
    if (forget_old(sessions_fd, oldest_seconds, &ret_pruned->sessions, err) < 0)
        return -1;
    auto_store struct store store = STORE_NONE;
    /* The lock comes first: a snapshot that is being taken has contents that no tree names yet. */
    if (store_open(store_directory, &store, err) < 0 || store_lock(&store, err) < 0)
        return -1;
    struct marks marks = {0};
    auto_fd int trees_fd = openat(store.folder_fd, "trees", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int result = trees_fd < 0 ? 0 : each_entry(trees_fd, visit_tree, &marks, err);
    if (result == 0)
        result = each_entry(sessions_fd, visit_session, &marks, err);
    if (result == 0)
        result = store_prune(&store, is_marked, &marks, &ret_pruned->bytes, err);
    map_free(&marks.blobs);
    arena_free(&marks.arena);
    return result;
}
