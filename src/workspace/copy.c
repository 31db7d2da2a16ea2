#include "workspace/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "workspace/layers.h"
#include "workspace/record.h"
#include "workspace/replace.h"
#include "workspace/snapshot.h"

#define COPY   "copy"
#define START  "copy-start"
#define HIDDEN "copy-hidden"

enum { HIDDEN_LARGEST = 64 * 1024 * 1024 };

struct work {
    const struct upper_request *request;
    uint64_t most_bytes;
    struct progress *progress;
    int folder_fd;
};

static int open_copy(int folder_fd)
{
    return open_directory_at(folder_fd, COPY);
}

bool copy_is_there(int folder_fd)
{
    struct stat status;
    return fstatat(folder_fd, COPY, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* START is saved last. */
bool copy_is_whole(int folder_fd)
{
    struct stat status;
    return fstatat(folder_fd, START, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static const char *path_to_copy(struct arena *arena, const struct upper_request *request)
{
    return *request->prefix ? path_join(arena, request->workspace, request->prefix) : request->workspace;
}

/* --- what is hidden ----------------------------------------------------------------------------------------------- */

/* Takes everything out of the tree for which `hides` is true. A path comes after the directories above it. */
static void leave_out(struct tree *tree, const struct upper_request *request, struct buf *hidden)
{
    size_t count = 0, last = SIZE_MAX;
    if (!request->hides)
        return;
    for (size_t i = 0; i < tree->entries.count; i++) {
        const char *path = tree->entries.at[i].path;
        if (last != SIZE_MAX && path_is_beneath(path, hidden->bytes + last))
            continue;
        if (!request->hides(request->context, path)) {
            tree->entries.at[count++] = tree->entries.at[i];
            continue;
        }
        last = hidden->size;
        buf_add(hidden, path, strlen(path) + 1);
    }
    tree->entries.count = count;
}

static int save_hidden(int folder_fd, const struct buf *hidden, struct err *err)
{
    if (!hidden->size)
        return 0;
    auto_fd int fd = openat(folder_fd, HIDDEN, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 || write_whole(fd, hidden->bytes, hidden->size) < 0
               ? err_sys(err, errno, "cannot record which paths are hidden")
               : 0;
}

static int load_hidden(int folder_fd, struct buf *ret_hidden, struct err *err)
{
    auto_fd int fd = openat(folder_fd, HIDDEN, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    return fd < 0 || buf_read(ret_hidden, fd, HIDDEN_LARGEST) < 0
               ? err_sys(err, errno, "cannot read which paths were hidden")
               : 0;
}

static bool was_hidden(void *context, const char *path)
{
    const struct buf *hidden = context;
    for (size_t at = 0; at < hidden->size; at += strlen(hidden->bytes + at) + 1) {
        if (path_is_beneath(path, hidden->bytes + at))
            return true;
    }
    return false;
}

/* --- making it ---------------------------------------------------------------------------------------------------- */

/* Has the file gone since it was listed, or become another? git's locks come and go. */
static bool has_changed(int top_fd, const struct entry *entry)
{
    struct stat now;
    auto_fd int fd = open_beneath(top_fd, entry->path, O_PATH | O_NOFOLLOW, 0);
    return fd < 0 ? errno == ENOENT
                  : fstat(fd, &now) == 0 &&
                        (now.st_ino != entry->inode || now.st_ctim.tv_sec != entry->changed.tv_sec ||
                         now.st_ctim.tv_nsec != entry->changed.tv_nsec);
}

/* Insists on every content. Returns 1 if one is missing because the file has changed: the next look will find it, or no file. */
static int refuse_incomplete(const char *workspace, const struct tree *tree, struct err *err)
{
    auto_fd int top_fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool has_changes = false;
    for (size_t i = 0; i < tree->entries.count; i++) {
        const struct entry *entry = &tree->entries.at[i];
        bool is_left = S_ISREG(entry->mode) && entry->content != CONTENT_STORED;
        if (!is_left && !tree_is_skipped(entry))
            continue;
        if (!is_left || !has_changed(top_fd, entry))
            return err_set(err, "%s cannot be read, or is too large for `limit snapshot`", entry->path);
        has_changes = true;
    }
    return has_changes;
}

/* Makes all files in the same way as an undo does. */
static int fill(struct work *work, struct arena *arena, int copy_fd, const struct tree *tree, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    struct tree nothing = {0};
    struct replaced replaced = {0};
    if (store_open(work->request->directory, &store, err) < 0)
        return -1;
    struct replacement replacement = {.top_fd = copy_fd,
                                      .store = &store,
                                      .arena = arena,
                                      .from = &nothing,
                                      .to = tree,
                                      .mark = COPY,
                                      .progress = work->progress};
    int result = replace_files(&replacement, &replaced, err);
    if (result == 0 && replaced.left_alone.count)
        result = err_set(err, "%s cannot be copied: %s", replaced.left_alone.at[0].path,
                         replaced.left_alone.at[0].why);
    vec_free(&replaced.left_alone);
    return result;
}

/* The contents of the copy are known; only its inodes and times are new. */
static int note_start(int folder_fd, int copy_fd, const struct tree *tree, struct err *err)
{
    auto_scan struct scan scan = {0};
    struct scan_request all = {0};
    if (scan_tree(copy_fd, &all, &scan, err) < 0)
        return -1;
    for (size_t i = 0; i < scan.tree.entries.count; i++) {
        struct entry *entry = &scan.tree.entries.at[i];
        const struct entry *from = tree_find(tree, entry->path);
        if (!from)
            return err_set(err, "%s differs from what was copied", entry->path);
        entry->content = from->content;
        entry->blob = from->blob;
        entry->attributes = from->attributes;
        entry->attributes_size = from->attributes_size;
    }
    return tree_save(&scan.tree, folder_fd, START, err);
}

static int take_whole(const struct upper_request *request, const struct snapshot_request *snapshot,
                      struct tree *tree, struct buf *hidden, struct err *err)
{
    enum { TRIES = 8 };
    int result = 1;
    for (int i = 0; i < TRIES && result > 0; i++) {
        tree_free(tree);
        *tree = (struct tree){0};
        hidden->size = 0;
        if (snapshot_take(snapshot, tree, err) < 0)
            return -1;
        leave_out(tree, request, hidden);
        result = refuse_incomplete(snapshot->workspace, tree, err);
    }
    return result > 0 ? err_set(err, "files in %s change faster than they can be read", snapshot->workspace)
                      : result;
}

static int make_inside(void *context, struct err *err)
{
    struct work *work = context;
    const struct upper_request *request = work->request;
    struct arena arena = {0};
    auto_tree struct tree tree = {0};
    struct stat top = {0};
    struct snapshot_request snapshot = {.directory = request->directory,
                                        .workspace = path_to_copy(&arena, request),
                                        .most_bytes = work->most_bytes,
                                        .folder_fd = request->folder_fd,
                                        .progress = request->progress};
    auto_buf struct buf hidden = {0};
    int result = take_whole(request, &snapshot, &tree, &hidden, err);
    if (result == 0)
        result = save_hidden(request->folder_fd, &hidden, err);
    auto_fd int copy_fd = -1;
    if (result == 0 && (mkdirat(request->folder_fd, COPY, 0700) < 0 ||
                        (copy_fd = open_copy(request->folder_fd)) < 0 || stat(snapshot.workspace, &top) < 0))
        result = err_sys(err, errno, "cannot make a copy of %s", snapshot.workspace);
    if (result == 0 && fill(work, &arena, copy_fd, &tree, err) < 0)
        result = -1;
    if (result == 0 && fchmod(copy_fd, top.st_mode & 0777) < 0)
        result = err_sys(err, errno, "cannot make a copy of %s", snapshot.workspace);
    if (result == 0)
        result = note_start(request->folder_fd, copy_fd, &tree, err);
    arena_free(&arena);
    return result;
}

static int remove_inside(void *context, struct err *err)
{
    const struct work *work = context;
    return remove_tree_telling(work->folder_fd, COPY, work->progress, err);
}

static int copy_remove(int folder_fd, struct progress *progress, struct err *err)
{
    struct work work = {.folder_fd = folder_fd, .progress = progress};
    if (process_as_owner(remove_inside, &work, err) < 0)
        return -1;
    unlinkat(folder_fd, START, 0);
    unlinkat(folder_fd, HIDDEN, 0);
    snapshot_forget_start(folder_fd);
    return 0;
}

int copy_make(const struct upper_request *request, uint64_t most_bytes, struct copy_size *ret_size,
              struct err *err)
{
    struct work work = {request, most_bytes, request->progress, request->folder_fd};
    auto_tree struct tree start = {0};
    if (process_as_owner(make_inside, &work, err) < 0 ||
        tree_load(request->folder_fd, START, &start, err) <= 0) {
        struct err ignored;
        if (copy_remove(request->folder_fd, NULL, &ignored) < 0)
            return -1;
        return -1;
    }
    *ret_size = (struct copy_size){.files = start.entries.count};
    for (size_t i = 0; i < start.entries.count; i++)
        ret_size->bytes += start.entries.at[i].size;
    return 0;
}

/* The time of the parent directory stays the same, so that this is no change. */
static int make_place(int parent_fd, const char *name, bool is_directory, const char *text)
{
    struct stat parent;
    if (fstat(parent_fd, &parent) < 0)
        return -1;
    auto_fd int fd =
        is_directory ? -1
                     : openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (is_directory ? mkdirat(parent_fd, name, 0700) < 0 : fd < 0 || write_whole(fd, text, strlen(text)) < 0)
        return -1;
    struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, parent.st_mtim};
    return futimens(parent_fd, times);
}

int copy_add_place(int folder_fd, const char *path, bool is_directory, const char *text, struct err *err)
{
    struct arena arena = {0};
    struct entry entry;
    revision_list revisions = {0};
    const char *name;
    auto_fd int copy_fd = open_copy(folder_fd);
    int found = copy_fd < 0 ? -1 : scan_entry(copy_fd, path, &arena, &entry, err),
        result = found < 0 ? -1 : 0;
    if (found == 0) {
        auto_fd int around = open_parent_beneath(copy_fd, path, &name);
        auto_fd int parent_fd = around < 0 ? -1 : open_directory_at(around, ".");
        if (parent_fd < 0 || make_place(parent_fd, name, is_directory, text) < 0 ||
            scan_entry(copy_fd, path, &arena, &entry, err) <= 0)
            result = err_sys(err, errno, "cannot make a place for %s in the copy", path);
    }
    if (found == 0 && result == 0) {
        vec_push(&revisions, (struct revision){path, &entry});
        result = tree_revise(folder_fd, START, &revisions, err);
    }
    vec_free(&revisions);
    arena_free(&arena);
    return result;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static int read_inside(void *context, struct err *err)
{
    const struct work *work = context;
    const struct upper_request *request = work->request;
    auto_tree struct tree start = {0}, copied = {0};
    auto_scan struct scan scan = {0};
    auto_store struct store store = STORE_NONE;
    auto_buf struct buf hidden = {0}, left_out = {0};
    auto_fd int copy_fd = open_copy(request->folder_fd);
    struct scan_request all = {.before = &copied, .progress = request->progress};
    if (copy_fd < 0)
        return err_sys(err, errno, "cannot read what the session wrote");
    if (load_hidden(request->folder_fd, &hidden, err) < 0 ||
        snapshot_load_start(request->folder_fd, &start, err) < 0 ||
        tree_load(request->folder_fd, START, &copied, err) < 0 ||
        store_open(request->directory, &store, err) < 0 || scan_tree(copy_fd, &all, &scan, err) < 0 ||
        snapshot_contents(&store, copy_fd, &all, &scan, UINT64_MAX, err) < 0)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < scan.tree.entries.count; i++) {
        struct entry *entry = &scan.tree.entries.at[i];
        const struct entry *lower = tree_find(&start, entry->path);
        if (lower || !tree_find(&copied, entry->path))
            scan.tree.entries.at[count++] = upper_made_harmless(*entry, lower);
    }
    scan.tree.entries.count = count;
    const struct upper_request shown = {.hides = was_hidden, .context = &hidden};
    leave_out(&start, &shown, &left_out);
    leave_out(&scan.tree, &shown, &left_out);
    tree_add_prefix(&scan.tree.arena, request->prefix, &start);
    tree_add_prefix(&scan.tree.arena, request->prefix, &scan.tree);
    return record_save_changes(request->folder_fd, &start, &scan.tree, err);
}

int copy_read(const struct upper_request *request, struct err *err)
{
    struct work work = {.request = request};
    return process_as_owner(read_inside, &work, err);
}

/* --- whatever is kept aside ---------------------------------------------------------------------------------------- */

bool kept_aside_is_there(int folder_fd)
{
    static const char *const names[] = {COPY, "upper", "work", LAYERS_ELSEWHERE};
    struct stat status;
    for (size_t i = 0; i < array_len(names); i++) {
        if (fstatat(folder_fd, names[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

int kept_aside_remove(int folder_fd, struct progress *progress, struct err *err)
{
    if (copy_is_there(folder_fd) && copy_remove(folder_fd, progress, err) < 0)
        return -1;
    return upper_remove(folder_fd, progress, err);
}
