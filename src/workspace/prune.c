#include "workspace/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "workspace/checkpoint.h"
#include "workspace/copy.h"
#include "workspace/record.h"
#include "workspace/snapshot.h"

/* A session, or the last tree of a workspace. It needs contents, and may be removed. */
struct item {
    const char *name; /* of the session, or of the tree */
    bool is_session;
    bool stays;
    struct timespec used; /* when it was used last */
};

/* cppcheck-suppress unusedStructMember; vec_push uses it */
typedef VEC(struct item) item_list;

struct pruning {
    const struct prune_request *request;
    struct arena *arena;
    struct store store;
    int trees_fd;
    struct map needs; /* content → how many trees need it */
    item_list items;
    struct map in_use; /* names of the trees of workspaces in which a bawn process is working */
    uint64_t needed;   /* bytes of contents that are needed */
};

/* --- what is needed ----------------------------------------------------------------------------------------------- */

/* Counts every content of a tree once more, or once less. */
static int count_tree(struct pruning *pruning, int folder_fd, const char *name, bool is_less, struct err *err)
{
    auto_tree struct tree tree = {0};
    if (tree_load(folder_fd, name, &tree, err) < 0)
        return -1;
    for (size_t i = 0; i < tree.entries.count; i++) {
        const struct entry *entry = &tree.entries.at[i];
        if (entry->content != CONTENT_STORED)
            continue;
        const char *key = (const char *)entry->blob.bytes;
        uint64_t *count = map_get(&pruning->needs, key, sizeof(entry->blob.bytes));
        if (!count) {
            count = arena_new(pruning->arena, uint64_t);
            *map_at(&pruning->needs, arena_copy(pruning->arena, key, sizeof(entry->blob.bytes)),
                    sizeof(entry->blob.bytes)) = count;
        }
        bool was_needed = *count > 0;
        *count += is_less ? (uint64_t)-1 : 1;
        const struct blob *blob = store_find(&pruning->store, &entry->blob);
        if (blob && was_needed != (*count > 0))
            pruning->needed += *count ? blob->size : -blob->size;
    }
    return 0;
}

typedef int visit_entry(struct pruning *pruning, int folder_fd, const char *name, bool is_less,
                        struct err *err);

static int each_entry(struct pruning *pruning, int folder_fd, visit_entry *visit, bool is_less,
                      struct err *err)
{
    DIR *directory = directories_list(folder_fd);
    if (!directory)
        return err_sys(err, errno, "cannot look through the sessions");
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (*entry->d_name != '.')
            result = visit(pruning, folder_fd, entry->d_name, is_less, err);
    }
    closedir(directory);
    return result;
}

static int count_checkpoint(struct pruning *pruning, int folder_fd, const char *name, bool is_less,
                            struct err *err)
{
    return checkpoint_is_tree(name) ? count_tree(pruning, folder_fd, name, is_less, err) : 0;
}

static int count_session(struct pruning *pruning, int folder_fd, bool is_less, struct err *err)
{
    static const char *const names[] = {"start",
                                        "before",
                                        "after",
                                        RECORD_REWRITTEN,
                                        RECORD_DROPPED_BEFORE,
                                        RECORD_DROPPED_AFTER,
                                        RECORD_KEPT_WORKTREE,
                                        RECORD_KEPT_ADMIN};
    for (size_t i = 0; i < array_len(names); i++) {
        if (count_tree(pruning, folder_fd, names[i], is_less, err) < 0)
            return -1;
    }
    auto_fd int checkpoints_fd = checkpoint_open_folder(folder_fd);
    return checkpoints_fd < 0 ? 0 : each_entry(pruning, checkpoints_fd, count_checkpoint, is_less, err);
}

static int open_session(const struct pruning *pruning, const char *name)
{
    return open_directory_at(pruning->request->sessions_fd, name);
}

/* --- what there is ------------------------------------------------------------------------------------------------ */

static int add_session(struct pruning *pruning, int sessions_fd, const char *name, bool is_less,
                       struct err *err)
{
    auto_fd int fd = open_session(pruning, name);
    struct record record;
    struct err ignored;
    if (fd < 0)
        return 0;
    bool is_busy = record_is_busy(sessions_fd, name) || deciding_is_under_way(fd);
    int found = record_load(fd, pruning->arena, &record, &ignored);
    if (found == 0 && !is_busy)
        record_forget(fd); /* a crash left the rest of a session that was being forgotten */
    bool needs_layer = found < 0 || (found > 0 && record.state == STATE_RUNNING);
    if (!needs_layer && !is_busy && kept_aside_is_there(fd) && kept_aside_remove(fd, NULL, &ignored) < 0)
        found = -1; /* it stays, and the next prune tries again */
    struct item item = {.name = arena_str(pruning->arena, name),
                        .is_session = true,
                        .stays = found <= 0 || is_busy || !record_is_over(&record),
                        .used = found > 0 ? record.ended : (struct timespec){0}};
    if (found > 0 && is_busy) {
        char tree[SNAPSHOT_NAME_SIZE];
        snapshot_name(record.workspace, tree);
        *map_at(&pruning->in_use, arena_str(pruning->arena, tree), strlen(tree)) = pruning;
    }
    vec_push(&pruning->items, item);
    return count_session(pruning, fd, is_less, err);
}

static int add_tree(struct pruning *pruning, int trees_fd, const char *name, bool is_less, struct err *err)
{
    (void)err;
    struct stat status;
    if (strlen(name) != SNAPSHOT_NAME_SIZE - 1) {
        unlinkat(trees_fd, name, 0); /* a crash left a temporary file */
        return 0;
    }
    if (fstatat(trees_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    struct item item = {.name = arena_str(pruning->arena, name),
                        .stays = map_get(&pruning->in_use, name, strlen(name)) != NULL,
                        .used = status.st_mtim};
    struct err damage;
    if (count_tree(pruning, trees_fd, name, is_less, &damage) < 0)
        unlinkat(trees_fd, name, 0); /* the next snapshot makes a new one */
    else
        vec_push(&pruning->items, item);
    return 0;
}

/* --- what goes ---------------------------------------------------------------------------------------------------- */

static int older_first(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    return timespec_order(left->used, right->used);
}

static int let_go(struct pruning *pruning, const struct item *item, struct pruned *pruned, struct err *err)
{
    if (!item->is_session) {
        int result = count_tree(pruning, pruning->trees_fd, item->name, true, err);
        unlinkat(pruning->trees_fd, item->name, 0);
        return result;
    }
    auto_fd int fd = open_session(pruning, item->name);
    if (fd < 0)
        return 0;
    if (count_session(pruning, fd, true, err) < 0)
        return -1;
    record_forget(fd);
    vec_push(&pruned->sessions, item->name);
    return 0;
}

/* Removes old items: first those that are too old, then the oldest until the rest is small enough. */
static int let_old_go(struct pruning *pruning, struct pruned *pruned, struct err *err)
{
    const struct prune_request *request = pruning->request;
    if (pruning->items.count)
        qsort(pruning->items.at, pruning->items.count, sizeof(*pruning->items.at), older_first);
    for (size_t i = 0; i < pruning->items.count; i++) {
        const struct item *item = &pruning->items.at[i];
        bool goes = item->used.tv_sec < request->oldest_seconds || pruning->needed > request->most_bytes;
        if (goes && !item->stays && let_go(pruning, item, pruned, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_needed(void *context, const struct blob_id *id)
{
    const struct pruning *pruning = context;
    const uint64_t *count = map_get(&pruning->needs, (const char *)id->bytes, sizeof(id->bytes));
    return count && *count;
}

static int prune_all(struct pruning *pruning, struct pruned *pruned, struct err *err)
{
    int sessions_fd = pruning->request->sessions_fd;
    if (each_entry(pruning, sessions_fd, add_session, false, err) < 0 ||
        each_entry(pruning, pruning->trees_fd, add_tree, false, err) < 0 ||
        let_old_go(pruning, pruned, err) < 0)
        return -1;
    pruned->left = pruning->needed;
    return store_prune(&pruning->store, is_needed, pruning, pruning->request->is_thorough, &pruned->bytes,
                       err);
}

int prune(const struct prune_request *request, struct arena *arena, struct pruned *ret_pruned,
          struct err *err)
{
    *ret_pruned = (struct pruned){0};
    struct pruning pruning = {.request = request, .arena = arena, .store = STORE_NONE, .trees_fd = -1};
    int result = store_open(request->store, &pruning.store, err);
    pruning.store.progress = request->progress;
    /*
     * Two locks are needed. A process that adds contents holds the store's lock until a tree that names them is
     * saved. A snapshot that only takes contents over from an earlier tree adds nothing; it holds a shared lock on
     * the folder of trees.
     */
    if (result == 0 && (pruning.trees_fd = snapshot_open_trees(&pruning.store, err)) < 0)
        result = -1;
    if (result == 0 && flock(pruning.trees_fd, LOCK_EX | LOCK_NB) < 0) {
        err_sys(err, EBUSY, "nothing was pruned, because a snapshot is being taken");
        result = err_hint(err, "try again when that is done");
    }
    if (result == 0 && (result = store_lock(&pruning.store, err)) == 0)
        result = prune_all(&pruning, ret_pruned, err);
    if (pruning.trees_fd >= 0)
        close(pruning.trees_fd);
    store_close(&pruning.store);
    map_free(&pruning.needs);
    map_free(&pruning.in_use);
    vec_free(&pruning.items);
    return result;
}

void pruned_free(struct pruned *pruned)
{
    vec_free(&pruned->sessions);
}
