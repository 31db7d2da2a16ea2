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
#include "workspace/attributes.h"
#include "workspace/compare.h"
#include "workspace/layers.h"
#include "workspace/record.h"
#include "workspace/scan.h"
#include "workspace/snapshot.h"

/* Both trees are written entry by entry: what a session wrote may be larger than memory. */
struct reading {
    const struct upper_request *request;
    struct store store;
    int upper_fd, lower_fd;
    struct arena arena; /* of the current entry from the lower tree */
    struct tree_writer before, after;
    struct buf covered; /* a directory whose whole lower tree is in `before` already */
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

static bool is_covered(const struct reading *reading, const char *path)
{
    size_t size = reading->covered.size;
    return size && strncmp(path, reading->covered.bytes, size) == 0 && path[size] == '/';
}

static int put(struct reading *reading, struct tree_writer *writer, struct entry entry, struct err *err)
{
    const char *prefix = reading->request->prefix;
    if (*prefix)
        entry.path = arena_printf(&reading->arena, "%s/%s", prefix, entry.path);
    if (*prefix && *entry.linked_to)
        entry.linked_to = arena_printf(&reading->arena, "%s/%s", prefix, entry.linked_to);
    return tree_writer_add(writer, &entry, err);
}

static int put_lower(void *context, const struct entry *entry, struct err *err)
{
    struct reading *reading = context;
    arena_free(&reading->arena);
    return put(reading, &reading->before, *entry, err);
}

/* Adds the whole lower tree of a directory that was removed or replaced. */
static int add_lower_tree(struct reading *reading, const char *path, struct err *err)
{
    reading->covered.size = 0;
    buf_add_str(&reading->covered, path);
    const struct stream_request request = {.top_fd = reading->lower_fd,
                                           .start = buf_text(&reading->covered),
                                           .store = &reading->store,
                                           .visit = put_lower,
                                           .context = reading,
                                           .progress = reading->request->progress};
    return stream_tree(&request, err);
}

/* Reads what the workspace has at a path of the upper layer. Returns 1, or 0 if it has nothing. */
static int read_lower(struct reading *reading, const char *path, struct entry *ret_lower, struct err *err)
{
    bool was_denied = false;
    int found = scan_entry(reading->lower_fd, path, &reading->arena, ret_lower, err);
    if (found <= 0)
        return found;
    if (S_ISREG(ret_lower->mode) &&
        snapshot_one(&reading->store, reading->lower_fd, &reading->arena, ret_lower, &was_denied, err) < 0)
        return -1;
    if (S_ISDIR(ret_lower->mode)) {
        auto_fd int fd = open_beneath(reading->lower_fd, path, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0)
            attributes_read(fd, &reading->arena, ret_lower);
    }
    return 1;
}

struct entry upper_made_harmless(struct entry entry, const struct entry *lower)
{
    entry.uid = lower ? lower->uid : geteuid();
    entry.gid = lower ? lower->gid : getegid();
    entry.mode &= ~entry_new_ids(lower, &entry);
    return entry;
}

/* Writes the change of one path. A file that is the same in both trees is no change. */
static int put_change(struct reading *reading, const struct entry *lower, const struct entry *upper,
                      struct err *err)
{
    bool is_removed = is_whiteout(upper);
    struct entry after = upper_made_harmless(*upper, lower);
    if (lower && !is_removed && entries_differ(lower, &after) == 0)
        return 0;
    if (lower && put(reading, &reading->before, *lower, err) < 0)
        return -1;
    return is_removed ? 0 : put(reading, &reading->after, after, err);
}

static int read_one(void *context, const struct entry *upper, struct err *err)
{
    struct reading *reading = context;
    struct entry lower;
    arena_free(&reading->arena);
    /* The layer is removed after it was read. So an incomplete read fails, and the next bawn command reads it again. */
    if (upper->content == CONTENT_LEFT_OUT)
        return err_set(err, "cannot read what the session wrote: %s", upper->path);
    int found = is_covered(reading, upper->path) ? 0 : read_lower(reading, upper->path, &lower, err);
    if (found < 0)
        return -1;
    int lower_goes = found && S_ISDIR(lower.mode);
    if (lower_goes && S_ISDIR(upper->mode))
        lower_goes = is_opaque(reading, upper->path, err);
    if (lower_goes < 0 || put_change(reading, found ? &lower : NULL, upper, err) < 0)
        return -1;
    return lower_goes ? add_lower_tree(reading, upper->path, err) : 0;
}

static int read_all(struct reading *reading, struct err *err)
{
    const struct upper_request *request = reading->request;
    auto_fd int layers_fd = layers_open(request->folder_fd);
    reading->upper_fd = layers_fd < 0 ? -1 : open_directory_at(layers_fd, "upper");
    auto_fd int top_fd = workspace_open(request->workspace, err);
    if (top_fd < 0)
        return -1;
    reading->lower_fd = open_beneath(top_fd, request->prefix, O_RDONLY | O_DIRECTORY, 0);
    if (reading->upper_fd < 0 || reading->lower_fd < 0)
        return err_sys(err, errno, "cannot read what the session wrote");
    const struct stream_request all = {.top_fd = reading->upper_fd,
                                       .start = "",
                                       .store = &reading->store,
                                       .visit = read_one,
                                       .context = reading,
                                       .progress = request->progress};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (store_open(request->directory, &reading->store, err) < 0 ||
        tree_writer_begin(&reading->before, request->folder_fd, "before", err) < 0 ||
        tree_writer_begin(&reading->after, request->folder_fd, "after", err) < 0 ||
        stream_tree(&all, err) < 0 || store_flush(&reading->store, err) < 0)
        return -1;
    return tree_writer_finish(&reading->before, request->began, err) < 0
               ? -1
               : tree_writer_finish(&reading->after, now, err);
}

static int read_inside(void *context, struct err *err)
{
    struct reading reading = {.request = context,
                              .store = STORE_NONE,
                              .upper_fd = -1,
                              .lower_fd = -1,
                              .before = {.fd = -1},
                              .after = {.fd = -1}};
    int result = read_all(&reading, err);
    fd_close(reading.upper_fd);
    fd_close(reading.lower_fd);
    tree_writer_close(&reading.before);
    tree_writer_close(&reading.after);
    buf_free(&reading.covered);
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
