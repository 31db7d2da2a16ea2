#include "hold/flags.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/pattern.h"
#include "base/timespec.h"
#include "git/index.h"
#include "git/repo.h"
#include "hold/aside.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "policy/decide.h"

/* Only the last name is compared for every file. The policy decides about the few that match. */
static void add_name(struct flags *flags, const struct operation *operation)
{
    const char *name = path_name(operation->path);
    bool is_pattern = operation->is_pattern && pattern_has_wildcard(name);
    bool may_begin_otherwise = is_pattern && strchr("*?\\", *name), may_end_otherwise = false;
    if (operation->is_pattern && !is_pattern)
        name = pattern_literal(flags->hold->arena, name);
    unsigned char last = (unsigned char)name[strlen(name) - 1];
    may_end_otherwise = is_pattern && strchr("*?", last);
    for (int byte = 0; may_begin_otherwise && may_end_otherwise && byte <= UCHAR_MAX; byte++)
        flags->first[byte] = true;
    if (may_begin_otherwise)
        flags->last[last] = true;
    else
        flags->first[(unsigned char)*name] = true;
    if (is_pattern) {
        vec_push(&flags->name_patterns, name);
        return;
    }
    *map_at(&flags->names, name, strlen(name)) = flags;
}

/* "**\/.cargo/config.toml": a link `.cargo` would lead to a config.toml that lies elsewhere. */
static void add_ways(struct flags *flags, const struct operation *operation)
{
    struct arena *arena = flags->hold->arena;
    const char *at = operation->path + 1;
    for (const char *slash; (slash = strchr(at, '/')); at = slash + 1) {
        const char *name = arena_copy(arena, at, (size_t)(slash - at));
        if (!operation->is_pattern)
            *map_at(&flags->ways, name, strlen(name)) = flags;
        else if (!pattern_has_wildcard(name))
            *map_at(&flags->ways, pattern_literal(arena, name), strlen(pattern_literal(arena, name))) = flags;
    }
}

bool flags_may_lead(const struct flags *flags, const char *name)
{
    return map_get(&flags->ways, name, strlen(name)) != NULL;
}

bool flags_may_be_flagged(const struct flags *flags, const char *name, size_t size)
{
    if (!size || (!flags->first[(unsigned char)*name] && !flags->last[(unsigned char)name[size - 1]]))
        return false;
    if (map_get(&flags->names, name, size))
        return true;
    for (size_t i = 0; i < flags->name_patterns.count; i++) {
        if (pattern_matches_name(flags->name_patterns.at[i], name, size))
            return true;
    }
    return false;
}

bool flags_is_flagged(const struct flags *flags, const char *path)
{
    return decide_path(flags->hold->plan->policy, path, NULL).flagged_by != NULL;
}

const char *flags_cause(const struct flags *flags, const char *path)
{
    auto_vec candidate_list candidates = {0};
    decide_collect(flags->hold->plan->policy, path, &candidates);
    vec_each (const struct candidate, candidate, &candidates) {
        if (candidate->rule->cause)
            return arena_printf(flags->hold->arena, "it: %s leads here", candidate->rule->cause);
    }
    return NULL;
}

static bool is_tree(const struct operation *operation)
{
    return operation->kind == OP_BIND_WRITE && operation->is_directory;
}

static void keep_before(struct flags *flags, const char *path)
{
    if (!content_find(&flags->before, path))
        content_add(flags->hold->arena, path, &flags->before);
}

/* Reads flagged files at the top of a tree, where most of them are. To go deeper would cost a walk at every start. */
static void read_top(struct flags *flags, const char *tree)
{
    fs_names names = {0};
    fs_list(flags->hold->plan->policy->request.fs, tree, SIZE_MAX, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *path = path_join(flags->hold->arena, tree, names.at[i]);
        if (!flags_may_be_flagged(flags, names.at[i], strlen(names.at[i])) || !flags_is_flagged(flags, path))
            continue;
        keep_before(flags, path);
        const struct fs_place *place = NULL;
        struct err ignored;
        if (fs_resolve(flags->hold->plan->policy->request.fs, path, &place, &ignored) == 0 && place->links &&
            path_is_beneath(place->real, tree) && strcmp(place->real, tree) != 0)
            keep_before(flags, place->real);
    }
    vec_free(&names);
}

/* The offset of the first name that differs from the previous path. */
static size_t first_new_name(const char *path, const char *before)
{
    size_t start = 0;
    for (size_t i = 0; path[i] && path[i] == before[i]; i++) {
        if (path[i] == '/')
            start = i + 1;
    }
    return start;
}

bool flags_is_flagged_next(const struct flags *flags, struct flagged_walk *walk, const char *path)
{
    size_t start = first_new_name(path, walk->last);
    bool may_be = walk->last_may_be && start > 0;
    for (const char *name = path + start; !may_be && *name;) {
        const char *slash = strchr(name, '/');
        size_t size = slash ? (size_t)(slash - name) : strlen(name);
        may_be = flags_may_be_flagged(flags, name, size);
        name += size + (slash != NULL);
    }
    memcpy(walk->last, path, strlen(path) + 1); /* neither an index nor a snapshot has longer ones */
    walk->last_may_be = may_be;
    return may_be && flags_is_flagged(flags, path_join(flags->hold->arena, walk->tree, path));
}

struct tracked {
    struct flags *flags;
    struct flagged_walk walk;
};

/* Reads a tracked path if one of its names may be flagged. The index is sorted. */
static void read_tracked(void *context, const char *path)
{
    struct tracked *tracked = context;
    struct flags *flags = tracked->flags;
    if (flags_is_flagged_next(flags, &tracked->walk, path))
        keep_before(flags, path_join(flags->hold->arena, tracked->walk.tree, path));
}

enum { INDEX_SMALL = 1024 * 1024, INDEX_LARGEST = 256 * 1024 * 1024 };

static void read_index(struct flags *flags, size_t least, size_t most)
{
    const struct policy *policy = flags->hold->plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        struct tracked tracked = {.flags = flags, .walk.tree = workspace->path};
        if (workspace->git.dirs.count)
            git_index_names(workspace->git.dirs.at[0], least, most, read_tracked, &tracked);
    }
}

/*
 * Of git directories that no snapshot has, because they lie outside every workspace: what git reads first, so that it can be brought
 * back where a run spoiled it.
 */
static void read_outside(struct flags *flags)
{
    static const char *const names[] = {"HEAD", "index",        "packed-refs", "refs",
                                        "info", "objects/info", "shallow",     "gitdir"};
    const struct policy *policy = flags->hold->plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (!workspace->git.outside)
            continue;
        for (size_t i = 0; i < workspace->git.dirs.count; i++) {
            for (size_t j = 0; j < array_len(names); j++)
                keep_before(flags, path_join(flags->hold->arena, workspace->git.dirs.at[i], names[j]));
        }
    }
}

static void read_names(struct flags *flags)
{
    const struct plan *plan = flags->hold->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (plan->operations.at[i].kind != OP_FLAG)
            continue;
        add_name(flags, &plan->operations.at[i]);
        add_ways(flags, &plan->operations.at[i]);
    }
}

static void read_tips(struct flags *flags, struct timespec before)
{
    const struct policy *policy = flags->hold->plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (workspace->git.dirs.count)
            versions_begin(&flags->versions, flags->hold->arena, workspace->git.dirs.at[0], before);
        for (size_t i = 1; i < workspace->git.dirs.count; i++) {
            if (git_module_name(workspace->git.dirs.at[0], workspace->git.dirs.at[i]))
                versions_begin_part(&flags->versions, flags->hold->arena, workspace->git.dirs.at[i], before);
        }
    }
}

void flags_begin(struct flags *flags)
{
    const struct plan *plan = flags->hold->plan;
    clock_gettime(CLOCK_REALTIME_COARSE, &flags->start);
    if (flags->only)
        return; /* what it holds is the trial's own: nothing is brought back */
    read_names(flags);
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_FLAG && !operation->is_pattern && !operation->missing)
            keep_before(flags, operation->path);
    }
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (is_tree(&plan->operations.at[i]))
            read_top(flags, plan->operations.at[i].path);
    }
    read_index(flags, 0, INDEX_SMALL);
    read_outside(flags);
}

void flags_read(struct flags *flags)
{
    /*
     * The command waits for this function. A commit by the host in the same clock tick as the start is not the
     * command's.
     */
    const struct timespec always = {.tv_sec = INT64_MAX};
    size_t certain = flags->before.count, kept = certain;
    if (flags->only)
        return;
    read_index(flags, INDEX_SMALL + 1, INDEX_LARGEST);
    read_tips(flags, always);
    /* Files that changed after the start are dropped: their old content is unknown. */
    for (size_t i = certain; i < flags->before.count; i++) {
        if (!flags_is_since(flags, flags->before.at[i].changed))
            flags->before.at[kept++] = flags->before.at[i];
    }
    flags->before.count = kept;
}

void flags_recall(struct flags *flags, struct timespec start)
{
    flags->start = start;
    read_names(flags);
    read_tips(flags, start);
}

bool flags_is_since(const struct flags *flags, struct timespec time)
{
    return timespec_order(time, flags->start) >= 0;
}

/* When something in a directory changed last, or its own name. */
struct directory_time {
    bool is_fixed; /* the command could neither make nor rename it */
    struct timespec changed;
};

/* Does it lie above a path that is pinned? Then it is a mount point, or its name is guarded as one. */
static bool has_pin_inside(const struct hold *hold, const char *directory)
{
    for (size_t i = 0; i < hold->plan->operations.count; i++) {
        if (hold->plan->operations.at[i].kind == OP_FREEZE && !hold_operation(hold, i).missing &&
            path_is_inside(hold->plan->operations.at[i].path, directory))
            return true;
    }
    return false;
}

static bool is_top(const struct hold *hold, const char *directory)
{
    vec_each (const struct operation, tree, &hold->plan->operations) {
        if (is_tree(tree) && strcmp(tree->path, directory) == 0)
            return true;
    }
    vec_each (const struct given_tree, given, &hold->given) {
        if (given->is_written && strcmp(given->path, directory) == 0)
            return true;
    }
    return false;
}

/* So is the top of a tree. What lies in none cannot be written at all. */
static bool is_fixed(const struct hold *hold, const char *directory)
{
    bool is_inside = false;
    vec_each (const struct operation, tree, &hold->plan->operations)
        is_inside |= is_tree(tree) && path_is_inside(directory, tree->path);
    vec_each (const struct given_tree, given, &hold->given)
        is_inside |= given->is_written && path_is_inside(directory, given->path);
    return !is_inside || is_top(hold, directory) || has_pin_inside(hold, directory);
}

static const struct directory_time *time_of(struct flags *flags, const char *directory)
{
    void **place = map_at(&flags->directories, directory, strlen(directory));
    struct directory_time *time = *place;
    if (time)
        return time;
    *place = time = arena_new(flags->hold->arena, struct directory_time);
    struct stat status;
    bool is_known = lstat(directory, &status) == 0;
    time->is_fixed = is_fixed(flags->hold, directory);
    time->changed = is_known ? status.st_ctim : (struct timespec){.tv_sec = INT64_MAX};
    return time;
}

bool flags_came_since(struct flags *flags, const struct file_content *now, const char *top)
{
    struct arena *arena = flags->hold->arena;
    if (flags_is_since(flags, now->changed))
        return true;
    for (const char *at = path_parent(arena, now->path); !top || strcmp(at, top) != 0;
         at = path_parent(arena, at)) {
        const struct directory_time *time = time_of(flags, at);
        if (time->is_fixed)
            return false;
        if (flags_is_since(flags, time->changed))
            return true;
        if (strcmp(path_name(at), ".git") == 0)
            return false; /* it was named as a new repository when it became one, wherever it is moved since */
    }
    return false;
}

bool flags_is_new(struct flags *flags, const struct file_content *now, const struct file_content **ret_before)
{
    struct arena *arena = flags->hold->arena;
    *ret_before = NULL;
    if (hold_is_as_frozen(flags->hold, now) || hold_was_kept(flags->hold, now->path))
        return false;
    const struct file_content *before = content_find(&flags->before, now->path);
    enum past_answer answer = PAST_SOMETHING;
    if (!before || !bytes_known(before->bytes)) { /* at the start less is kept than the snapshot has */
        struct file_content *past = arena_new(arena, struct file_content);
        answer = past_find(&flags->past, arena, now, past);
        if (answer == PAST_SOMETHING)
            before = past;
    }
    *ret_before = before;
    return before ? !content_equal(before, now)
                  : answer == PAST_NOTHING || flags_came_since(flags, now, NULL);
}

void flags_add_change(struct flags *flags, struct new_content change)
{
    void **place = map_at(&flags->changed, change.now->path, strlen(change.now->path));
    if (*place)
        return; /* by another way to the same file */
    *place = flags;
    struct file_content *now = arena_new(flags->hold->arena, struct file_content);
    *now = *change.now;
    change.now = now;
    vec_push(&flags->changes, change);
}

void flags_add_sighting(struct flags *flags, struct sighting sighting)
{
    vec_push(&flags->sightings, sighting);
}

void flags_add_unsearched(struct flags *flags, const char *path)
{
    flags_add_sighting(flags,
                       (struct sighting){"a place that could not be searched for changes of flagged files",
                                         path, "look through it yourself before you go on"});
}

/*
 * Holds a link or a file that is new and stands where a directory was, so that what lay in that can be brought back. Returns whether the
 * place is free now.
 */
static bool clear_way(struct flags *flags, const char *directory)
{
    struct hold *hold = flags->hold;
    const struct file_content *before = NULL;
    file_contents found = {0};
    struct err ignored;
    content_add(hold->arena, directory, &found);
    bool is_in_way = found.count && !S_ISDIR(found.at[0].mode) && strcmp(found.at[0].path, directory) == 0 &&
                     flags_is_new(flags, &found.at[0], &before);
    vec_free(&found);
    if (!is_in_way || aside_move(hold->arena, hold->session->folder_fd, directory, &ignored) < 0)
        return false;
    journal_event(&hold->session->journal, "held", "path", directory);
    vec_push(&flags->cleared, directory);
    return true;
}

/* Makes the directories above a path that are gone, too. */
static int make_directories(struct flags *flags, const char *path, struct err *err)
{
    struct arena *arena = flags->hold->arena;
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *directory = arena_copy(arena, path, (size_t)(slash - path));
        auto_fd int fd = open_absolute(directory, O_PATH | O_DIRECTORY);
        int errnum = errno;
        if (fd >= 0)
            continue;
        if (errnum != ENOENT && !clear_way(flags, directory))
            return err_sys(err, errnum, "cannot make %s, to bring %s back", directory, path);
        auto_fd int parent_fd = open_parent_absolute(directory);
        if (parent_fd < 0 || directories_allow_owner(parent_fd, S_IRWXU) < 0 ||
            (mkdirat(parent_fd, path_name(directory), 0777) < 0 && errno != EEXIST))
            return err_sys(err, errno, "cannot make %s, to bring %s back", directory, path);
    }
    return 0;
}

/* Makes a flagged file that is gone anew. */
static int put_back(struct flags *flags, const struct new_content *change, struct err *err)
{
    struct hold *hold = flags->hold;
    if (make_directories(flags, change->before->path, err) < 0 || content_restore(change->before, err) < 0)
        return -1;
    journal_event(&hold->session->journal, "restored", "path", change->before->path);
    return 0;
}

int flags_hold(struct flags *flags, const struct new_content *change, struct err *err)
{
    struct hold *hold = flags->hold;
    if (change->is_removed)
        return put_back(flags, change, err);
    int moved = aside_move(hold->arena, hold->session->folder_fd, change->now->path, err);
    if (moved < 0)
        return -1;
    bool is_held = moved != ASIDE_RENAMED;
    journal_event(&hold->session->journal, is_held ? "held" : "not-held", "path", change->now->path);
    bool was_file = change->before && (S_ISREG(change->before->mode) || S_ISLNK(change->before->mode));
    if (was_file && content_restore(change->before, err) < 0)
        return -1;
    return is_held ? 0 : -1;
}

void flags_free(struct flags *flags)
{
    map_free(&flags->names);
    map_free(&flags->ways);
    map_free(&flags->changed);
    map_free(&flags->directories);
    vec_free(&flags->name_patterns);
    vec_free(&flags->before);
    past_free(&flags->past);
    versions_free(&flags->versions);
    vec_free(&flags->changes);
    vec_free(&flags->sightings);
    vec_free(&flags->left);
    vec_free(&flags->cleared);
}
