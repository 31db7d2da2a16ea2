#include "cli/keep_parts.h"

#include <string.h>

#include "base/path.h"
#include "cli/style.h"
#include "policy/decide.h"
#include "workspace/checkpoint.h"
#include "workspace/snapshot.h"

enum { MOST_MILLISECONDS = 30 * 1000, SKIP_LIST_LARGEST = 64 * 1024 };

const char *keep_store(const struct loaded *loaded, struct arena *arena)
{
    return arena_printf(arena, "%s/bawn/snapshots", loaded->request.starts[START_DATA]);
}

int keep_take(const struct loaded *loaded, const char *store, const struct kept_tree *tree,
              struct progress *progress, struct tree *ret_tree, struct err *err)
{
    bool has_begun = tree->is_on;
    struct skips skips;
    skips_parse(loaded->policy.arena, load_settings(loaded, "snapshot-skip", SKIP_LIST_LARGEST), &skips);
    const struct rule *limit = decide_limit(&loaded->policy, LIMIT_SNAPSHOT, NULL).decides;
    struct snapshot_request request = {
        .directory = store,
        .workspace = tree->record.workspace,
        .skips = &skips,
        .most_bytes = limit ? limit->limit.most : UINT64_MAX,
        .most_milliseconds = MOST_MILLISECONDS,
        .start = has_begun ? &tree->start : NULL,
        .folder_fd = has_begun ? -1 : tree->session.folder_fd,
        .name = "start",
        .progress = progress,
    };
    int result = snapshot_take(&request, ret_tree, err);
    skips_free(&skips);
    return result;
}

/* What the snapshot does not have, in one sentence: the run may go on, but not silently. */
static void say_left_out(const struct world *world, const struct loaded *loaded, const struct tree *tree)
{
    size_t count = 0;
    const char *example = "";
    for (size_t i = 0; i < tree->entries.count; i++) {
        const struct entry *entry = &tree->entries.at[i];
        if (entry->content == CONTENT_LEFT_OUT && !tree_is_skipped(entry) && count++ == 0)
            example = entry->path;
    }
    if (count)
        say_problem(
            world,
            arena_printf(loaded->policy.arena,
                         "`bawn undo` will not bring back the content of %zu file%s, which cannot be read "
                         "or are too large for `limit snapshot`: %s%s",
                         count, count == 1 ? "" : "s", example, count == 1 ? "" : " …"),
            NULL);
}

static void begin_live(const struct world *world, const struct loaded *loaded, const struct keeping *keeping,
                       struct kept_tree *tree)
{
    struct err err = {0};
    struct progress_line line;
    struct progress *progress = progress_begin(&line, world, "taking a snapshot");
    int result = keep_take(loaded, keeping->store, tree, progress, &tree->start, &err);
    progress_end(&line);
    if (result < 0 || record_save(tree->session.folder_fd, &tree->record, &err) < 0) {
        record_forget(tree->session.folder_fd);
        say_problem(world,
                    arena_printf(loaded->policy.arena,
                                 "`bawn undo` will not work for this run, because there is no "
                                 "snapshot of %s: %s",
                                 tree->record.workspace, err.message),
                    *err.hint ? err.hint : "`--review` keeps every change aside instead");
        return;
    }
    tree->is_on = true;
    say_left_out(world, loaded, &tree->start);
}

/* The first tree is the run's own; each further one has a session of its own, and is settled by itself. */
static int begin_tree(const struct world *world, struct loaded *loaded, const struct session *session,
                      struct keeping *keeping, struct kept_tree tree, struct err *err)
{
    struct arena *arena = loaded->policy.arena;
    tree.is_own = keeping->trees.count > 0;
    tree.session = *session;
    if (tree.is_own) {
        if (session_begin(arena, loaded->request.starts[START_STATE], tree.record.workspace, &tree.session,
                          err) < 0)
            return -1;
        journal_event(&tree.session.journal, "start", "workspace", tree.record.workspace, "with",
                      session->name);
    }
    tree.record.name = tree.session.name;
    tree.record.of = tree.record.of ? tree.record.of : "";
    tree.record.state = STATE_RUNNING;
    clock_gettime(CLOCK_REALTIME, &tree.record.began);
    vec_push(&keeping->trees, tree);
    struct kept_tree *kept = &keeping->trees.at[keeping->trees.count - 1];
    if (kept->record.mode != RECORD_LIVE)
        return keep_begin_aside(world, loaded, keeping->store, kept, err);
    begin_live(world, loaded, keeping, kept);
    return 0;
}

static bool is_kept(const struct keeping *keeping, const char *path)
{
    for (size_t i = 0; i < keeping->trees.count; i++) {
        if (path_is_beneath(path, keeping->trees.at[i].covered))
            return true;
    }
    return false;
}

/* A repository that a workspace needs and that lies elsewhere: what is committed in a linked worktree goes there. */
static struct kept_tree outside_repository(struct arena *arena, const char *git_dir, enum record_mode mode)
{
    const char *parent = path_parent(arena, git_dir);
    bool is_in_checkout = strcmp(path_name(git_dir), ".git") == 0;
    return (struct kept_tree){.covered = git_dir,
                              .record = {.mode = mode,
                                         .workspace = is_in_checkout ? parent : git_dir,
                                         .prefix = is_in_checkout ? ".git" : ""}};
}

static int begin_workspaces(const struct world *world, struct loaded *loaded, const struct session *session,
                            enum record_mode mode, struct keeping *keeping, struct err *err)
{
    for (size_t i = 0; i < loaded->policy.workspaces.count; i++) {
        const struct workspace *workspace = &loaded->policy.workspaces.at[i];
        struct kept_tree tree = {.covered = workspace->path,
                                 .record = {.mode = mode, .workspace = workspace->path, .prefix = ""}};
        if (!is_kept(keeping, tree.covered) && begin_tree(world, loaded, session, keeping, tree, err) < 0)
            return -1;
    }
    for (size_t i = 0; mode != RECORD_LIVE && i < loaded->policy.workspaces.count; i++) {
        const char *outside = loaded->policy.workspaces.at[i].git.outside;
        if (outside && !is_kept(keeping, outside) &&
            begin_tree(world, loaded, session, keeping,
                       outside_repository(loaded->policy.arena, outside, mode), err) < 0)
            return -1;
    }
    return 0;
}

/* Whatever else of the host can be written: with --review=all, and where no other wall stands behind the mounts. */
static int begin_others(const struct world *world, struct loaded *loaded, const struct session *session,
                        enum record_mode mode, struct keeping *keeping, struct err *err)
{
    for (size_t i = 0; i < loaded->plan.operations.count; i++) {
        const struct operation *operation = &loaded->plan.operations.at[i];
        if (operation->kind != OP_BIND_WRITE || operation->missing || is_kept(keeping, operation->path))
            continue;
        if (!operation->is_directory) {
            err_set(err, "what is written to %s cannot be kept aside, because it is a single file",
                    operation->path);
            return err_hint(err, "grant the folder that it lies in, or leave the grant out");
        }
        struct kept_tree tree = {.covered = operation->path,
                                 .record = {.mode = mode, .workspace = operation->path, .prefix = ""}};
        if (begin_tree(world, loaded, session, keeping, tree, err) < 0)
            return -1;
    }
    return 0;
}

/* The worktree is the branch's own; what is committed there goes aside, and into the repository at the end. */
static int begin_branch(const struct world *world, struct loaded *loaded, const struct session *session,
                        const char *branch, struct keeping *keeping, struct err *err)
{
    const char *outside =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].git.outside : NULL;
    if (!outside)
        return err_set(err, "the worktree of the branch %s has lost its repository", branch);
    struct kept_tree tree = outside_repository(loaded->policy.arena, outside, RECORD_BRANCH);
    tree.record.of = branch;
    return begin_tree(world, loaded, session, keeping, tree, err);
}

int keep_begin(const struct world *world, struct loaded *loaded, const struct session *session,
               flag_set flags, const char *branch, struct keeping **ret_keeping, struct err *err)
{
    enum record_mode mode = RECORD_LIVE;
    if (flags & FLAG_DISCARD)
        mode = RECORD_DISCARD;
    else if (flags & (FLAG_REVIEW | FLAG_NESTED))
        mode = RECORD_REVIEW;
    bool keeps_all = flags & (FLAG_REVIEW_ALL | FLAG_NESTED);
    struct keeping *keeping = *ret_keeping = arena_new(loaded->policy.arena, struct keeping);
    keeping->store = keep_store(loaded, loaded->policy.arena);
    if (loaded->request.read_only)
        return 0;
    if (session->folder_fd < 0 && mode != RECORD_LIVE)
        return err_set(err, "changes cannot be kept aside, because there is no folder for the session");
    if (session->folder_fd < 0)
        return 0;
    if (flags & FLAG_BRANCH)
        return begin_branch(world, loaded, session, branch, keeping, err);
    if (begin_workspaces(world, loaded, session, mode, keeping, err) < 0)
        return -1;
    return keeps_all ? begin_others(world, loaded, session, mode, keeping, err) : 0;
}

struct past keep_past(struct arena *arena, const struct keeping *keeping)
{
    struct past past = {.store = STORE_NONE};
    for (size_t i = keeping ? keeping->trees.count : 0; i-- > 0;) {
        const struct kept_tree *tree = &keeping->trees.at[i];
        if (!tree->is_on || tree->record.mode != RECORD_LIVE)
            continue;
        struct past *further = past.tree ? arena_new(arena, struct past) : NULL;
        if (further)
            *further = past;
        past = (struct past){.workspace = tree->record.workspace,
                             .tree = &tree->start,
                             .directory = keeping->store,
                             .store = STORE_NONE,
                             .next = further};
    }
    return past;
}

/* --- during the run ----------------------------------------------------------------------------------------------- */

/* Of a frozen path: as it is called in that tree, where it was not there at the start. NULL otherwise. */
static const char *stub_in(const struct kept_tree *tree, const struct operation *operation)
{
    const char *workspace = tree->record.workspace;
    if (operation->kind != OP_FREEZE || !path_is_beneath(operation->path, workspace) ||
        strcmp(operation->path, workspace) == 0)
        return NULL;
    const char *path = operation->path + strlen(workspace) + (strcmp(workspace, "/") != 0);
    return tree_find(&tree->start, path) ? NULL : path;
}

/* What bawn itself has put into the workspace for as long as the command runs is nothing that one would go back to. */
static void leave_out_stubs(const struct loaded *loaded, const struct kept_tree *tree, struct tree *now)
{
    for (size_t i = 0; i < loaded->plan.operations.count; i++) {
        const char *stub = stub_in(tree, &loaded->plan.operations.at[i]);
        size_t size = stub ? strlen(stub) : 0, kept = 0;
        for (size_t j = 0; stub && j < now->entries.count; j++) {
            const char *path = now->entries.at[j].path;
            bool is_stub = strncmp(path, stub, size) == 0 && (path[size] == '\0' || path[size] == '/');
            if (!is_stub)
                now->entries.at[kept++] = now->entries.at[j];
        }
        if (stub)
            now->entries.count = kept;
    }
}

int keep_checkpoint(const struct loaded *loaded, struct keeping *keeping, struct err *err)
{
    int kept = 0;
    for (size_t i = 0; i < keeping->trees.count; i++) {
        const struct kept_tree *tree = &keeping->trees.at[i];
        auto_tree struct tree now = {0};
        if (!tree->is_on || tree->record.mode != RECORD_LIVE)
            continue;
        if (keep_take(loaded, keeping->store, tree, NULL, &now, err) < 0)
            return -1;
        if (now.is_partial)
            return err_set(err, "there is more in %s than can be looked through", tree->record.workspace);
        leave_out_stubs(loaded, tree, &now);
        int result = checkpoint_save(tree->session.folder_fd, &tree->start, &now, err);
        if (result < 0)
            return -1;
        kept += result;
    }
    return kept;
}

void keep_has_checkpoints(struct keeping *keeping)
{
    for (size_t i = 0; i < keeping->trees.count; i++)
        keeping->trees.at[i].has_checkpoints = true;
}
