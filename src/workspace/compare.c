#include "workspace/compare.h"

#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/names.h"
#include "base/text.h"
#include "base/timespec.h"

DEFINE_TEXTS(change_name, enum change_bit, CHANGES, NAME_OF)

static bool same_content(const struct entry *a, const struct entry *b)
{
    if (a->content == CONTENT_STORED && b->content == CONTENT_STORED)
        return memcmp(a->blob.bytes, b->blob.bytes, sizeof(a->blob.bytes)) == 0;
    /* The bytes are unknown, so that the looks decide. A program can set `modified` back, but not `changed`. */
    return a->size == b->size && a->inode == b->inode && timespec_is_same(a->modified, b->modified) &&
           timespec_is_same(a->changed, b->changed);
}

unsigned entries_differ(const struct entry *a, const struct entry *b)
{
    if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
        return CHANGE_KIND;
    unsigned what = 0;
    if (S_ISREG(a->mode) && !same_content(a, b))
        what |= CHANGE_CONTENT;
    if (strcmp(a->target, b->target) != 0)
        what |= CHANGE_TARGET;
    if (!S_ISLNK(a->mode) && a->mode != b->mode)
        what |= CHANGE_MODE;
    if (a->attributes_size != b->attributes_size ||
        (a->attributes_size && memcmp(a->attributes, b->attributes, a->attributes_size) != 0))
        what |= CHANGE_ATTRIBUTES;
    if (strcmp(a->linked_to, b->linked_to) != 0)
        what |= CHANGE_LINKS;
    if (!timespec_is_same(a->modified, b->modified))
        what |= CHANGE_TIME;
    return what;
}

uint32_t entry_new_ids(const struct entry *before, const struct entry *after)
{
    bool is_same = before && !(entries_differ(before, after) & (CHANGE_KIND | CHANGE_CONTENT));
    return S_ISREG(after->mode) ? after->mode & (S_ISUID | S_ISGID) & ~(is_same ? before->mode : 0) : 0;
}

static bool lies_beneath(const char *path, const char *directory)
{
    size_t size = strlen(directory);
    return strncmp(path, directory, size) == 0 && path[size] == '/';
}

static void add_change(change_list *changes, const struct entry *before, const struct entry *after)
{
    unsigned what = !before ? CHANGE_ADDED : !after ? CHANGE_DELETED : entries_differ(before, after);
    const struct entry *either = before ? before : after;
    if (either && what)
        vec_push(changes, (struct change){either->path, before, after, what, NULL});
}

void compare_trees(const struct tree *before, const struct tree *after, change_list *ret_changes)
{
    *ret_changes = (change_list){0};
    const char *unknown = NULL; /* a directory that one of the two walks did not look into */
    size_t i = 0, j = 0;
    while (i < before->entries.count || j < after->entries.count) {
        const struct entry *a = i < before->entries.count ? &before->entries.at[i] : NULL;
        const struct entry *b = j < after->entries.count ? &after->entries.at[j] : NULL;
        int order = !a ? 1 : !b ? -1 : tree_order(a->path, b->path);
        i += order <= 0;
        j += order >= 0;
        a = order <= 0 ? a : NULL;
        b = order >= 0 ? b : NULL;
        if (unknown && lies_beneath(a ? a->path : b->path, unknown))
            continue;
        bool both = a && b && S_ISDIR(a->mode) && S_ISDIR(b->mode);
        if (both && (tree_is_skipped(a) || tree_is_skipped(b)))
            unknown = a->path;
        add_change(ret_changes, a, b);
    }
}

bool change_is_shown(const struct change *change)
{
    return (change->what & ~(unsigned)CHANGE_TIME) != 0;
}

bool change_counts(const change_list *changes, size_t number)
{
    const struct change *change = &changes->at[number];
    const struct entry *either = change->after ? change->after : change->before;
    if (!change_is_shown(change))
        return false;
    if ((change->before && change->after) || !either || !S_ISDIR(either->mode))
        return true;
    size_t next = number + 1;
    while (next < changes->count && !change_is_shown(&changes->at[next]))
        next++;
    return next == changes->count || !lies_beneath(changes->at[next].path, change->path);
}

uint64_t changes_count(const change_list *changes)
{
    uint64_t count = 0;
    for (size_t i = 0; i < changes->count; i++)
        count += change_counts(changes, i);
    return count;
}

static bool can_be_renamed(const struct entry *entry)
{
    return S_ISREG(entry->mode) && entry->content == CONTENT_STORED && entry->size > 0;
}

void compare_find_renames(change_list *changes)
{
    struct map deleted = {0};
    for (size_t i = 0; i < changes->count; i++) {
        struct change *change = &changes->at[i];
        if (change->what == CHANGE_DELETED && can_be_renamed(change->before)) {
            const struct blob_id *id = &change->before->blob;
            *map_at(&deleted, (const char *)id->bytes, sizeof(id->bytes)) = change;
        }
    }
    for (size_t i = 0; i < changes->count; i++) {
        struct change *change = &changes->at[i];
        if (change->what != CHANGE_ADDED || !can_be_renamed(change->after))
            continue;
        struct change *other =
            map_get(&deleted, (const char *)change->after->blob.bytes, sizeof(change->after->blob.bytes));
        if (other && !other->renamed) {
            other->renamed = change;
            change->renamed = other;
        }
    }
    map_free(&deleted);
}

/* One side of the changes as a tree. Its entries are borrowed. */
static struct tree side_of(const change_list *changes, bool after, struct timespec taken)
{
    struct tree side = {.taken = taken};
    for (size_t i = 0; i < changes->count; i++) {
        const struct entry *entry = after ? changes->at[i].after : changes->at[i].before;
        if (entry)
            vec_push(&side.entries, *entry);
    }
    return side;
}

int compare_save_list(int folder_fd, const change_list *changes, const struct tree *before,
                      const struct tree *after, const char *before_name, const char *after_name,
                      struct err *err)
{
    auto_tree struct tree was = side_of(changes, false, before->taken);
    auto_tree struct tree became = side_of(changes, true, after->taken);
    return tree_save(&was, folder_fd, before_name, err) < 0 ? -1
                                                            : tree_save(&became, folder_fd, after_name, err);
}

int compare_save(int folder_fd, const struct tree *before, const struct tree *after, const char *before_name,
                 const char *after_name, struct err *err)
{
    change_list changes;
    compare_trees(before, after, &changes);
    int result = compare_save_list(folder_fd, &changes, before, after, before_name, after_name, err);
    vec_free(&changes);
    return result;
}
