#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/branch.h"
#include "git/branch.h"
#include "git/objects.h"
#include "workspace/repo_check.h"
#include "workspace/upper.h"

/* What may pass, relative to the repository. */
struct passing {
    struct arena *arena;
    struct store *store;
    const char *name, *worktree; /* the branch, and git's name for its worktree */
};

/* The file itself, or a directory on the way to it. */
static bool is_on_way(const char *path, const char *wanted)
{
    size_t size = strlen(path);
    return strncmp(path, wanted, size) == 0 && (!wanted[size] || wanted[size] == '/');
}

static bool content_is(const struct passing *passing, const struct entry *entry, const char *wanted)
{
    enum { LARGEST = 4096 };
    auto_buf struct buf text = {0};
    struct err ignored;
    struct git_position position;
    if (store_read(passing->store, &entry->blob, LARGEST, &text, &ignored) <= 0)
        return false;
    return wanted ? strcmp(buf_text(&text), wanted) == 0 : git_position_parse(buf_text(&text), &position);
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
        return !before && git_is_object_path(path + strlen("objects/"));
    const char *ref = arena_printf(passing->arena, "refs/heads/%s", passing->name);
    const char *log = arena_printf(passing->arena, "logs/%s", ref);
    if (strcmp(path, ref) == 0)
        return is_file && content_is(passing, after, NULL);
    if (is_on_way(path, ref) || is_on_way(path, log))
        return is_file == (strcmp(path, log) == 0);
    const char *worktree = arena_printf(passing->arena, "worktrees/%s/", passing->worktree);
    if (!text_starts_with(path, worktree))
        return false;
    path += strlen(worktree);
    if (strcmp(path, "HEAD") == 0)
        return is_file && content_is(passing, after,
                                     arena_printf(passing->arena, "ref: refs/heads/%s\n", passing->name));
    for (size_t i = 0; i < array_len(own); i++) {
        if (strcmp(path, own[i]) == 0)
            return is_file == (strcmp(path, "logs") != 0);
    }
    return false;
}

/* Both states, of which only what may pass is left. Nothing of a repository goes because a sandbox removed it. */
static void filter(const struct passing *passing, const struct tree *before, const struct tree *after,
                   struct tree *ret_before, struct tree *ret_after)
{
    ret_before->taken = before->taken;
    ret_after->taken = after->taken;
    for (size_t i = 0; i < after->entries.count; i++) {
        struct entry entry = after->entries.at[i];
        const struct entry *was = tree_find(before, entry.path);
        if (!passes(passing, was, &entry))
            continue;
        entry.mode = S_ISREG(entry.mode) ? entry.mode & ~(uint32_t)0111 : entry.mode;
        entry.attributes = was ? was->attributes : "";
        entry.attributes_size = was ? was->attributes_size : 0;
        if (was)
            vec_push(&ret_before->entries, *was);
        vec_push(&ret_after->entries, entry);
    }
}

/* Carried out where the repository stands as the run found it; else it waits, as a review. */
static int settle(struct arena *arena, const char *store, struct kept_tree *kept, const struct tree *before,
                  const struct tree *after, struct err *err)
{
    struct record *record = &kept->record;
    int folder_fd = kept->session.folder_fd;
    struct transition transition = {.directory = store,
                                    .workspace = record->workspace,
                                    .from = before,
                                    .to = after,
                                    .keeps_objects = true};
    decision_list decisions;
    if (transition_decide(&transition, arena, &decisions, err) < 0 ||
        repo_check_hold_broken(&transition, arena, &decisions, err) < 0)
        return -1;
    bool is_free = true;
    for (size_t i = 0; i < decisions.count; i++) {
        is_free &= decisions.at[i].course == COURSE_GO || decisions.at[i].course == COURSE_DONE;
        if (decisions.at[i].breaks && !kept->breaks)
            kept->breaks =
                arena_printf(arena, "%s: %s", decisions.at[i].judged.change.path, decisions.at[i].why);
    }
    int result;
    if (is_free) {
        struct replaced replaced = {0};
        result = transition_run(&transition, arena, &decisions, folder_fd, record, &replaced, err);
        vec_free(&replaced.left_alone);
    } else {
        record->mode = RECORD_REVIEW;
        record->state = STATE_WAITING;
        result =
            record_save_changes(folder_fd, before, after, err) < 0 ? -1 : record_save(folder_fd, record, err);
    }
    vec_free(&decisions);
    return result;
}

int branch_end(struct arena *arena, const char *store_directory, struct kept_tree *kept, struct err *err)
{
    struct record *record = &kept->record;
    int folder_fd = kept->session.folder_fd;
    struct upper_request request = {.directory = store_directory,
                                    .workspace = record->workspace,
                                    .prefix = record->prefix,
                                    .folder_fd = folder_fd,
                                    .began = record->began};
    auto_tree struct tree before = {0}, after = {0}, from = {0}, to = {0};
    if (upper_read(&request, err) < 0 || tree_load(folder_fd, "before", &before, err) < 0 ||
        tree_load(folder_fd, "after", &after, err) < 0)
        return -1;
    {
        auto_store struct store store = STORE_NONE;
        if (store_open(store_directory, &store, err) < 0)
            return -1;
        struct passing passing = {arena, &store, record->of, branch_worktree_name(arena, record->of)};
        filter(&passing, &before, &after, &from, &to);
    }
    clock_gettime(CLOCK_REALTIME, &record->ended);
    record->changes = record_count_changes(&from, &to);
    if (record->changes && settle(arena, store_directory, kept, &from, &to, err) < 0)
        return -1;
    if (record->changes == 0) {
        record->state = STATE_DONE; /* the worktree is there all the same */
        if (record_save(folder_fd, record, err) < 0)
            return -1;
    }
    return upper_remove(folder_fd, NULL, err);
}
