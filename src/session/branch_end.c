/* The end of --branch: which changes reach the repository, and that git can read them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/objects.h"
#include "hold/flags.h"
#include "kernel/beneath.h"
#include "session/arrivals.h"
#include "session/ask_git.h"
#include "session/branch.h"
#include "workspace/copy.h"
#include "workspace/transition.h"

/* --- after the run: which changes reach the repository ------------------------------------------------------------ */

/* The parameters of `passes`. */
struct passing {
    struct arena *arena;
    struct store *store;
    const char *name, *worktree; /* the branch, and git's name for its worktree */
    int top_fd;                  /* of the main checkout */
};

/* Is `path` the wanted file, or a directory above it? */
static bool is_on_way(const char *path, const char *wanted)
{
    size_t size = strlen(path);
    return strncmp(path, wanted, size) == 0 && (!wanted[size] || wanted[size] == '/');
}

static bool has_content(const struct passing *passing, const struct entry *entry, const char *wanted)
{
    enum { LARGEST = 4096 };
    auto_buf struct buf text = {0};
    struct err ignored;
    struct git_position position;
    if (store_read(passing->store, &entry->blob, LARGEST, &text, &ignored) <= 0)
        return false;
    return wanted ? strcmp(buf_text(&text), wanted) == 0 : git_position_parse(buf_text(&text), &position);
}

/* Another session has brought the same object in. */
static bool is_there(const struct passing *passing, const struct entry *object)
{
    auto_fd int fd = open_beneath(passing->top_fd, object->path, O_PATH, 0);
    return fd >= 0;
}

static bool passes(const struct passing *passing, const struct entry *before, const struct entry *after)
{
    static const char *const own[] = {"index", "ORIG_HEAD", "COMMIT_EDITMSG", "logs", "logs/HEAD"};
    const char *path = after->path + strlen(".git/");
    bool is_file = S_ISREG(after->mode) && after->content == CONTENT_STORED && !*after->linked_to;
    if (!text_starts_with(after->path, ".git/") || !(is_file || S_ISDIR(after->mode)) ||
        (before && (before->mode & S_IFMT) != (after->mode & S_IFMT)))
        return false;
    if (text_starts_with(path, "objects/"))
        return !before && git_is_object_path(path + strlen("objects/")) &&
               !(is_file && is_there(passing, after));
    const char *ref = arena_printf(passing->arena, "refs/heads/%s", passing->name);
    const char *log = arena_printf(passing->arena, "logs/%s", ref);
    if (strcmp(path, ref) == 0)
        return is_file && has_content(passing, after, NULL);
    if (is_on_way(path, ref) || is_on_way(path, log))
        return is_file == (strcmp(path, log) == 0);
    const char *worktree = arena_printf(passing->arena, "worktrees/%s/", passing->worktree);
    if (!text_starts_with(path, worktree))
        return false;
    path += strlen(worktree);
    if (strcmp(path, "HEAD") == 0)
        return is_file && has_content(passing, after,
                                      arena_printf(passing->arena, "ref: refs/heads/%s\n", passing->name));
    for (size_t i = 0; i < array_len(own); i++) {
        if (strcmp(path, own[i]) == 0)
            return is_file == (strcmp(path, "logs") != 0);
    }
    return false;
}

/*
 * Who may read and write a repository is not for a sandbox to say: what exists keeps its mode, what is new is
 * never closed to its owner, and others write it only where the group may write the directory above it.
 */
static uint32_t mode_of(struct arena *arena, const struct tree *before, const struct entry *was,
                        const struct entry *entry)
{
    enum { FILE_BITS = 0644, DIRECTORY_BITS = 0755 };
    if (was)
        return was->mode;
    const struct entry *above = NULL;
    for (const char *path = entry->path; !above && strchr(path, '/');) {
        path = path_parent(arena, path);
        above = tree_find(before, path);
    }
    uint32_t shared = above ? above->mode & (S_IWGRP | S_ISGID) : 0;
    return S_ISDIR(entry->mode) ? S_IFDIR | (entry->mode & (DIRECTORY_BITS | shared)) | S_IRWXU
                                : S_IFREG | (entry->mode & (FILE_BITS | (shared & S_IWGRP))) | S_IRUSR;
}

/*
 * Copies the entries that may pass. Removed files are left out: no file of a repository is deleted because a
 * sandbox deleted it. Directories that exist are, too: they keep their modes, and one that another session had just made and not
 * finished when this one looked would seem to be changed by somebody since.
 */
static void filter(const struct passing *passing, const struct tree *before, const struct tree *after,
                   struct tree *ret_before, struct tree *ret_after)
{
    ret_before->taken = before->taken;
    ret_after->taken = after->taken;
    for (size_t i = 0; i < after->entries.count; i++) {
        struct entry entry = after->entries.at[i];
        const struct entry *was = tree_find(before, entry.path);
        if (!passes(passing, was, &entry) || (was && S_ISDIR(entry.mode)))
            continue;
        entry.mode = mode_of(passing->arena, before, was, &entry);
        entry.attributes = was ? was->attributes : "";
        entry.attributes_size = was ? was->attributes_size : 0;
        if (was)
            vec_push(&ret_before->entries, *was);
        vec_push(&ret_after->entries, entry);
    }
}

/* Asks git about the commits. Returns why they must wait in any case, or NULL. */
static const char *look_at_commits(const struct transition *transition, struct arena *arena,
                                   const struct captured_tree *captured, struct flags *flags,
                                   const decision_list *decisions, struct arrivals *ret_arrivals)
{
    const struct git_asker *asker = flags ? flags->versions.context : NULL;
    struct err err = {0};
    *ret_arrivals = (struct arrivals){0};
    if (!asker)
        return "git could not check them";
    struct arrivals_request request = {asker->caller, transition, captured->session.folder,
                                       captured->session.folder_fd};
    if (arrivals_find(&request, arena, decisions, ret_arrivals, &err) < 0)
        return arena_str(arena, err.message);
    const struct policy *policy = flags->hold->plan->policy;
    if (policy->workspaces.count)
        commits_report(flags, policy->workspaces.at[0].path, &ret_arrivals->found);
    const char *unchecked = ret_arrivals->found.unchecked;
    return unchecked ? arena_printf(arena, "it could not be checked: %s", unchecked) : NULL;
}

/* Returns whether all of them can go. Of what breaks the repository a ref is named rather than an object. */
static bool can_go(struct captured_tree *captured, struct arena *arena, const decision_list *decisions)
{
    bool is_free = !captured->breaks, names_object = false;
    for (size_t i = 0; i < decisions->count; i++) {
        const struct decision *decision = &decisions->at[i];
        const char *path = decision->judged.change.path;
        bool is_object = text_starts_with(path, ".git/objects/");
        is_free &= decision->course == COURSE_GO || decision->course == COURSE_DONE;
        if (!decision->breaks || (captured->breaks && (is_object || !names_object)))
            continue;
        captured->breaks = arena_printf(arena, "%s: %s", path, decision->why);
        names_object = is_object;
    }
    return is_free;
}

/*
 * Sessions on other branches make the same directories for their objects and logs. One that finds such a directory between its look and its
 * step would leave it alone, and its commits would wait. The lock lies where no sandbox can take it.
 */
static int wait_for_others(struct arena *arena, const struct captured_tree *captured)
{
    const char *own = path_parent(arena, path_parent(arena, captured->session.folder));
    const char *slug = workspace_slug(arena, captured->record.workspace);
    int fd = open_directory_at(AT_FDCWD, arena_printf(arena, "%s/branches/%s", own, slug));
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    return fd; /* without a lock, commits may wait for no reason */
}

/* Replaces the files if nobody has changed them since; otherwise the changes wait as a review. */
static int bring_in(struct arena *arena, const char *store, struct captured_tree *captured,
                    const struct tree *before, const struct tree *after, struct flags *flags, struct err *err)
{
    struct record *record = &captured->record;
    int folder_fd = captured->session.folder_fd;
    struct transition transition = {.directory = store,
                                    .workspace = record->workspace,
                                    .from = before,
                                    .to = after,
                                    .keeps_objects = true};
    decision_list decisions;
    struct arrivals arrivals;
    if (transition_decide(&transition, arena, &decisions, err) < 0)
        return -1;
    captured->breaks = look_at_commits(&transition, arena, captured, flags, &decisions, &arrivals);
    int result = repo_check_hold_broken(&transition, arena, arrivals_findings(&arrivals), &decisions, err);
    arrivals_free(&arrivals);
    if (result == 0 && can_go(captured, arena, &decisions)) {
        struct replaced replaced = {0};
        result = transition_run(&transition, arena, &decisions, folder_fd, record, &replaced, err);
        vec_free(&replaced.left_alone);
    } else if (result == 0) {
        record->mode = RECORD_REVIEW;
        record->state = STATE_WAITING;
        result =
            record_save_changes(folder_fd, before, after, err) < 0 ? -1 : record_save(folder_fd, record, err);
    }
    vec_free(&decisions);
    return result;
}

int branch_end(struct arena *arena, const char *store_directory, struct captured_tree *captured,
               struct flags *flags, struct err *err)
{
    struct record *record = &captured->record;
    int folder_fd = captured->session.folder_fd;
    struct upper_request request = {.directory = store_directory,
                                    .workspace = record->workspace,
                                    .prefix = record->prefix,
                                    .folder_fd = folder_fd,
                                    .began = record->began};
    auto_tree struct tree before = {0}, after = {0}, from = {0}, to = {0};
    bool is_copied = copy_is_there(folder_fd);
    if (is_copied && !copy_is_whole(folder_fd)) { /* nothing has run */
        record->state = STATE_DONE;
        captured->is_recorded = true;
        return record_save(folder_fd, record, err) < 0 ? -1 : kept_aside_remove(folder_fd, NULL, err);
    }
    if ((is_copied ? copy_read(&request, err) : upper_read(&request, err)) < 0 ||
        tree_load(folder_fd, "before", &before, err) < 0 || tree_load(folder_fd, "after", &after, err) < 0)
        return -1;
    auto_fd int lock_fd not_used = wait_for_others(arena, captured);
    {
        auto_store struct store store = STORE_NONE;
        if (store_open(store_directory, &store, err) < 0)
            return -1;
        auto_fd int top_fd = open_absolute(record->workspace, O_RDONLY | O_DIRECTORY);
        struct passing passing = {arena, &store, record->of, branch_worktree_name(arena, record->of), top_fd};
        filter(&passing, &before, &after, &from, &to);
    }
    clock_gettime(CLOCK_REALTIME, &record->ended);
    record->changes = record_count_changes(&from, &to);
    if (record->changes && bring_in(arena, store_directory, captured, &from, &to, flags, err) < 0)
        return -1;
    if (record->changes == 0) {
        record->state = STATE_DONE; /* the worktree stays */
        if (record_save(folder_fd, record, err) < 0)
            return -1;
    }
    captured->is_recorded = true;
    return kept_aside_remove(folder_fd, NULL, err);
}
