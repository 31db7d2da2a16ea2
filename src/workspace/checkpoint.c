#include "workspace/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "workspace/record.h"

#define FOLDER "checkpoints"

enum { MOST_SAVED = 96, NAME_SIZE = 64 };

/* --- files -------------------------------------------------------------------------------------------------------- */

static void name_of(uint64_t number, const char *side, char ret_name[NAME_SIZE])
{
    snprintf(ret_name, NAME_SIZE, "%llu-%s", (unsigned long long)number, side);
}

static bool number_in(const char *name, const char *side, uint64_t *ret_number)
{
    return text_take_number(&name, ret_number) && *name == '-' && strcmp(name + 1, side) == 0;
}

bool checkpoint_is_tree(const char *name)
{
    uint64_t number;
    return number_in(name, "before", &number) || number_in(name, "after", &number);
}

int checkpoint_open_folder(int session_fd)
{
    return open_directory_at(session_fd, FOLDER);
}

static int make_folder(int session_fd, struct err *err)
{
    if (mkdirat(session_fd, FOLDER, 0700) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make a folder for checkpoints");
    int fd = checkpoint_open_folder(session_fd);
    return fd < 0 ? err_sys(err, errno, "cannot open the folder of checkpoints") : fd;
}

static int older_first(const void *a, const void *b)
{
    const struct checkpoint *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

static void list_folder(int folder_fd, checkpoint_list *ret_checkpoints)
{
    DIR *folder = folder_fd < 0 ? NULL : directories_list(folder_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct checkpoint checkpoint;
        auto_tree struct tree after = {0};
        struct err ignored;
        if (!number_in(entry->d_name, "after", &checkpoint.number) ||
            tree_load(folder_fd, entry->d_name, &after, &ignored) <= 0)
            continue;
        checkpoint.taken = after.taken;
        vec_push(ret_checkpoints, checkpoint);
    }
    if (folder)
        closedir(folder);
    if (ret_checkpoints->count)
        qsort(ret_checkpoints->at, ret_checkpoints->count, sizeof(*ret_checkpoints->at), older_first);
}

void checkpoint_list_all(int session_fd, checkpoint_list *ret_checkpoints)
{
    *ret_checkpoints = (checkpoint_list){0};
    auto_fd int folder_fd = checkpoint_open_folder(session_fd);
    list_folder(folder_fd, ret_checkpoints);
}

static int load(int folder_fd, uint64_t number, struct tree *ret_before, struct tree *ret_after,
                struct err *err)
{
    char before[NAME_SIZE], after[NAME_SIZE];
    name_of(number, "before", before);
    name_of(number, "after", after);
    int found = tree_load(folder_fd, before, ret_before, err);
    return found > 0 ? tree_load(folder_fd, after, ret_after, err) : found;
}

int checkpoint_load(int session_fd, uint64_t number, struct tree *ret_before, struct tree *ret_after,
                    struct err *err)
{
    auto_fd int folder_fd = checkpoint_open_folder(session_fd);
    return folder_fd < 0 ? 0 : load(folder_fd, number, ret_before, ret_after, err);
}

static void forget(int folder_fd, uint64_t number)
{
    static const char *const sides[] = {"after", "before"};
    for (size_t i = 0; i < array_len(sides); i++) {
        char name[NAME_SIZE];
        name_of(number, sides[i], name);
        unlinkat(folder_fd, name, 0);
    }
}

void checkpoint_forget_all(int session_fd)
{
    auto_fd int folder_fd = checkpoint_open_folder(session_fd);
    DIR *folder = folder_fd < 0 ? NULL : directories_list(folder_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (*entry->d_name != '.')
            unlinkat(folder_fd, entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    if (folder_fd >= 0)
        unlinkat(session_fd, FOLDER, AT_REMOVEDIR);
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return !a == !b && (!a || entries_differ(a, b) == 0);
}

/* Is the last checkpoint the same? Before the first checkpoint this compares with the start. */
static bool is_repeated(int folder_fd, uint64_t last, const struct tree *start, const struct tree *now)
{
    auto_tree struct tree before = {0}, after = {0};
    struct err ignored;
    if (last && load(folder_fd, last, &before, &after, &ignored) <= 0)
        return false;
    change_list changes, since;
    compare_trees(start, now, &changes);
    compare_trees(&before, &after, &since);
    bool says_same = changes.count == since.count;
    for (size_t i = 0; says_same && i < changes.count; i++) {
        const struct change *a = &changes.at[i], *b = &since.at[i];
        says_same = strcmp(a->path, b->path) == 0 && is_same(a->after, b->after);
    }
    vec_free(&changes);
    vec_free(&since);
    return says_same;
}

int checkpoint_save(int session_fd, const struct tree *start, const struct tree *now, struct err *err)
{
    auto_fd int folder_fd = make_folder(session_fd, err);
    if (folder_fd < 0)
        return -1;
    checkpoint_list saved = {0};
    list_folder(folder_fd, &saved);
    uint64_t last = saved.count ? saved.at[saved.count - 1].number : 0;
    bool says_nothing_new = is_repeated(folder_fd, last, start, now);
    for (size_t i = 0; !says_nothing_new && saved.count >= MOST_SAVED && i < saved.count; i += 2)
        forget(folder_fd, saved.at[i].number);
    vec_free(&saved);
    if (says_nothing_new)
        return 0;
    char before[NAME_SIZE], after[NAME_SIZE];
    name_of(last + 1, "before", before);
    name_of(last + 1, "after", after);
    return compare_save(folder_fd, start, now, before, after, err) < 0 ? -1 : 1;
}

/* --- the way back ------------------------------------------------------------------------------------------------- */

/* A position in each of several trees, which are read in parallel, path by path. */
struct cursor {
    const struct tree *tree;
    size_t at;
};

static const char *first_path(const struct cursor *cursors, size_t count)
{
    const char *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct tree *tree = cursors[i].tree;
        const char *path = cursors[i].at < tree->entries.count ? tree->entries.at[cursors[i].at].path : NULL;
        if (path && (!first || tree_order(path, first) < 0))
            first = path;
    }
    return first;
}

/* Takes the next entry, if it is the entry of that path. */
static const struct entry *take(struct cursor *cursor, const char *path)
{
    const struct tree *tree = cursor->tree;
    if (cursor->at >= tree->entries.count || tree_order(tree->entries.at[cursor->at].path, path) != 0)
        return NULL;
    return &tree->entries.at[cursor->at++];
}

static void add(struct tree *tree, const struct entry *entry)
{
    if (entry)
        vec_push(&tree->entries, *entry);
}

/* The entries of `base`, except for paths in `before` or `after`: those have the entry of `after`. */
static void lay_over(const struct tree *base, const struct tree *before, const struct tree *after,
                     struct tree *ret_tree)
{
    struct cursor cursors[] = {{base, 0}, {before, 0}, {after, 0}};
    for (const char *path; (path = first_path(cursors, array_len(cursors)));) {
        const struct entry *below = take(&cursors[0], path), *was = take(&cursors[1], path),
                           *is = take(&cursors[2], path);
        add(ret_tree, was || is ? is : below);
    }
    ret_tree->taken = after->taken;
}

void way_to_checkpoint(const struct tree *before, const struct tree *after, const struct tree *cp_before,
                       const struct tree *cp_after, struct way *ret_way)
{
    *ret_way = (struct way){0};
    lay_over(cp_before, before, after, &ret_way->from);
    lay_over(before, cp_before, cp_after, &ret_way->to);
}

void way_continue(struct way *way, const struct tree *undo_before, const struct tree *undo_after)
{
    struct way next = {.from.taken = way->from.taken, .to.taken = way->to.taken};
    struct cursor cursors[] = {{&way->from, 0}, {&way->to, 0}, {undo_before, 0}, {undo_after, 0}};
    for (const char *path; (path = first_path(cursors, array_len(cursors)));) {
        const struct entry *from = take(&cursors[0], path), *to = take(&cursors[1], path),
                           *was = take(&cursors[2], path), *is = take(&cursors[3], path);
        if (!from && !to) {
            add(&next.from, is);
            add(&next.to, was);
            continue;
        }
        add(&next.from, (was || is) && is_same(from, was) ? is : from);
        add(&next.to, to);
    }
    way_free(way);
    *way = next;
}

void way_free(struct way *way)
{
    tree_free(&way->from);
    tree_free(&way->to);
}
