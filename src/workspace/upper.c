#include "workspace/upper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "workspace/compare.h"
#include "workspace/layers.h"
#include "workspace/record.h"
#include "workspace/scan.h"
#include "workspace/snapshot.h"

/* cppcheck-suppress unusedStructMember; vec_push uses it */
typedef VEC(struct scan) scan_list;

struct reading {
    struct store store;
    int upper_fd, lower_fd;
    struct arena arena; /* of the entries from the lower tree */
    scan_list scans;    /* of removed lower trees; `from` borrows their entries */
    struct tree from, to;
    struct progress *progress;
    const char *covered; /* a directory whose whole lower tree is in `from` already */
};

/* A whiteout is overlayfs's mark for a removed file. */
static bool is_whiteout(const struct entry *entry)
{
    return S_ISCHR(entry->mode) && entry->size == 0;
}

/* Does the directory hide the whole lower one? Returns 1, 0, or -1 with *err filled. */
static int is_opaque(const struct reading *reading, const char *path, struct err *err)
{
    char value;
    auto_fd int fd = open_beneath(reading->upper_fd, path, O_RDONLY | O_DIRECTORY, 0);
    ssize_t size = fd < 0 ? -1 : fgetxattr(fd, "user.overlay.opaque", &value, 1);
    if (fd < 0 || (size < 0 && errno_is_of_machine(errno)))
        return err_sys(err, errno, "cannot read what the session wrote: %s", path);
    return size == 1 && value == 'y';
}

/* The layer is removed after it was read. So an incomplete read fails, and the next bawn command reads the layer again. */
static int check_whole(const struct tree *tree, struct err *err)
{
    for (size_t i = 0; i < tree->entries.count; i++) {
        if (tree->entries.at[i].content == CONTENT_LEFT_OUT)
            return err_set(err, "cannot read what the session wrote: %s", tree->entries.at[i].path);
    }
    return 0;
}

static bool is_covered(const struct reading *reading, const char *path)
{
    size_t size = reading->covered ? strlen(reading->covered) : 0;
    return size && strncmp(path, reading->covered, size) == 0 && path[size] == '/';
}

/* Adds the whole lower tree of a directory that was removed or replaced. */
static int add_lower_tree(struct reading *reading, const char *path, struct err *err)
{
    auto_fd int fd = open_beneath(reading->lower_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_sys(err, errno, "cannot look into %s", path);
    struct scan_request request = {.progress = reading->progress};
    struct scan scan = {0};
    if (scan_tree(fd, &request, &scan, err) < 0)
        return -1;
    vec_push(&reading->scans, scan);
    struct scan *last = &reading->scans.at[reading->scans.count - 1];
    if (snapshot_contents(&reading->store, fd, &request, last, UINT64_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < last->tree.entries.count; i++) {
        struct entry entry = last->tree.entries.at[i];
        entry.path = arena_printf(&reading->arena, "%s/%s", path, entry.path);
        if (*entry.linked_to)
            entry.linked_to = arena_printf(&reading->arena, "%s/%s", path, entry.linked_to);
        vec_push(&reading->from.entries, entry);
    }
    reading->covered = path;
    return 0;
}

/* Adds what the workspace has at a path of the upper layer. Returns 1, or 0 if it has nothing. */
static int add_lower(struct reading *reading, const struct entry *upper, struct entry *ret_lower,
                     struct err *err)
{
    bool was_denied = false;
    int found = scan_entry(reading->lower_fd, upper->path, &reading->arena, ret_lower, err);
    if (found <= 0)
        return found;
    if (S_ISREG(ret_lower->mode) &&
        snapshot_one(&reading->store, reading->lower_fd, &reading->arena, ret_lower, &was_denied, err) < 0)
        return -1;
    if (S_ISDIR(ret_lower->mode)) {
        auto_fd int fd = open_beneath(reading->lower_fd, upper->path, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0)
            scan_attributes(fd, &reading->arena, ret_lower);
    }
    vec_push(&reading->from.entries, *ret_lower);
    return 1;
}

struct entry upper_made_harmless(struct entry entry, const struct entry *lower)
{
    entry.uid = lower ? lower->uid : geteuid();
    entry.gid = lower ? lower->gid : getegid();
    entry.mode &= ~entry_new_ids(lower, &entry);
    return entry;
}

static int read_one(struct reading *reading, const struct entry *upper, struct err *err)
{
    struct entry lower;
    int found = is_covered(reading, upper->path) ? 0 : add_lower(reading, upper, &lower, err);
    if (found < 0)
        return -1;
    int lower_goes = found && S_ISDIR(lower.mode);
    if (lower_goes && S_ISDIR(upper->mode))
        lower_goes = is_opaque(reading, upper->path, err);
    if (lower_goes < 0)
        return -1;
    if (lower_goes && add_lower_tree(reading, upper->path, err) < 0)
        return -1;
    if (!is_whiteout(upper))
        vec_push(&reading->to.entries, upper_made_harmless(*upper, found ? &lower : NULL));
    return 0;
}

static int read_all(struct reading *reading, const struct upper_request *request, struct err *err)
{
    auto_fd int layers_fd = layers_open(request->folder_fd);
    reading->progress = request->progress;
    reading->upper_fd = layers_fd < 0 ? -1 : open_directory_at(layers_fd, "upper");
    auto_fd int top_fd = workspace_open(request->workspace, err);
    if (top_fd < 0)
        return -1;
    reading->lower_fd = open_beneath(top_fd, request->prefix, O_RDONLY | O_DIRECTORY, 0);
    if (reading->upper_fd < 0 || reading->lower_fd < 0)
        return err_sys(err, errno, "cannot read what the session wrote");
    auto_scan struct scan scan = {0};
    struct scan_request all = {.progress = request->progress};
    if (store_open(request->directory, &reading->store, err) < 0 ||
        scan_tree(reading->upper_fd, &all, &scan, err) < 0 ||
        snapshot_contents(&reading->store, reading->upper_fd, &all, &scan, UINT64_MAX, err) < 0 ||
        check_whole(&scan.tree, err) < 0)
        return -1;
    for (size_t i = 0; i < scan.tree.entries.count; i++) {
        progress_tell(request->progress, i, scan.tree.entries.count);
        if (read_one(reading, &scan.tree.entries.at[i], err) < 0)
            return -1;
    }
    reading->from.taken = request->began;
    reading->to.taken = scan.tree.taken;
    if (store_flush(&reading->store, err) < 0)
        return -1;
    tree_add_prefix(&reading->arena, request->prefix, &reading->from);
    tree_add_prefix(&reading->arena, request->prefix, &reading->to);
    return record_save_changes(request->folder_fd, &reading->from, &reading->to, err);
}

static int read_inside(void *context, struct err *err)
{
    struct reading reading = {.store = STORE_NONE, .upper_fd = -1, .lower_fd = -1};
    int result = read_all(&reading, context, err);
    if (reading.upper_fd >= 0)
        close(reading.upper_fd);
    if (reading.lower_fd >= 0)
        close(reading.lower_fd);
    for (size_t i = 0; i < reading.scans.count; i++)
        scan_free(&reading.scans.at[i]);
    vec_free(&reading.scans);
    tree_free(&reading.from);
    tree_free(&reading.to);
    arena_free(&reading.arena);
    store_close(&reading.store);
    return result;
}

bool upper_is_untouched(int folder_fd)
{
    auto_fd int layers_fd = layers_open(folder_fd);
    return layers_fd >= 0 && directories_is_empty(layers_fd, "upper");
}

int upper_read(const struct upper_request *request, struct err *err)
{
    struct upper_request copy = *request;
    return process_as_owner(read_inside, &copy, err);
}

struct removing {
    int folder_fd;
    struct progress *progress;
};

static int remove_inside(void *context, struct err *err)
{
    const struct removing *removing = context;
    auto_fd int layers_fd = layers_open(removing->folder_fd);
    if (layers_fd >= 0 && (remove_tree_telling(layers_fd, "upper", removing->progress, err) < 0 ||
                           remove_tree(layers_fd, "work", err) < 0))
        return -1;
    layers_forget(removing->folder_fd);
    return 0;
}

int upper_remove(int folder_fd, struct progress *progress, struct err *err)
{
    struct removing removing = {folder_fd, progress};
    if (process_is_real_root())
        return remove_inside(&removing, err);
    /* Without a namespace this is faster. It fails if the user may not open a directory. */
    struct err ignored;
    return remove_inside(&removing, &ignored) == 0 ? 0
                                                   : process_in_own_namespace(remove_inside, &removing, err);
}
