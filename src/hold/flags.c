#include "hold/flags.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/pattern.h"
#include "git/index.h"
#include "git/objects.h"
#include "hold/aside.h"
#include "hold/nested.h"
#include "kernel/beneath.h"
#include "policy/decide.h"

/* Only the last names are compared for every file; the policy itself is asked about the few that match. */
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

static bool may_be_flagged(const struct flags *flags, const char *name, size_t size)
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

static bool is_flagged(const struct flags *flags, const char *path)
{
    return decide_path(flags->hold->plan->policy, path, NULL).access == ACCESS_FLAGGED;
}

static bool is_tree(const struct operation *operation)
{
    return operation->kind == OP_BIND_WRITE && operation->is_directory;
}

/* Where a flagged link leads, if that is a place in the same tree: what counts is what lies there. Else NULL. */
static const char *target_in_tree(const struct flags *flags, int directory_fd, const char *directory,
                                  const char *name, const char *tree)
{
    char target[PATH_LONGEST];
    ssize_t size = readlinkat(directory_fd, name, target, sizeof(target) - 1);
    if (size <= 0)
        return NULL;
    target[size] = '\0';
    const char *path = path_clean(flags->hold->arena, directory, target);
    return path_is_beneath(path, tree) && strcmp(path, tree) != 0 ? path : NULL;
}

static void keep_before(struct flags *flags, const char *path)
{
    if (!content_find(&flags->before, path))
        content_add(flags->hold->arena, path, &flags->before);
}

/* At the top of a tree, where most of such files are. Further in would cost a walk at every start. */
static void read_top(struct flags *flags, const char *tree)
{
    fs_names names = {0};
    auto_fd int fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    fs_list(flags->hold->plan->policy->request.fs, tree, SIZE_MAX, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *path = path_join(flags->hold->arena, tree, names.at[i]);
        if (!may_be_flagged(flags, names.at[i], strlen(names.at[i])) || !is_flagged(flags, path))
            continue;
        const char *target = target_in_tree(flags, fd, tree, names.at[i], tree);
        keep_before(flags, path);
        if (target)
            keep_before(flags, target);
    }
    vec_free(&names);
}

struct tracked {
    struct flags *flags;
    const char *tree;
    char last[PATH_LONGEST]; /* the path before, whose directories need not be looked at again */
    bool last_is_flagged;
};

/* Where the first name begins that the path before did not have. */
static size_t first_new_name(const char *path, const char *before)
{
    size_t start = 0;
    for (size_t i = 0; path[i] && path[i] == before[i]; i++) {
        if (path[i] == '/')
            start = i + 1;
    }
    return start;
}

/* A path that git tracks: one of its names, the last or another, may be flagged. The index is sorted. */
static void read_tracked(void *context, const char *path)
{
    struct tracked *tracked = context;
    struct flags *flags = tracked->flags;
    size_t start = first_new_name(path, tracked->last);
    bool may_be = tracked->last_is_flagged && start > 0;
    for (const char *name = path + start; !may_be && *name;) {
        const char *slash = strchr(name, '/');
        size_t size = slash ? (size_t)(slash - name) : strlen(name);
        may_be = may_be_flagged(flags, name, size);
        name += size + (slash != NULL);
    }
    memcpy(tracked->last, path, strlen(path) + 1); /* the index has no longer ones */
    tracked->last_is_flagged = may_be;
    const char *full = may_be ? path_join(flags->hold->arena, tracked->tree, path) : NULL;
    if (full && is_flagged(flags, full))
        keep_before(flags, full);
}

enum { INDEX_SMALL = 1024 * 1024, INDEX_LARGEST = 256 * 1024 * 1024 };

static void read_index(struct flags *flags, size_t least, size_t most)
{
    const struct policy *policy = flags->hold->plan->policy;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct workspace *workspace = &policy->workspaces.at[i];
        struct tracked tracked = {.flags = flags, .tree = workspace->path};
        if (workspace->git.dirs.count)
            git_index_names(workspace->git.dirs.at[0], least, most, read_tracked, &tracked);
    }
}

void flags_begin(struct flags *flags)
{
    const struct plan *plan = flags->hold->plan;
    clock_gettime(CLOCK_REALTIME_COARSE, &flags->start);
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind != OP_FLAG)
            continue;
        add_name(flags, operation);
        if (!operation->is_pattern && !operation->missing)
            keep_before(flags, operation->path);
    }
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (is_tree(&plan->operations.at[i]))
            read_top(flags, plan->operations.at[i].path);
    }
    read_index(flags, 0, INDEX_SMALL);
}

void flags_read(struct flags *flags)
{
    const struct policy *policy = flags->hold->plan->policy;
    size_t certain = flags->before.count, kept = certain;
    read_index(flags, INDEX_SMALL + 1, INDEX_LARGEST);
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct workspace *workspace = &policy->workspaces.at[i];
        if (workspace->git.dirs.count)
            versions_begin(&flags->versions, flags->hold->arena, workspace->git.dirs.at[0], flags->start);
    }
    /* By now the command may run: what it has changed already is not how it was. */
    for (size_t i = certain; i < flags->before.count; i++) {
        if (!flags_is_since(flags, flags->before.at[i].changed))
            flags->before.at[kept++] = flags->before.at[i];
    }
    flags->before.count = kept;
}

bool flags_is_since(const struct flags *flags, struct timespec time)
{
    return time.tv_sec > flags->start.tv_sec ||
           (time.tv_sec == flags->start.tv_sec && time.tv_nsec >= flags->start.tv_nsec);
}

static bool repository_had(struct flags *flags, const struct file_content *content)
{
    const struct policy *policy = flags->hold->plan->policy;
    if (!content->bytes || !S_ISREG(content->mode))
        return false;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct workspace *workspace = &policy->workspaces.at[i];
        if (!path_is_beneath(content->path, workspace->path) || strcmp(content->path, workspace->path) == 0)
            continue;
        for (size_t j = 0; j < workspace->git.dirs.count; j++) {
            if (git_had_blob(workspace->git.dirs.at[j], content->bytes, content->size, flags->start))
                return true;
        }
        if (versions_include(&flags->versions, workspace->path, content->path + strlen(workspace->path) + 1,
                             content->bytes, content->size))
            return true;
    }
    return false;
}

/* All that lies at a flagged path and is not as it was. `is_sure`: whatever the policy says of the path itself. */
static void compare(struct flags *flags, const char *path, bool is_sure)
{
    file_contents found = {0};
    content_add(flags->hold->arena, path, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct file_content *before = content_find(&flags->before, found.at[i].path);
        bool is_same =
            before ? content_equal(before, &found.at[i]) : !flags_is_since(flags, found.at[i].changed);
        if (is_same || (!is_sure && !is_flagged(flags, found.at[i].path)) ||
            repository_had(flags, &found.at[i]))
            continue;
        struct file_content *now = arena_new(flags->hold->arena, struct file_content);
        *now = found.at[i];
        vec_push(&flags->changes, (struct new_content){now, before, NULL});
    }
    vec_free(&found);
}

enum { MOST_ENTRIES = 2000000, DEEPEST = 128 };

struct walk {
    struct flags *flags;
    const char *tree;
    bool is_workspace;
    size_t entries;
};

/* A link that was made during the run and leads out of its tree: what follows it on the host is led astray. */
static void look_at_link(const struct walk *walk, int directory_fd, const char *directory, const char *name)
{
    struct stat status;
    char target[PATH_LONGEST];
    ssize_t size = fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
                           !flags_is_since(walk->flags, status.st_ctim)
                       ? -1
                       : readlinkat(directory_fd, name, target, sizeof(target) - 1);
    if (size < 0)
        return;
    target[size] = '\0';
    struct arena *arena = walk->flags->hold->arena;
    if (!path_is_beneath(path_clean(arena, directory, target), walk->tree))
        vec_push(&walk->flags->sightings, (struct sighting){"a link that leads out of the workspace",
                                                            path_join(arena, directory, name)});
}

/* A tree inside another is walked by itself. */
static bool is_other_tree(const struct walk *walk, const char *path)
{
    const struct plan *plan = walk->flags->hold->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (is_tree(&plan->operations.at[i]) && strcmp(plan->operations.at[i].path, path) == 0)
            return true;
    }
    return false;
}

static void walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth);

static void visit(struct walk *walk, int directory_fd, const char *path, const struct dirent *entry,
                  unsigned depth)
{
    struct arena *arena = walk->flags->hold->arena;
    const char *name = entry->d_name;
    if (strcmp(name, ".git") == 0 && walk->is_workspace) {
        nested_look(walk->flags, path_join(arena, path, name));
        return;
    }
    if (may_be_flagged(walk->flags, name, strlen(name))) {
        const char *full = path_join(arena, path, name);
        if (is_flagged(walk->flags, full)) {
            compare(walk->flags, full, false);
            const char *target = target_in_tree(walk->flags, directory_fd, path, name, walk->tree);
            if (target)
                compare(walk->flags, target, true);
            return;
        }
    }
    if (entry->d_type == DT_LNK && walk->is_workspace)
        look_at_link(walk, directory_fd, path, name);
    if (strcmp(name, "HEAD") == 0 && walk->is_workspace)
        nested_look(walk->flags, path);
    if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
        return;
    const char *full = path_join(arena, path, name);
    if (is_other_tree(walk, full))
        return;
    int fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        walk_directory(walk, fd, full, depth + 1);
}

/* Takes the descriptor over. */
static void walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth)
{
    DIR *directory = depth > DEEPEST ? NULL : fdopendir(directory_fd);
    if (!directory) {
        close(directory_fd);
        return;
    }
    for (const struct dirent *entry; walk->entries < MOST_ENTRIES && (entry = readdir(directory));) {
        walk->entries++;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(walk, dirfd(directory), path, entry, depth);
    }
    closedir(directory);
}

/* Caches that a toolchain may write hold hundreds of thousands of files, and nothing that is flagged. */
static bool is_worth_walking(const struct plan *plan, const struct operation *tree)
{
    for (size_t i = 0; !tree->is_workspace && i < plan->operations.count; i++) {
        const struct operation *flag = &plan->operations.at[i];
        if (flag->kind == OP_FLAG && (flag->is_pattern ? pattern_may_match_beneath(flag->path, tree->path)
                                                       : path_is_beneath(flag->path, tree->path)))
            return true;
    }
    return tree->is_workspace;
}

void flags_find(struct flags *flags)
{
    const struct plan *plan = flags->hold->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (!is_tree(&plan->operations.at[i]) || !is_worth_walking(plan, &plan->operations.at[i]))
            continue;
        struct walk walk = {flags, plan->operations.at[i].path, plan->operations.at[i].is_workspace, 0};
        int fd = open_absolute(walk.tree, O_RDONLY | O_DIRECTORY);
        if (fd >= 0)
            walk_directory(&walk, fd, walk.tree, 0);
        if (walk.entries >= MOST_ENTRIES)
            hold_note(
                flags->hold, "flags-unfinished", walk.tree,
                arena_printf(flags->hold->arena,
                             "%s is too large to be searched for what the command left in flagged places",
                             walk.tree));
    }
}

int flags_hold(struct flags *flags, const struct new_content *change, struct err *err)
{
    struct hold *hold = flags->hold;
    if (aside_move(hold->arena, hold->session->folder_fd, change->now->path, err) < 0)
        return -1;
    journal_event(&hold->session->journal, "held", "path", change->now->path);
    return change->before && change->before->bytes ? content_restore(change->before, err) : 0;
}

void flags_free(struct flags *flags)
{
    map_free(&flags->names);
    vec_free(&flags->name_patterns);
    vec_free(&flags->before);
    versions_free(&flags->versions);
    vec_free(&flags->changes);
    vec_free(&flags->sightings);
}
