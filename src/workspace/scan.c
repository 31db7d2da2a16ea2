#include "workspace/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "workspace/attributes.h"
#include "workspace/children.h"

struct file_system {
    uint64_t device;
    bool times_tell;
};

struct walk {
    int top_fd;
    const struct scan_request *request;
    struct scan *scan;
    size_t cursor;             /* in the earlier tree */
    struct map inodes;         /* device and inode → the first path of a file with several hard links */
    char *listing;             /* buffer for getdents64 */
    struct file_system system; /* of the current directory */
    struct unchanged unchanged;
    struct ahead ahead;
};

int workspace_open(const char *path, struct err *err)
{
    int fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    if (fd >= 0)
        return fd;
    if (errno != ELOOP)
        return err_sys(err, errno, "cannot open the workspace %s", path);
    err_set(err, "cannot open the workspace %s: it is, or lies behind, a symbolic link", path);
    return err_hint(
        err, "find out who put the link there: sessions belong to the directory that was there before");
}

/* --- one directory ------------------------------------------------------------------------------------------------ */

static size_t most_entries(const struct walk *walk)
{
    return walk->request->most_entries ? walk->request->most_entries : (size_t)SCAN_MOST_ENTRIES;
}

/* Returns the earlier walk's entry of this path. Both walks have the same order, so that one pass is enough. */
static const struct entry *earlier(struct walk *walk, const char *path)
{
    const struct tree *before = walk->request->before;
    while (before && walk->cursor < before->entries.count) {
        const struct entry *entry = &before->entries.at[walk->cursor];
        int order = tree_order(entry->path, path);
        if (order > 0)
            return NULL;
        walk->cursor++;
        if (order == 0)
            return entry;
        walk->scan->differing++; /* the file was removed */
    }
    return NULL;
}

static void note_hard_link(struct walk *walk, struct entry *entry)
{
    const uint64_t number[] = {entry->device, entry->inode};
    const char *key = arena_copy(&walk->scan->tree.arena, (const char *)number, sizeof(number));
    void **first = map_at(&walk->inodes, key, sizeof(number));
    if (*first)
        entry->linked_to = *first;
    else
        *first = arena_str(&walk->scan->tree.arena, entry->path);
}

void scan_inherit(struct arena *arena, const struct entry *from, struct entry *entry)
{
    entry->content = from->content;
    entry->blob = from->blob;
    if (*from->target)
        entry->target = arena_str(arena, from->target);
    if (from->attributes_size) {
        entry->attributes = arena_copy(arena, from->attributes, from->attributes_size);
        entry->attributes_size = from->attributes_size;
    }
}

/* Who knows the names that lie beside a directory. */
struct beside {
    skips_has_name *has_name;
    void *context;
};

/* A directory that was left out at the start of a session is left out at its end, whatever lies beside it by then. */
static bool is_skipped(const struct walk *walk, const struct entry *before, const char *path,
                       struct beside beside)
{
    const struct tree *start = walk->request->start;
    if (start != walk->request->before)
        before = start ? tree_find(start, path) : NULL;
    if (start && before && S_ISDIR(before->mode))
        return tree_is_skipped(before);
    return skips_match(walk->request->skips, path_name(path), beside.has_name, beside.context);
}

/* Returns the entry of the earlier walk if this one is the same. */
static const struct entry *add_entry(struct walk *walk, const struct child *child, const char *path,
                                     struct beside beside)
{
    struct scan *scan = walk->scan;
    struct entry entry = look_entry(&child->status, path);
    const struct entry *before = earlier(walk, path);
    bool is_same = before && look_is_unchanged(walk->request->before, before, &entry);
    if (!S_ISDIR(entry.mode) && entry.links > 1)
        note_hard_link(walk, &entry);
    bool is_doubted =
        S_ISREG(entry.mode) && !(walk->system.times_tell && entry.device == walk->system.device);
    if (is_same && is_doubted)
        vec_push(&scan->doubted, scan->tree.entries.count);
    if (is_same)
        scan_inherit(&scan->tree.arena, before, &entry);
    else if (S_ISLNK(entry.mode))
        entry.target = child->target;
    else if (S_ISREG(entry.mode))
        vec_push(&scan->fresh, scan->tree.entries.count);
    if (S_ISDIR(entry.mode))
        entry.content = is_skipped(walk, before, path, beside) ? CONTENT_LEFT_OUT : CONTENT_NONE;
    if (!is_same && look_is_retimed(before, &entry))
        vec_push(&scan->retimed, path);
    else
        scan->differing +=
            !is_same || before->content != entry.content || strcmp(before->linked_to, entry.linked_to) != 0;
    vec_push(&scan->tree.entries, entry);
    return is_same ? before : NULL;
}

static int check_bounds(const struct walk *walk, size_t more, struct err *err)
{
    if (walk->scan->tree.entries.count + more > most_entries(walk))
        return err_sys(err, E2BIG, "it has more than %zu files", most_entries(walk));
    progress_tell(walk->request->progress, walk->scan->tree.entries.count, 0);
    if (walk->request->deadline.tv_sec) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (timespec_order(now, walk->request->deadline) > 0)
            return err_sys(err, ETIME, "looking through it takes too long");
    }
    return 0;
}

static struct file_system system_of(int fd)
{
    struct stat status = {0};
    bool is_known = fstat(fd, &status) == 0;
    return (struct file_system){status.st_dev, is_known && times_tell(fd)};
}

static int walk_directory(struct walk *walk, const char *path, size_t own, const struct entry *same,
                          struct err *err);
static int visit_unchanged(struct walk *walk, size_t directory, size_t own, struct err *err);

static int enter(struct walk *walk, const char *path, size_t own, const struct entry *same, struct err *err)
{
    size_t at = same ? (size_t)(same - walk->request->before->entries.at) : 0;
    return same && unchanged_has(&walk->unchanged, at) ? visit_unchanged(walk, at, own, err)
                                                       : walk_directory(walk, path, own, same, err);
}

/* Sockets cannot be restored, and too long a path cannot be opened. */
static bool gets_entry(const struct child *child, const char *path)
{
    return !child->is_gone && !S_ISSOCK(child->status.st_mode) && strlen(path) < PATH_LONGEST;
}

static int visit_child(struct walk *walk, const struct child *child, const char *path, struct beside beside,
                       struct err *err)
{
    size_t own = walk->scan->tree.entries.count;
    const struct entry *same = add_entry(walk, child, path, beside);
    bool is_entered = S_ISDIR(child->status.st_mode) && !tree_is_skipped(&walk->scan->tree.entries.at[own]);
    return is_entered ? enter(walk, path, own, same, err) : 0;
}

/* Says in `ret_whole` whether every child got an entry. */
static int visit_children(struct walk *walk, const char *path, struct children *children, bool *ret_whole,
                          struct err *err)
{
    struct arena *arena = &walk->scan->tree.arena;
    const struct beside beside = {children_has, children};
    *ret_whole = true;
    for (size_t i = 0; i < children->list.count; i++) {
        const struct child *child = &children->list.at[i];
        const char *full = path_beneath_top(arena, path, child->name);
        if (!child->is_gone && S_ISSOCK(child->status.st_mode))
            vec_push(&walk->scan->tree.sockets, full);
        if (!gets_entry(child, full))
            *ret_whole = false;
        else if (visit_child(walk, child, full, beside, err) < 0)
            return -1;
    }
    return 0;
}

/* The directory cannot be read. Without the top there is no tree. */
static int leave_out(struct walk *walk, const char *path, size_t own, int why, struct err *err)
{
    walk->scan->was_denied |= why == EACCES;
    if (!*path)
        return err_sys(err, why, "cannot look into the workspace");
    walk->scan->tree.entries.at[own].content = CONTENT_LEFT_OUT;
    return 0;
}

static void set_whole(struct walk *walk, size_t own, const struct entry *same, bool is_whole)
{
    if (own == SIZE_MAX)
        return;
    walk->scan->tree.entries.at[own].is_whole = is_whole;
    walk->scan->differing += same && same->is_whole != is_whole;
}

/* Looks at each child, unless that was done ahead. Says in `ret_closed` whether the directory may not be searched. */
static int look_at_children(struct walk *walk, int fd, const char *path, struct children *children,
                            bool *ret_closed, struct err *err)
{
    struct arena *arena = &walk->scan->tree.arena;
    int result = check_bounds(walk, children->list.count, err);
    *ret_closed = false;
    for (size_t i = 0; i < children->list.count && result == 0 && !*ret_closed; i++) {
        struct child *child = &children->list.at[i];
        result = children_look(fd, child, *path ? path : "the workspace", arena, err);
        *ret_closed = child->is_denied;
    }
    if (result == 0 && !*ret_closed)
        children_sort(children);
    return result;
}

/*
 * `own` is the number of the directory's entry; SIZE_MAX for the top, which has none. `same` is the entry of the earlier
 * walk; NULL if the directory is not the same.
 */
static int walk_directory(struct walk *walk, const char *path, size_t own, const struct entry *same,
                          struct err *err)
{
    if (check_bounds(walk, 0, err) < 0)
        return -1;
    auto_fd int fd = open_beneath(walk->top_fd, path, O_RDONLY | O_DIRECTORY, 0);
    auto_children struct children children = {0};
    bool is_known = fd >= 0 && ahead_take(&walk->ahead, path, &walk->scan->tree.arena, &children);
    if (fd < 0 || (!is_known && children_list(fd, walk->listing, most_entries(walk), &children) < 0))
        return leave_out(walk, path, own, errno, err);
    if (own != SIZE_MAX && !same)
        attributes_read(fd, &walk->scan->tree.arena, &walk->scan->tree.entries.at[own]);
    bool is_closed = false;
    int result = is_known ? check_bounds(walk, children.list.count, err)
                          : look_at_children(walk, fd, path, &children, &is_closed, err);
    if (is_closed)
        return leave_out(walk, path, own, EACCES, err);
    const struct file_system above = walk->system;
    if (own != SIZE_MAX && walk->scan->tree.entries.at[own].device != above.device)
        walk->system = system_of(fd);
    close(fd_take(&fd)); /* a deep tree would need a descriptor for each level */
    bool is_whole = false;
    if (result == 0)
        result = visit_children(walk, path, &children, &is_whole, err);
    set_whole(walk, own, same, is_whole);
    walk->system = above;
    return result;
}

/* --- an unchanged directory --------------------------------------------------------------------------------------- */

/* Adds the entry of the earlier walk, and borrows its strings. */
static void add_same(struct walk *walk, const struct entry *before)
{
    struct scan *scan = walk->scan;
    struct entry entry = *before;
    entry.linked_to = "";
    if (!S_ISDIR(entry.mode) && entry.links > 1)
        note_hard_link(walk, &entry);
    scan->differing += strcmp(before->linked_to, entry.linked_to) != 0;
    vec_push(&scan->tree.entries, entry);
}

struct known_names {
    struct walk *walk;
    const char *directory;
};

static bool has_entry(void *context, const char *name)
{
    const struct known_names *names = context;
    const char *path = path_beneath_top(&names->walk->scan->tree.arena, names->directory, name);
    return tree_find(names->walk->request->before, path) != NULL;
}

/* Looks at one directory in an unchanged one, which has changed itself. */
static int visit_changed(struct walk *walk, const struct entry *before, size_t around, struct beside beside,
                         struct err *err)
{
    struct arena *arena = &walk->scan->tree.arena;
    struct child child = {0};
    auto_fd int fd = open_parent_beneath(walk->top_fd, before->path, &child.name);
    if (fd < 0 && errno_is_of_machine(errno))
        return err_sys(err, errno, "cannot look at %s", before->path);
    child.is_gone = fd < 0;
    if (fd >= 0 && children_look(fd, &child, before->path, arena, err) < 0)
        return -1;
    fd_close(fd_take(&fd));
    walk->scan->was_denied |= child.is_denied;
    if (gets_entry(&child, before->path))
        return visit_child(walk, &child, arena_str(arena, before->path), beside, err);
    walk->scan->tree.entries.at[around].is_whole = false;
    return 0;
}

/* `directory` is the number of its entry in the earlier tree, `own` in this one. */
static int visit_unchanged(struct walk *walk, size_t directory, size_t own, struct err *err)
{
    const struct entry *entries = walk->request->before->entries.at;
    const uint32_t *next = walk->unchanged.next;
    struct known_names names = {walk, entries[directory].path};
    const struct beside beside = {has_entry, &names};
    walk->scan->tree.entries.at[own].is_whole = true;
    for (size_t i = directory + 1; i < next[directory]; i = next[i]) {
        int result = 0;
        size_t inner = walk->scan->tree.entries.count;
        walk->cursor = i;
        if (S_ISDIR(entries[i].mode) &&
            (!unchanged_has(&walk->unchanged, i) || is_skipped(walk, &entries[i], entries[i].path, beside))) {
            result = visit_changed(walk, &entries[i], own, beside, err);
        } else {
            walk->cursor++;
            add_same(walk, &entries[i]);
            result = S_ISDIR(entries[i].mode) ? visit_unchanged(walk, i, inner, err) : 0;
        }
        if (result < 0)
            return -1;
        walk->scan->differing += next[i] - walk->cursor; /* files that were removed */
        walk->cursor = next[i];
    }
    return check_bounds(walk, 0, err);
}

int scan_tree(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
{
    *ret_scan = (struct scan){0};
    struct walk walk = {.top_fd = top_fd, .request = request, .scan = ret_scan, .system = system_of(top_fd)};
    clock_gettime(CLOCK_REALTIME, &ret_scan->tree.taken);
    walk.listing = must_realloc(NULL, CHILDREN_LISTING_SIZE, 1);
    if (request->before)
        vec_reserve(&ret_scan->tree.entries, request->before->entries.count + 1);
    unchanged_find(top_fd, request, &walk.unchanged);
    ahead_look(top_fd, request, &walk.ahead);
    int result = walk_directory(&walk, "", SIZE_MAX, NULL, err);
    ahead_free(&walk.ahead);
    unchanged_free(&walk.unchanged);
    free(walk.listing);
    map_free(&walk.inodes);
    if (result < 0) {
        scan_free(ret_scan);
        return -1;
    }
    if (request->before)
        ret_scan->differing += request->before->entries.count - walk.cursor;
    return 0;
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

int scan_entry(int top_fd, const char *path, struct arena *arena, struct entry *ret_entry, struct err *err)
{
    const char *name;
    auto_fd int parent = open_parent_beneath(top_fd, path, &name);
    struct stat status;
    if (parent < 0 || fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        /* ENOTDIR, ELOOP: a file or a symlink replaced a directory on the way. */
        bool is_missing = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return is_missing ? 0 : err_sys(err, errno, "cannot look at %s", path);
    }
    *ret_entry = look_entry(&status, path);
    if (S_ISLNK(status.st_mode))
        ret_entry->target = children_target(parent, name, arena);
    return 1;
}

void scan_free(struct scan *scan)
{
    tree_free(&scan->tree);
    vec_free(&scan->fresh);
    vec_free(&scan->doubted);
    vec_free(&scan->retimed);
    *scan = (struct scan){0};
}
