#include "workspace/undo_git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/objects.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "workspace/scan.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The size of the part of a path that names an object store, with its slash; 0 if it lies in none. */
static size_t store_size_of(const char *path)
{
    size_t repository = git_repository_size(path);
    return repository && text_starts_with(path + repository, "objects/") ? repository + strlen("objects/")
                                                                         : 0;
}

/* Files that git makes anew from the objects, or that it has not finished. */
static bool is_derived(const char *inner)
{
    static const char *const starts[] = {"info/commit-graph", "pack/multi-pack-index", "pack/tmp_",
                                         "pack/.tmp-", "tmp_"};
    if (strcmp(inner, "info") == 0 || strcmp(inner, "info/packs") == 0)
        return true;
    for (size_t i = 0; i < array_len(starts); i++) {
        if (text_starts_with(inner, starts[i]))
            return true;
    }
    return strlen(inner) > 3 && text_starts_with(inner + 3, "tmp_obj_");
}

/* "pack/pack-HASH", without the ending; 0 if it belongs to no pack. */
static size_t stem_size(const char *inner)
{
    if (!text_starts_with(inner, "pack/pack-"))
        return 0;
    size_t start = strlen("pack/pack-"), digits = strspn(inner + start, "0123456789abcdef");
    return (digits == 40 || digits == 64) && inner[start + digits] == '.' ? start + digits : 0;
}

/* A file beside a pack, such as its bitmap. `.keep` and `.promisor` tell git what to do, and count as any other file. */
static bool is_beside_pack(const char *inner)
{
    size_t stem = stem_size(inner);
    return stem && strcmp(inner + stem, ".keep") != 0 && strcmp(inner + stem, ".promisor") != 0;
}

bool objects_has_path(const char *path)
{
    size_t store = store_size_of(path);
    const char *inner = path + store;
    return store && (git_is_object_path(inner) || is_beside_pack(inner) || is_derived(inner));
}

/* --- which objects are missing ------------------------------------------------------------------------------------ */

/* A file of an object store that is gone. */
struct lost {
    const char *path;
    const struct entry *entry;
    bool is_needed; /* an object in it is missing */
};

typedef VEC(struct lost) lost_list;

/* The lost files of one store: from `first` on. */
struct search {
    struct store *store;
    struct lost *first;
    size_t count;
    size_t prefix; /* of the store's directory, in each path */
    struct git_lookup lookup;
};

static size_t hash_size_of(const char *inner)
{
    size_t stem = stem_size(inner);
    size_t digits = stem ? stem - strlen("pack/pack-") : strlen(inner) - 1;
    return digits / 2;
}

static bool is_loose(const char *inner)
{
    return inner[0] && inner[1] && inner[2] == '/' && git_is_object_path(inner);
}

static bool has_loose(struct search *search, const char *inner)
{
    unsigned char hash[GIT_HASH_MOST] = {0};
    char digits[2 * GIT_HASH_MOST + 1];
    snprintf(digits, sizeof(digits), "%.2s%s", inner, inner + 3);
    for (size_t i = 0; digits[i]; i++)
        hash[i / 2] = (unsigned char)(hash[i / 2] << 4 | text_hex_digit(digits[i]));
    return hash_size_of(inner) == search->lookup.hash_size && git_lookup_has(&search->lookup, hash);
}

/* Does the store have every object of the pack with this index? */
static int has_all(struct search *search, const struct entry *index, bool *ret_has, struct err *err)
{
    auto_fd int fd = memfd_create("index", MFD_CLOEXEC);
    *ret_has = false;
    if (fd < 0 || store_write_out(search->store, &index->blob, fd, err) < 0)
        return fd < 0 ? err_sys(err, errno, "cannot make room for the index of a pack") : -1;
    struct git_pack_names *names = git_pack_names_open(&fd, search->lookup.hash_size);
    bool is_cut = false, has = names != NULL;
    for (const unsigned char *name; has && (name = git_pack_names_next(names, &is_cut));)
        has = git_lookup_has(&search->lookup, name);
    *ret_has = has && !is_cut;
    git_pack_names_close(names);
    return 0;
}

/* All files of one pack follow each other. Returns how many there are. */
static size_t count_pack(const struct search *search, size_t from)
{
    const char *inner = search->first[from].path + search->prefix;
    size_t stem = stem_size(inner), count = 1;
    while (from + count < search->count &&
           strncmp(search->first[from + count].path + search->prefix, inner, stem + 1) == 0)
        count++;
    return count;
}

static int search_pack(struct search *search, size_t from, size_t count, struct err *err)
{
    bool has = false;
    for (size_t i = from; i < from + count; i++) {
        const struct lost *lost = &search->first[i];
        bool is_index = strcmp(lost->path + strlen(lost->path) - strlen(".idx"), ".idx") == 0;
        if (is_index && lost->entry->content == CONTENT_STORED &&
            hash_size_of(lost->path + search->prefix) == search->lookup.hash_size &&
            has_all(search, lost->entry, &has, err) < 0)
            return -1;
    }
    for (size_t i = from; i < from + count; i++)
        search->first[i].is_needed = !has;
    return 0;
}

static int search_store(struct search *search, struct err *err)
{
    for (size_t i = 0, count; i < search->count; i += count) {
        struct lost *lost = &search->first[i];
        const char *inner = lost->path + search->prefix;
        count = 1;
        if (is_loose(inner)) {
            lost->is_needed = !has_loose(search, inner);
        } else if (stem_size(inner)) {
            count = count_pack(search, i);
            if (search_pack(search, i, count, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* Fills in `is_needed`. The list is in walk order, so that questions about objects are in ascending order. */
static int find_needed(int top_fd, struct store *store, struct arena *arena, lost_list *lost, struct err *err)
{
    int result = 0;
    for (size_t i = 0, count; result == 0 && i < lost->count; i += count) {
        const char *path = lost->at[i].path;
        size_t prefix = store_size_of(path), hash_size = 0;
        for (count = 0; i + count < lost->count && strncmp(lost->at[i + count].path, path, prefix) == 0;
             count++) {
            const char *inner = lost->at[i + count].path + prefix;
            if (!hash_size && (is_loose(inner) || stem_size(inner)))
                hash_size = hash_size_of(inner);
            lost->at[i + count].is_needed = is_loose(inner) || stem_size(inner);
        }
        auto_fd int fd = open_beneath(top_fd, arena_copy(arena, path, prefix - 1), O_RDONLY | O_DIRECTORY, 0);
        struct search search = {.store = store, .first = &lost->at[i], .count = count, .prefix = prefix};
        for (size_t j = i; fd < 0 && j < i + count; j++)
            lost->at[j].is_needed = true; /* no git has moved anything: the store itself is gone */
        if (fd < 0 || !hash_size)
            continue;
        git_lookup_begin(fd, hash_size, &search.lookup);
        result = search_store(&search, err);
        git_lookup_end(&search.lookup);
    }
    return result;
}

static bool is_needed(const lost_list *lost, const char *path)
{
    const struct lost *found =
        lost->count ? bsearch(path, lost->at, lost->count, sizeof(*lost->at), tree_by_path) : NULL;
    return found && found->is_needed;
}

/* Is a file beneath the directory needed? The files beneath it follow its place in walk order. */
static bool is_needed_beneath(const lost_list *lost, const char *directory)
{
    size_t low = 0, high = lost->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tree_order(lost->at[middle].path, directory) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < lost->count && path_is_inside(lost->at[low].path, directory); low++) {
        if (lost->at[low].is_needed)
            return true;
    }
    return false;
}

/*
 * Does a directory of a store that is gone count? git makes `info` and `pack`, and never removes them. It
 * removes the other ones when they are empty, so they count where something in them does, or where the store
 * itself is gone.
 */
static bool is_needed_directory(int top_fd, struct arena *arena, const lost_list *lost, const char *path)
{
    size_t store = store_size_of(path);
    if (strcmp(path + store, "info") == 0 || strcmp(path + store, "pack") == 0 ||
        is_needed_beneath(lost, path))
        return true;
    auto_fd int fd = open_beneath(top_fd, arena_copy(arena, path, store - 1), O_PATH, 0);
    return fd < 0 && errno == ENOENT;
}

/* --- the changes of a run ----------------------------------------------------------------------------------------- */

/* Was the repository there, before and after? If not, its objects go with it. */
static bool has_repository(const struct tree *start, const struct tree *end, struct arena *arena,
                           const char *path)
{
    const char *directory = arena_copy(arena, path, git_repository_size(path) - 1);
    return tree_find(start, directory) && tree_find(end, directory);
}

static bool is_plain(const struct entry *entry)
{
    return S_ISREG(entry->mode) || S_ISDIR(entry->mode);
}

/* Does a change of a file or directory that exists before and after count? git sets the times of objects that it meets again. */
static bool counts_in_place(const struct tree *start, const struct change *change)
{
    size_t store = store_size_of(change->path);
    /* The walk at the start does not look at every object, and may have missed an earlier change. */
    if (is_loose(change->path + store) && look_is_from_before(start, change->after))
        return false;
    unsigned ignored = CHANGE_TIME;
    if (S_ISREG(change->after->mode) && is_derived(change->path + store))
        ignored |= CHANGE_CONTENT;
    return change->what & ~ignored;
}

static bool is_lost_file(const struct change *change)
{
    return !change->after && S_ISREG(change->before->mode) && objects_has_path(change->path);
}

struct run {
    int top_fd;
    const struct tree *start, *end;
    struct arena *arena;
    lost_list lost;
    struct uncounted *uncounted;
};

/* Of a file or directory that is there before and after, or after alone. Returns false if the change is dropped. */
static bool keep_present(const struct run *run, const struct change *change)
{
    bool is_new = !change->before,
         counts = is_new ? !has_repository(run->start, run->end, run->arena, change->path)
                         : counts_in_place(run->start, change);
    if (!counts && S_ISREG(change->after->mode)) {
        run->uncounted->has_objects |= is_new;
        run->uncounted->is_packed |= change->what & CHANGE_CONTENT;
    }
    return counts;
}

/* Returns false if the change is dropped. */
static bool keep_change(const struct run *run, struct change *change)
{
    const struct entry *either = change->after ? change->after : change->before;
    if (!objects_has_path(change->path) || !is_plain(either))
        return true;
    if (change->after)
        return keep_present(run, change);
    bool counts = S_ISDIR(either->mode)
                      ? is_needed_directory(run->top_fd, run->arena, &run->lost, change->path)
                      : is_needed(&run->lost, change->path);
    if (!counts) { /* context */
        change->after = change->before;
        change->what = 0;
        run->uncounted->is_packed = true;
    }
    return true;
}

int objects_drop_moved(const struct live *live, int top_fd, struct store *store, struct arena *arena,
                       change_list *changes, struct uncounted *uncounted, struct err *err)
{
    struct run run = {
        .top_fd = top_fd, .start = live->start, .end = live->end, .arena = arena, .uncounted = uncounted};
    size_t kept = 0;
    for (size_t i = 0; i < changes->count; i++) {
        if (is_lost_file(&changes->at[i]))
            vec_push(&run.lost, (struct lost){.path = changes->at[i].path, .entry = changes->at[i].before});
    }
    int result = find_needed(top_fd, store, arena, &run.lost, err);
    for (size_t i = 0; i < changes->count; i++) {
        if (keep_change(&run, &changes->at[i]))
            changes->at[kept++] = changes->at[i];
    }
    changes->count = kept;
    vec_free(&run.lost);
    return result;
}

/* --- undo --------------------------------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    const struct decision *left = a, *right = b;
    return tree_order(left->judged.change.path, right->judged.change.path);
}

/* Adds a decision for each file of a store that is the same in both trees, and gone. */
static int add_context(const struct transition *transition, int top_fd, struct arena *arena,
                       decision_list *decisions, struct err *err)
{
    size_t count = decisions->count;
    for (size_t i = 0; i < transition->to->entries.count; i++) {
        const struct entry *entry = &transition->to->entries.at[i];
        const struct entry *same =
            objects_has_path(entry->path) ? tree_find(transition->from, entry->path) : NULL;
        struct decision decision = {.judged.change = {entry->path, NULL, entry, CHANGE_ADDED, NULL},
                                    .course = COURSE_GO};
        if (!same || !is_plain(entry) || entries_differ(same, entry) != 0)
            continue;
        int found = scan_entry(top_fd, entry->path, arena, &decision.judged.now, err);
        if (found < 0)
            return -1;
        if (S_ISREG(entry->mode) && entry->content != CONTENT_STORED) {
            decision.course = COURSE_HELD;
            decision.why = "its content is not in the snapshot: it was too large, or could not be read";
        }
        if (!found)
            vec_push(decisions, decision);
    }
    if (decisions->count > count)
        qsort(decisions->at, decisions->count, sizeof(*decisions->at), by_path);
    return 0;
}

static bool is_lost(const struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    return change->after && is_plain(change->after) && !decision->judged.now.path &&
           objects_has_path(change->path);
}

int objects_decide(const struct transition *transition, int top_fd, struct store *store, struct arena *arena,
                   decision_list *decisions, struct err *err)
{
    lost_list lost = {0};
    if (add_context(transition, top_fd, arena, decisions, err) < 0)
        return -1;
    if (transition->overwrites)
        return 0;
    for (size_t i = 0; i < decisions->count; i++) {
        const struct change *change = &decisions->at[i].judged.change;
        if (is_lost(&decisions->at[i]) && S_ISREG(change->after->mode))
            vec_push(&lost, (struct lost){.path = change->path, .entry = change->after});
    }
    int result = find_needed(top_fd, store, arena, &lost, err);
    for (size_t i = 0; i < decisions->count; i++) {
        struct decision *decision = &decisions->at[i];
        const char *path = decision->judged.change.path;
        if (is_lost(decision) &&
            !(S_ISDIR(decision->judged.change.after->mode) ? is_needed_directory(top_fd, arena, &lost, path)
                                                           : is_needed(&lost, path)))
            decision->course = COURSE_DONE;
    }
    vec_free(&lost);
    return result;
}
