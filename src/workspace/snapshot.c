#include "workspace/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "workspace/compare.h"
#include "workspace/scan.h"

static struct timespec deadline_in(uint64_t milliseconds)
{
    struct timespec now = {0};
    if (milliseconds) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        now.tv_sec += (time_t)(milliseconds / 1000);
    }
    return now;
}

int snapshot_open_trees(const struct store *store, struct err *err)
{
    int fd = open_directory_at(store->folder_fd, "trees");
    if (fd < 0 && errno == ENOENT && (mkdirat(store->folder_fd, "trees", 0700) == 0 || errno == EEXIST))
        fd = open_directory_at(store->folder_fd, "trees");
    return fd < 0 ? err_sys(err, errno, "cannot open the folder of snapshots") : fd;
}

int snapshot_hold_trees(const struct store *store, struct err *err)
{
    auto_fd int fd = snapshot_open_trees(store, err);
    if (fd < 0)
        return -1;
    return flock(fd, LOCK_SH) < 0 ? err_sys(err, errno, "cannot lock the folder of snapshots") : fd_take(&fd);
}

void snapshot_name(const char *workspace, char ret_name[SNAPSHOT_NAME_SIZE])
{
    struct blake2b hash;
    unsigned char digest[BLAKE2B_SIZE];
    blake2b_begin(&hash);
    blake2b_add(&hash, workspace, strlen(workspace));
    blake2b_end(&hash, digest);
    text_hex(digest, sizeof(digest), ret_name);
}

/* --- the start of a session --------------------------------------------------------------------------------------- */

static const char start_name[] = "start", times_name[] = "start-times";

enum { MOST_RETIMED = 256 };

/* Does the cache stand for the tree, but for some directories' times? */
static bool is_cached(const struct tree *before, const struct scan *scan)
{
    if (!before || scan->differing || scan->retimed.count > MOST_RETIMED)
        return false;
    for (size_t i = 0; i < scan->retimed.count; i++) {
        const char *path = scan->retimed.at[i];
        const struct entry *was = tree_find(before, path), *now = tree_find(&scan->tree, path);
        if (!was || !now || (entries_differ(was, now) & ~(unsigned)CHANGE_TIME))
            return false;
    }
    return true;
}

static int save_times(int folder_fd, const struct scan *scan, struct err *err)
{
    auto_tree struct tree retimed = {.taken = scan->tree.taken};
    if (!scan->retimed.count)
        return 0;
    for (size_t i = 0; i < scan->retimed.count; i++) {
        const struct entry *entry = tree_find(&scan->tree, scan->retimed.at[i]);
        if (entry)
            vec_push(&retimed.entries, *entry);
    }
    return tree_save(&retimed, folder_fd, times_name, err);
}

/* The cache stands for the tree. The session's copy of it is a hard link, if possible. */
static int save_as_cached(int folder_fd, int trees_fd, const char *name, const struct scan *scan,
                          struct err *err)
{
    if (folder_fd < 0)
        return 0;
    snapshot_forget_start(folder_fd);
    /* The times first: without them the start would be taken for an earlier one. */
    if (save_times(folder_fd, scan, err) < 0)
        return -1;
    if (linkat(trees_fd, name, folder_fd, start_name, 0) == 0)
        return 0;
    return tree_save(&scan->tree, folder_fd, start_name, err);
}

static void save_cache(int trees_fd, const char *name, const struct tree *tree)
{
    struct err ignored;
    if (tree_save(tree, trees_fd, name, &ignored) < 0)
        return; /* another run took its file away, or the disk is full: the next snapshot takes longer */
}

/*
 * The session's copy is written, in its own folder, and the cache is a hard link of it: runs of one workspace
 * may begin at the same time, and each has its own start, whichever becomes the cache.
 *
 * The old cache is removed first and not replaced: file systems may write a replacing file to the disk at
 * once, and its removal would wait for that. If the cache is lost in between, the next snapshot makes it
 * again.
 */
static int save_new(int folder_fd, int trees_fd, const char *name, const struct tree *tree, struct err *err)
{
    unlinkat(trees_fd, name, 0);
    if (folder_fd >= 0) {
        snapshot_forget_start(folder_fd);
        if (tree_save(tree, folder_fd, start_name, err) < 0)
            return -1;
        if (linkat(folder_fd, start_name, trees_fd, name, 0) == 0 || errno == EEXIST)
            return 0;
    }
    save_cache(trees_fd, name, tree);
    return 0;
}

int snapshot_load_start(int folder_fd, struct tree *ret_tree, struct err *err)
{
    auto_tree struct tree retimed = {0};
    int found = tree_load(folder_fd, start_name, ret_tree, err);
    if (found <= 0)
        return found;
    int has_times = tree_load(folder_fd, times_name, &retimed, err);
    if (has_times < 0) {
        tree_free(ret_tree);
        return -1;
    }
    if (has_times)
        ret_tree->taken = retimed.taken;
    vec_each (const struct entry, entry, &retimed.entries) {
        const struct entry *was = tree_find(ret_tree, entry->path);
        if (!was)
            continue;
        struct entry *changed = &ret_tree->entries.at[was - ret_tree->entries.at];
        changed->modified = entry->modified;
        changed->changed = entry->changed;
        changed->is_whole = false;
    }
    return 1;
}

void snapshot_forget_start(int folder_fd)
{
    unlinkat(folder_fd, start_name, 0);
    unlinkat(folder_fd, times_name, 0);
}

/* --- taking one --------------------------------------------------------------------------------------------------- */

/*
 * If the tree has become too large, the end of a run still looks at the files of its start. A command that fills a
 * tree must not prevent its owner from restoring those files.
 */
static int look(struct store *store, int top_fd, const struct scan_request *how, uint64_t most_bytes,
                struct scan *scan, struct err *err)
{
    if (scan_tree(top_fd, how, scan, err) == 0 &&
        snapshot_contents(store, top_fd, how, scan, most_bytes, err) == 0)
        return 0;
    if (!how->start || (err->errnum != E2BIG && err->errnum != ETIME))
        return -1;
    struct scan_request known = *how;
    known.deadline = (struct timespec){0};
    scan_free(scan);
    return scan_known(top_fd, &known, scan, err) < 0
               ? -1
               : snapshot_contents(store, top_fd, &known, scan, most_bytes, err);
}

/* The directory around a path has a name without an entry. */
static void drop_wholeness(struct tree *tree, const char *path)
{
    struct arena arena = {0};
    const char *slash = strrchr(path, '/');
    const struct entry *around =
        slash ? tree_find(tree, arena_copy(&arena, path, (size_t)(slash - path))) : NULL;
    if (around)
        tree->entries.at[around - tree->entries.at].is_whole = false;
    arena_free(&arena);
}

/* Drops the entry of a file of bawn's own. A directory into which somebody has put something stays. */
static void drop_own(struct tree *tree, const char *workspace, const struct own_file *file)
{
    if (!path_is_beneath(file->path, workspace) || strcmp(file->path, workspace) == 0)
        return;
    const struct entry *entry = tree_find(tree, file->path + strlen(workspace) + (workspace[1] != '\0'));
    if (!entry || (file->inode && (entry->inode != file->inode || entry->device != file->device)))
        return;
    size_t at = (size_t)(entry - tree->entries.at), rest = tree->entries.count - at - 1;
    if (rest && path_is_inside(entry[1].path, entry->path))
        return;
    drop_wholeness(tree, entry->path);
    memmove(&tree->entries.at[at], &tree->entries.at[at + 1], rest * sizeof(*entry));
    tree->entries.count--;
}

/* As look(), without bawn's own files. */
static int look_for_others(const struct snapshot_request *request, struct store *store, int top_fd,
                           const struct scan_request *how, struct scan *scan, struct err *err)
{
    own_file_list files = {0};
    if (request->add_own_files)
        request->add_own_files(request->context, &files);
    int result = look(store, top_fd, how, request->most_bytes, scan, err);
    if (result == 0 && request->add_own_files) {
        request->add_own_files(request->context, &files);
        vec_each (const struct own_file, file, &files)
            drop_own(&scan->tree, request->workspace, file);
    }
    vec_free(&files);
    return result;
}

/* Returns 1 if something could not be read because of its permissions. */
static int take(const struct snapshot_request *request, struct tree *ret_tree, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    auto_fd int top_fd = workspace_open(request->workspace, err);
    if (top_fd < 0 || store_open(request->directory, &store, err) < 0)
        return -1;
    /* This snapshot takes contents over from an earlier one. */
    auto_fd int trees_fd = snapshot_hold_trees(&store, err);
    if (trees_fd < 0)
        return -1;
    char name[SNAPSHOT_NAME_SIZE];
    snapshot_name(request->workspace, name);
    auto_tree struct tree cached = {0};
    struct err ignored; /* a damaged cache is not used */
    /* Only trees from before the run. During the run the command may write through a mapping without a change of times. */
    const struct tree *before = request->start;
    if (!before && tree_load(trees_fd, name, &cached, &ignored) == 1)
        before = &cached;
    auto_scan struct scan scan = {0};
    struct scan_request how = {.before = before,
                               .start = request->start,
                               .skips = request->skips,
                               .most_entries = request->most_entries,
                               .deadline = deadline_in(request->most_milliseconds),
                               .progress = request->progress,
                               .trusts_objects = !request->start};
    if (look_for_others(request, &store, top_fd, &how, &scan, err) < 0)
        return -1;
    if ((is_cached(before, &scan) ? save_as_cached(request->folder_fd, trees_fd, name, &scan, err)
                                  : save_new(request->folder_fd, trees_fd, name, &scan.tree, err)) < 0)
        return -1;
    scan.tree.mapped = cached.mapped; /* its strings are borrowed */
    scan.tree.mapped_size = cached.mapped_size;
    cached.mapped = NULL;
    *ret_tree = scan.tree;
    scan.tree = (struct tree){0};
    return scan.was_denied;
}

struct retry {
    const struct snapshot_request *request;
    struct tree *tree;
};

static int take_again(void *context, struct err *err)
{
    struct retry *retry = context;
    return take(retry->request, retry->tree, err) < 0 ? -1 : 0;
}

/* Loads the snapshot that the child in the user namespace has taken and saved as the cache. */
static int load_cached(const struct snapshot_request *request, struct tree *ret_tree, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    if (store_open(request->directory, &store, err) < 0)
        return -1;
    auto_fd int trees_fd = snapshot_open_trees(&store, err);
    char name[SNAPSHOT_NAME_SIZE];
    snapshot_name(request->workspace, name);
    return trees_fd < 0 ? -1 : tree_load(trees_fd, name, ret_tree, err);
}

int snapshot_take(const struct snapshot_request *request, struct tree *ret_tree, struct err *err)
{
    int result = take(request, ret_tree, err);
    if (result <= 0 || process_is_real_root())
        return result < 0 ? -1 : 0;
    /* In a user namespace of its own a user can read all own files, whatever their modes. */
    auto_tree struct tree again = {0}, ignored_tree = {0};
    struct retry retry = {request, &ignored_tree};
    struct err ignored;
    if (process_in_own_namespace(take_again, &retry, &ignored) == 0 &&
        load_cached(request, &again, &ignored) == 1) {
        for (size_t i = 0; i < ret_tree->sockets.count; i++)
            vec_push(&again.sockets, arena_str(&again.arena, ret_tree->sockets.at[i]));
        again.is_partial = ret_tree->is_partial;
        tree_free(ret_tree);
        *ret_tree = again;
        again = (struct tree){0};
    }
    return 0;
}
