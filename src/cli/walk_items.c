#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/walk.h"
#include "git/paths.h"

/* --- which changes are one item ---------------------------------------------------------------------------------- */

struct change walk_change(const struct walk *walk, size_t decision)
{
    struct change change = walk->decisions->at[decision].judged.change;
    if (walk->is_live) {
        const struct entry *after = change.before;
        change.before = change.after;
        change.after = after;
        change.what = !change.before ? CHANGE_ADDED : !change.after ? CHANGE_DELETED : change.what;
    }
    return change;
}

static bool is_directory(const struct entry *entry)
{
    return entry && S_ISDIR(entry->mode);
}

static bool can_be_asked(const struct walk *walk, size_t number)
{
    const struct decision *decision = &walk->decisions->at[number];
    return (decision->course == COURSE_GO || decision->course == COURSE_CONFLICT) &&
           change_is_shown(&decision->judged.change) &&
           choose_has_path(walk->choice, decision->judged.change.path);
}

/* A directory that came or went with what lies in it is settled with that. */
static bool follows_others(const struct walk *walk, size_t number)
{
    const struct change *change = &walk->decisions->at[number].judged.change;
    if (!is_directory(change->after ? change->after : change->before) || (change->before && change->after))
        return false;
    return number + 1 < walk->decisions->count &&
           path_is_inside(walk->decisions->at[number + 1].judged.change.path, change->path);
}

static bool is_risky(const struct walk *walk, size_t number)
{
    struct change change = walk_change(walk, number);
    reason_list reasons;
    patch_reasons(walk->patch, &change, &reasons);
    bool is_risky = reasons.count;
    vec_free(&reasons);
    return is_risky;
}

static struct item *add_item(struct walk *walk, size_t number)
{
    vec_push(&walk->items, (struct item){0});
    struct item *item = &walk->items.at[walk->items.count - 1];
    vec_push(&item->members, number);
    return item;
}

static void add_member(struct walk *walk, struct item *item, size_t number)
{
    vec_push(&item->members, number);
    item->is_risky |= is_risky(walk, number);
}

/* The item of the same repository, or NULL. */
static struct item *find_repository(const struct walk *walk, const char *path)
{
    size_t size = git_directory_size(path);
    for (size_t i = 0; size && i < walk->items.count; i++) {
        struct item *item = &walk->items.at[i];
        const char *other = walk->decisions->at[item->members.at[0]].judged.change.path;
        if (item->is_repository && strncmp(path, other, size) == 0)
            return item;
    }
    return NULL;
}

/* A file that became a directory, or the other way round, goes with all that lies in it. */
static size_t add_beneath(struct walk *walk, struct item *item, size_t number)
{
    const struct change *change = &walk->decisions->at[number].judged.change;
    if (!change->before || !change->after || is_directory(change->before) == is_directory(change->after))
        return number;
    while (number + 1 < walk->decisions->count &&
           path_is_inside(walk->decisions->at[number + 1].judged.change.path, change->path))
        add_member(walk, item, ++number);
    return number;
}

static size_t index_of(const struct walk *walk, const char *path)
{
    size_t low = 0, high = walk->decisions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = tree_order(walk->decisions->at[middle].judged.change.path, path);
        if (order == 0)
            return middle;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return SIZE_MAX;
}

/* The decisions' own changes are told who was renamed to whom, as `bawn diff` shows it. */
static void find_renames(struct walk *walk)
{
    change_list changes = {0};
    for (size_t i = 0; i < walk->decisions->count; i++)
        vec_push(&changes, walk_change(walk, i));
    compare_find_renames(&changes);
    for (size_t i = 0; i < changes.count; i++) {
        const struct change *other = changes.at[i].renamed;
        if (other)
            walk->decisions->at[i].judged.change.renamed =
                &walk->decisions->at[index_of(walk, other->path)].judged.change;
    }
    vec_free(&changes);
}

void walk_collect(struct walk *walk)
{
    find_renames(walk);
    for (size_t i = 0; i < walk->decisions->count; i++) {
        const struct change *change = &walk->decisions->at[i].judged.change;
        if (!can_be_asked(walk, i) || follows_others(walk, i))
            continue;
        struct change made = walk_change(walk, i);
        if (made.renamed && made.what & CHANGE_DELETED)
            continue; /* comes with what it became */
        bool risky = is_risky(walk, i), in_git = git_directory_size(change->path) && !risky;
        struct item *item = in_git ? find_repository(walk, change->path) : NULL;
        if (item) {
            vec_push(&item->members, i);
            continue;
        }
        item = add_item(walk, i);
        item->is_repository = in_git;
        item->is_risky = risky;
        if (made.renamed)
            add_member(walk, item, index_of(walk, made.renamed->path));
        else
            i = add_beneath(walk, item, i);
    }
}

void walk_free(struct walk *walk)
{
    for (size_t i = 0; i < walk->items.count; i++) {
        struct item *item = &walk->items.at[i];
        vec_free(&item->members);
        vec_free(&item->hunk_answers);
        hunks_free(&item->hunks);
        buf_free(&item->old);
        buf_free(&item->new);
        buf_free(&item->joined);
    }
    vec_free(&walk->items);
}

bool walk_find_hunks(const struct walk *walk, struct item *item)
{
    struct change change = walk_change(walk, item->members.at[0]);
    bool is_file =
        change.before && change.after && S_ISREG(change.before->mode) && S_ISREG(change.after->mode);
    if (item->members.count > 1 || !is_file || !(change.what & CHANGE_CONTENT) ||
        walk->decisions->at[item->members.at[0]].course != COURSE_GO)
        return false;
    if (item->hunks.list.count)
        return true;
    if (patch_read(walk->patch, &change, &item->old, &item->new))
        return false;
    hunks_find(&item->old, &item->new, &item->hunks);
    for (size_t i = 0; i < item->hunks.list.count; i++)
        vec_push(&item->hunk_answers, ANSWER_NONE);
    return item->hunks.list.count > 0;
}
