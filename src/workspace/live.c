#include "workspace/record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "git/repo.h"
#include "workspace/repo_texts.h"
#include "workspace/scan.h"
#include "workspace/undo_git.h"

/* Does the ref have one value before and after? */
static bool is_unmoved(const struct repo_texts *refs, const char *name)
{
    return repo_texts_is_same(repo_texts_value(refs, START, name), repo_texts_value(refs, END, name));
}

static bool are_packed_unmoved(const struct repo_texts *refs)
{
    const struct packed_refs *sides[] = {&refs->packed[START], &refs->packed[END]};
    for (size_t i = 0; i < array_len(sides); i++) {
        if (sides[i]->is_there && !sides[i]->is_sound)
            return false;
        for (size_t j = 0; j < sides[i]->lines.count; j++) {
            const char *name = sides[i]->lines.at[j].name, *other = packed_refs_find(sides[!i], name);
            bool is_same = other && strcmp(other, sides[i]->lines.at[j].value) == 0;
            if (!is_same && !is_unmoved(refs, name))
                return false;
        }
    }
    return true;
}

static bool is_plain(const struct change *change)
{
    const struct entry *either = change->after ? change->after : change->before;
    return S_ISREG(either->mode) || S_ISDIR(either->mode);
}

/* A file of refs, or what git makes of them (`info/refs`), or its mark that a gc is at work. */
static bool is_of_refs(const char *inner)
{
    return text_starts_with(inner, "refs/") || strcmp(inner, "packed-refs") == 0 ||
           strcmp(inner, "info/refs") == 0 || strcmp(inner, "gc.pid") == 0;
}

/* Those of a repository that changed follow each other from `first` on: the list is in walk order. */
static bool is_of_repository(const struct repo_texts *refs, const change_list *changes, size_t number)
{
    return number < changes->count && text_starts_with(changes->at[number].path, refs->prefix);
}

/* Did some ref get another value? */
static bool has_moved(const struct repo_texts *refs, const change_list *changes, size_t first)
{
    for (size_t i = first; is_of_repository(refs, changes, i); i++) {
        const struct change *change = &changes->at[i];
        const char *inner = repo_texts_inner(refs, change->path);
        bool is_file = !S_ISDIR((change->after ? change->after : change->before)->mode);
        if (text_starts_with(inner, "refs/") && is_file && !is_unmoved(refs, inner))
            return true;
    }
    return !are_packed_unmoved(refs);
}

static void add_context(const struct repo_texts *refs, change_list *context)
{
    static const char *const names[] = {"HEAD", "logs/HEAD", "packed-refs"};
    for (size_t i = 0; i < array_len(names); i++) {
        const char *path = arena_printf(refs->arena, "%s%s", refs->prefix, names[i]);
        const struct entry *start = tree_find(refs->start, path), *end = tree_find(refs->end, path);
        if (start && end && entries_differ(start, end) == 0)
            vec_push(context, (struct change){path, start, end, 0, NULL});
    }
}

static int by_path(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    return tree_order(left->path, right->path);
}

/* What becomes of the list once all repositories were looked at. Changing it for each would take the square of their number. */
struct revision_of_changes {
    bool *goes;          /* for each change */
    change_list context; /* to be added */
    bool is_packed;      /* refs lie in other files, with the same values */
};

static void keep_moved_refs(const struct repo_texts *refs, const change_list *changes, size_t first,
                            struct revision_of_changes *revised)
{
    if (has_moved(refs, changes, first)) {
        add_context(refs, &revised->context);
        return;
    }
    for (size_t i = first; is_of_repository(refs, changes, i); i++) {
        const struct change *change = &changes->at[i];
        if (!is_of_refs(repo_texts_inner(refs, change->path)) || !is_plain(change) || change_is_mode(change))
            continue;
        revised->goes[i] = true;
        revised->is_packed |= change_is_shown(change);
    }
}

static void revise(change_list *changes, const struct revision_of_changes *revised)
{
    size_t kept = 0;
    for (size_t i = 0; i < changes->count; i++) {
        if (!revised->goes[i])
            changes->at[kept++] = changes->at[i];
    }
    changes->count = kept;
    vec_each (const struct change, change, &revised->context)
        vec_push(changes, *change);
    if (revised->context.count)
        qsort(changes->at, changes->count, sizeof(*changes->at), by_path);
}

/* Is the repository there before and after, and did one of the files of its refs change? */
static bool may_have_moved(const struct live *live, struct arena *arena, const struct change *change,
                           size_t *ret_size)
{
    size_t size = *ret_size = git_repository_size(change->path);
    if (!size || !is_of_refs(change->path + size))
        return false;
    const char *directory = arena_copy(arena, change->path, size - 1);
    return tree_find(live->start, directory) && tree_find(live->end, directory);
}

/* Returns whether refs lie in other files, with the same values. */
static bool drop_unmoved_refs(const struct live *live, int top_fd, struct store *store, struct arena *arena,
                              change_list *changes)
{
    struct map seen = {0};
    struct revision_of_changes revised = {.goes =
                                              must_realloc(NULL, changes->count + 1, sizeof(*revised.goes))};
    memset(revised.goes, 0, (changes->count + 1) * sizeof(*revised.goes));
    for (size_t i = 0, size; i < changes->count; i++) {
        const char *path = changes->at[i].path;
        if (!may_have_moved(live, arena, &changes->at[i], &size) || map_get(&seen, path, size))
            continue;
        *map_at(&seen, path, size) = changes;
        struct repo_texts refs = {.start = live->start,
                                  .end = live->end,
                                  .top_fd = top_fd,
                                  .store = store,
                                  .arena = arena,
                                  .prefix = arena_copy(arena, path, size)};
        repo_texts_begin(&refs);
        keep_moved_refs(&refs, changes, i, &revised);
        repo_texts_end(&refs);
    }
    revise(changes, &revised);
    free(revised.goes);
    vec_free(&revised.context);
    map_free(&seen);
    return revised.is_packed;
}

int live_save_changes(const struct live *live, int folder_fd, uint64_t *ret_count, struct err *err)
{
    struct arena arena = {0};
    auto_store struct store store = STORE_NONE;
    auto_fd int top_fd = workspace_open(live->workspace, err);
    if (top_fd < 0 || store_open(live->directory, &store, err) < 0)
        return -1;
    change_list changes;
    compare_trees(live->start, live->end, &changes);
    struct uncounted uncounted = {0};
    int result = objects_drop_moved(live, top_fd, &store, &arena, &changes, &uncounted, err);
    if (result == 0)
        uncounted.is_packed |= drop_unmoved_refs(live, top_fd, &store, &arena, &changes);
    *ret_count = changes_count(&changes);
    bool is_saved = result == 0 && (*ret_count || live->is_kept);
    if (is_saved)
        result = compare_save_list(folder_fd, &changes, live->start, live->end, "before", "after", err);
    if (is_saved && uncounted.has_objects)
        record_note(folder_fd, RECORD_OBJECTS);
    if (is_saved && uncounted.is_packed)
        record_note(folder_fd, RECORD_PACKED);
    vec_free(&changes);
    arena_free(&arena);
    return result;
}
