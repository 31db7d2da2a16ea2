#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/pattern.h"
#include "hold/flags.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "policy/decide.h"

enum {
    MOST_ENTRIES = 2000000,
    MOST_KEPT_OPEN = 128,
    MOST_LINKS = 8,
    /* Bytes of the paths that are looked up to follow links: some ten paths for most of them, and a few seconds for all. */
    MOST_LOOKED_UP = 512 << 20,
};

/* A link that is followed after the walk: what is decided by names alone does not wait for it. */
struct link {
    const char *directory, *name;
    bool is_flagged, may_lead; /* to flagged content: these are followed first */
    bool is_new;
    unsigned links; /* that led to it */
};

struct walk {
    struct flags *flags;
    struct fsview now; /* where links lead by now */
    const char *tree;
    bool is_workspace; /* or lies in one */
    size_t entries;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct link) links;
    size_t left_links; /* that were not followed */
    struct skips dependency_folders;
    const char *dependencies; /* the folder of dependencies that is being walked; NULL: none */
    bool
        is_compared; /* a flagged folder is being walked: its files were compared, and repositories are left */
};

static bool became_executable(const struct file_content *before, const struct file_content *now)
{
    return before && bytes_equal(before->bytes, now->bytes) && !(before->mode & 0111) && now->mode & 0111;
}

/*
 * Compares a flagged path, and everything below it, with the start. `is_sure`: the path counts as flagged whatever the
 * policy says. A link that existed before is followed within the same tree: a program that opens the flagged name reads
 * the target.
 */
static void compare(struct walk *walk, const char *path, bool is_sure, unsigned links)
{
    struct flags *flags = walk->flags;
    file_contents found = {0};
    content_add_all(flags->hold->arena, path, &found);
    if (found.trouble)
        flags_add_unsearched(walk->flags, path);
    for (size_t i = 0; i < found.count; i++) {
        const struct file_content *now = &found.at[i], *before = NULL;
        if (!is_sure && !flags_is_flagged(flags, now->path))
            continue;
        bool is_new = flags_is_new(flags, now, &before);
        struct new_content change = {now, before, .runs = flags_cause(flags, now->path),
                                     .may_be_old = !became_executable(before, now)};
        if (is_new && (is_sure || !dependencies_leave(flags, walk->dependencies, &change)))
            flags_add_change(flags, change);
        if (!is_new && S_ISLNK(now->mode) && links < MOST_LINKS)
            vec_push(&walk->links, (struct link){path_parent(flags->hold->arena, now->path),
                                                 path_name(now->path), .is_flagged = true, .links = links});
    }
    vec_free(&found);
}

/* Is one of the names on the way of a path `.git`, or does a git directory of the plan lie there? */
static bool is_in_git(const struct walk *walk, const char *path)
{
    const char *found = strstr(path, "/.git");
    for (; found; found = strstr(found + 1, "/.git")) {
        if (!found[5] || found[5] == '/')
            return true;
    }
    vec_each (const struct workspace, workspace, &walk->flags->hold->plan->policy->workspaces) {
        for (size_t i = 0; i < workspace->git.dirs.count; i++) {
            if (path_is_beneath(path, workspace->git.dirs.at[i]) &&
                strcmp(workspace->git.dirs.at[i], workspace->path) != 0)
                return true;
        }
    }
    return false;
}

/*
 * A program of the host that writes through a link in the tree can write what is guarded: a pin exists only inside the sandbox, and a
 * flagged file is only compared under its own name.
 */
static void look_where_link_leads(const struct walk *walk, const char *link, const char *target)
{
    struct path_verdict decided = decide_path(walk->flags->hold->plan->policy, target, NULL);
    if (is_in_git(walk, target) || decided.access == ACCESS_FROZEN)
        flags_add_sighting(
            walk->flags, (struct sighting){"a link to a frozen file or a file of git", link,
                                           "a program on your machine that writes to it would write there"});
    else if (decided.flagged_by)
        flags_add_sighting(walk->flags, (struct sighting){"a link that leads to a flagged path", link});
}

/* Reports a link that was made during the run and leads out of its tree, or to what is guarded in it. */
static void look_at_link(const struct walk *walk, const char *path, const struct fs_place *place)
{
    if (path_is_beneath(place->real, walk->tree))
        look_where_link_leads(walk, path, place->real);
    else if (!decide_artifacts(walk->flags->hold->plan->policy, path + strlen(walk->tree) + 1, true))
        flags_add_sighting(walk->flags, (struct sighting){"a link that leads out of the workspace", path});
}

static bool is_tree(const struct operation *operation)
{
    return operation->kind == OP_BIND_WRITE && operation->is_directory;
}

/* Is this another tree of the plan? It is walked separately. */
static bool is_other_tree(const struct walk *walk, const char *path)
{
    const struct plan *plan = walk->flags->hold->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (is_tree(&plan->operations.at[i]) && strcmp(plan->operations.at[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Opens a directory that the command made unreadable: programs could still open files in it by name. */
static DIR *list_closed(const struct walk *walk, int directory_fd, const char *path)
{
    struct stat status;
    if (fstat(directory_fd, &status) < 0 || !flags_is_since(walk->flags, status.st_ctim))
        return NULL;
    DIR *directory =
        directories_allow_owner(directory_fd, DIRECTORY_LOOKS) == 0 ? directories_list(directory_fd) : NULL;
    if (walk->is_workspace)
        flags_add_sighting(
            walk->flags,
            (struct sighting){directory ? "a directory that could not be read; bawn restored your access"
                                        : "a directory that cannot be read",
                              path});
    return directory;
}

static DIR *list(const struct walk *walk, int directory_fd, const char *path)
{
    DIR *directory = directories_list(directory_fd);
    if (!directory && errno == EACCES)
        directory = list_closed(walk, directory_fd, path);
    if (!directory && errno_is_of_machine(errno))
        flags_add_unsearched(walk->flags, path);
    return directory;
}

/* `parent_fd` is -1 where it was closed on the way down. */
static int open_folder(const struct walk *walk, int parent_fd, const char *path)
{
    int fd = parent_fd < 0
                 ? open_absolute(path, O_PATH | O_DIRECTORY)
                 : openat(parent_fd, path_name(path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno_is_of_machine(errno))
        flags_add_unsearched(walk->flags, path);
    return fd;
}

/*
 * A link may stand in for a directory above a flagged name: files below its target are then flagged under the name of
 * the link. Only targets in the same tree count.
 */
static void look_behind_link(struct walk *walk, const char *link, const struct fs_place *place)
{
    if (place->kind != FILE_DIRECTORY || !path_is_beneath(place->real, walk->tree) ||
        path_is_beneath(link, place->real))
        return;
    struct arena *arena = walk->flags->hold->arena;
    file_contents found = {0};
    content_add_all(arena, place->real, &found);
    if (found.trouble)
        flags_add_unsearched(walk->flags, place->real);
    for (size_t i = 0; i < found.count; i++) {
        const char *alias = arena_printf(arena, "%s%s", link, found.at[i].path + strlen(place->real));
        const struct file_content *before = NULL;
        if (flags_is_flagged(walk->flags, alias) && flags_is_new(walk->flags, &found.at[i], &before))
            flags_add_change(walk->flags, (struct new_content){&found.at[i], before});
    }
    vec_free(&found);
}

/* A link that is new and could stand in for a directory of flagged files is held unfollowed; the first other one is named. */
static void leave_link(struct walk *walk, const struct link *link, const char *path)
{
    static const char why[] = "may lead to flagged files, and there are too many links to follow";
    const struct file_content *before = NULL;
    file_contents found = {0};
    if (link->may_lead)
        content_add(walk->flags->hold->arena, path, &found);
    if (found.count && flags_is_new(walk->flags, &found.at[0], &before))
        flags_add_change(walk->flags, (struct new_content){&found.at[0], before, .why = why});
    else if (!walk->left_links++)
        flags_add_sighting(walk->flags,
                           (struct sighting){"more links than can be followed", path,
                                             "look where they lead before you go on. This is one of them"});
    vec_free(&found);
}

static void follow_link(struct walk *walk, const struct link *link)
{
    const char *path = path_join(walk->flags->hold->arena, link->directory, link->name);
    const struct fs_place *place = NULL;
    struct err ignored;
    if (walk->now.looked_up > MOST_LOOKED_UP) {
        leave_link(walk, link, path);
        return;
    }
    /* Resolved completely: other links on the way may lead further up than their names say. */
    if (fs_resolve(&walk->now, path, &place, &ignored) < 0)
        return;
    if (link->is_flagged && path_is_beneath(place->real, walk->tree) && !path_is_beneath(path, place->real))
        compare(walk, place->real, true, link->links + 1);
    if (link->is_new)
        look_at_link(walk, path, place);
    if (link->may_lead)
        look_behind_link(walk, path, place);
}

/* Those that lead to further ones add them. */
static void follow_links(struct walk *walk)
{
    for (int leads = 1; leads >= 0; leads--) {
        for (size_t i = 0; i < walk->links.count; i++) {
            const struct link link = walk->links.at[i];
            if ((link.is_flagged || link.may_lead) == leads)
                follow_link(walk, &link);
        }
    }
    vec_free(&walk->links);
}

/* Notes a link that is to be followed. */
static void note_link(struct walk *walk, int directory_fd, const char *directory, const char *name)
{
    struct stat status;
    struct link link = {directory, .may_lead = flags_may_lead(walk->flags, name)};
    link.is_new = fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                  flags_is_since(walk->flags, status.st_ctim);
    if (!link.is_new && !link.may_lead)
        return;
    link.name = arena_str(walk->flags->hold->arena, name);
    vec_push(&walk->links, link);
}

/* The path of an entry that is flagged, or NULL. Few names may be: no others are joined. */
static const char *flagged_path(const struct walk *walk, const char *directory, const char *name)
{
    if (walk->is_compared || !flags_may_be_flagged(walk->flags, name, strlen(name)))
        return NULL;
    const char *path = path_join(walk->flags->hold->arena, directory, name);
    return flags_is_flagged(walk->flags, path) ? path : NULL;
}

/* Returns whether it is a directory to be walked. */
static bool visit(struct walk *walk, int directory_fd, const char *path, const struct dirent *entry)
{
    struct arena *arena = walk->flags->hold->arena;
    const char *name = entry->d_name;
    if (strcmp(name, ".git") == 0) {
        nested_look(walk->flags, path_join(arena, path, name));
        return false;
    }
    const char *flagged = flagged_path(walk, path, name);
    if (flagged) {
        compare(walk, flagged, false, 0);
    } else if (entry->d_type == DT_LNK && walk->is_workspace && !walk->is_compared) {
        note_link(walk, directory_fd, path, name);
    }
    if (strcmp(name, "HEAD") == 0)
        nested_look(walk->flags, path);
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
}

static void walk_folder(struct walk *walk, int parent_fd, const char *path, unsigned depth);

/*
 * Visits all entries before it descends: a directory with millions of files hides nothing beside it. From
 * MOST_KEPT_OPEN levels on, descriptors are closed on the way down. Owns the descriptor.
 */
static void walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth)
{
    fs_names folders = {0};
    auto_fd int own_fd = directory_fd;
    DIR *directory = list(walk, own_fd, path);
    int trouble = 0;
    for (const struct dirent *entry;
         directory && walk->entries < MOST_ENTRIES && (entry = directories_next(directory, &trouble));) {
        walk->entries++;
        if (visit(walk, own_fd, path, entry))
            vec_push(&folders, arena_str(walk->flags->hold->arena, entry->d_name));
    }
    if (trouble)
        flags_add_unsearched(walk->flags, path);
    if (directory)
        closedir(directory);
    if (depth >= MOST_KEPT_OPEN)
        close(fd_take(&own_fd));
    for (size_t i = 0; i < folders.count && walk->entries < MOST_ENTRIES; i++)
        walk_folder(walk, own_fd, path_join(walk->flags->hold->arena, path, folders.at[i]), depth + 1);
    vec_free(&folders);
}

/* Paths longer than the kernel takes are reported and not walked. */
static void walk_folder(struct walk *walk, int parent_fd, const char *path, unsigned depth)
{
    bool is_too_deep = strlen(path) >= PATH_LONGEST;
    int fd = is_too_deep || is_other_tree(walk, path) ? -1 : open_folder(walk, parent_fd, path);
    if (is_too_deep)
        flags_add_sighting(walk->flags,
                           (struct sighting){"a directory that is nested too deep to be searched", path,
                                             "check what it is for"});
    const char *around = walk->dependencies;
    bool was_compared = walk->is_compared;
    walk->is_compared |= flags_may_be_flagged(walk->flags, path_name(path), strlen(path_name(path))) &&
                         flags_is_flagged(walk->flags, path);
    if (!around && walk->is_workspace &&
        dependencies_are_in(&walk->dependency_folders, parent_fd, path_name(path)))
        walk->dependencies = path;
    if (fd >= 0)
        walk_directory(walk, fd, path, depth);
    walk->dependencies = around;
    walk->is_compared = was_compared;
}

/* A tree of a workspace, or one that a `write` rule opens in a workspace that is otherwise closed. */
static bool is_of_workspace(const struct plan *plan, const struct operation *tree)
{
    vec_each (const struct workspace, workspace, &plan->policy->workspaces) {
        if (path_is_beneath(tree->path, workspace->path))
            return true;
    }
    return tree->is_workspace;
}

/* Does the operation say that something in the tree is flagged, or that a repository lies in it? */
static bool concerns(const struct operation *operation, const char *tree)
{
    if (operation->kind == OP_FREEZE)
        return operation->because->path.start == START_GIT && path_is_beneath(operation->path, tree);
    return operation->kind == OP_FLAG &&
           (operation->is_pattern ? pattern_may_match_beneath(operation->path, tree)
                                  : path_is_beneath(operation->path, tree));
}

/* Toolchain caches hold hundreds of thousands of files, nothing flagged and no repository: they are skipped. */
static bool is_worth_walking(const struct plan *plan, const struct operation *tree)
{
    bool is_needed = is_of_workspace(plan, tree);
    for (size_t i = 0; !is_needed && i < plan->operations.count; i++)
        is_needed = concerns(&plan->operations.at[i], tree->path);
    return is_needed;
}

static bool may_be_version(const struct workspace *workspace, const struct new_content *change)
{
    return change->may_be_old && S_ISREG(change->now->mode) && bytes_known(change->now->bytes) &&
           path_is_beneath(change->now->path, workspace->path);
}

/*
 * What git runs is held unless it is the version that is checked out now: git brought it there, with a checkout, a merge or a rebase. Any other
 * version of the history may be one that an earlier run made for this. What stays is named.
 */
static bool was_brought(struct flags *flags, const struct workspace *workspace, const char *runs,
                        const struct version *version)
{
    struct arena *arena = flags->hold->arena;
    struct git_position head;
    if (!gitdir_head(flags, workspace, &head) ||
        !versions_commit_has(&flags->versions, workspace->path, head.digits, version))
        return false;
    flags_add_sighting(flags, (struct sighting){"another version of a program that git runs",
                                                arena_printf(arena, "%s, as %.10s has it (git runs %s)",
                                                             path_join(arena, workspace->path, version->path),
                                                             head.digits, runs),
                                                "look at it before you use git here"});
    return true;
}

/* Drops changes whose content the repository already had: they are not new. */
static void drop_old_versions(struct flags *flags, const struct workspace *workspace)
{
    new_contents *changes = &flags->changes;
    VEC(struct version) asked = {0};
    for (size_t i = 0; i < changes->count; i++) {
        const struct file_content *now = changes->at[i].now;
        if (may_be_version(workspace, &changes->at[i]))
            vec_push(&asked, (struct version){now->path + strlen(workspace->path) + 1, now->bytes});
    }
    versions_find(&flags->versions, workspace->path, asked.at, asked.count);
    size_t kept = 0, answer = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct version *version =
            may_be_version(workspace, &changes->at[i]) ? &asked.at[answer++] : NULL;
        const char *runs = changes->at[i].runs;
        bool was_there = version && version->was_there;
        if (!was_there || (runs && !was_brought(flags, workspace, runs, version)))
            changes->at[kept++] = changes->at[i];
    }
    changes->count = kept;
    vec_free(&asked);
}

static void search_tree(struct flags *flags, const struct operation *tree)
{
    const struct plan *plan = flags->hold->plan;
    struct walk walk = {.flags = flags,
                        .now = {.root_fd = plan->policy->request.fs->root_fd, .arena = flags->hold->arena},
                        .tree = tree->path,
                        .is_workspace = is_of_workspace(plan, tree)};
    dependencies_begin(flags->hold->arena, &walk.dependency_folders);
    int fd = open_folder(&walk, -1, walk.tree);
    if (fd >= 0)
        walk_directory(&walk, fd, walk.tree, 0);
    follow_links(&walk);
    skips_free(&walk.dependency_folders);
    struct err ignored;
    if (fs_check(&walk.now, &ignored) < 0)
        flags_add_unsearched(flags, walk.tree);
    fs_free(&walk.now);
    if (walk.entries >= MOST_ENTRIES)
        flags_add_sighting(flags,
                           (struct sighting){"more files than can be searched for changes of flagged files",
                                             walk.tree, "look through it yourself before you go on"});
}

/* Of a tree that a person gave, only what came later is new. */
static void search_given(struct flags *flags)
{
    struct timespec start = flags->start;
    vec_each (const struct given_tree, given, &flags->hold->given) {
        struct operation tree = {.kind = OP_BIND_WRITE, .path = given->path, .is_directory = true};
        flags->start = given->since;
        if (given->is_written && given->is_directory)
            search_tree(flags, &tree);
    }
    flags->start = start;
}

/* What happens in a tree of the host of which the command has an overlay or a copy is not its doing. */
static bool is_searched(const struct flags *flags, const char *tree)
{
    return flags->only ? strcmp(tree, flags->only) == 0 : !hold_keeps_aside(flags->hold, tree);
}

void flags_find(struct flags *flags)
{
    const struct plan *plan = flags->hold->plan;
    if (!flags->only)
        nested_look_at_own(flags);
    vec_each (const struct operation, tree, &plan->operations) {
        if (is_tree(tree) && is_searched(flags, tree->path) && is_worth_walking(plan, tree))
            search_tree(flags, tree);
    }
    if (flags->only)
        return;
    search_given(flags);
    removed_look(flags);
    dependencies_report(flags);
    vec_each (const struct workspace, workspace, &plan->policy->workspaces)
        drop_old_versions(flags, workspace);
    commits_look(flags);
}
