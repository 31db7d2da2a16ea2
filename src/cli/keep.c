#include "cli/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/branch.h"
#include "cli/style.h"
#include "hold/programs.h"
#include "policy/decide.h"
#include "workspace/layers.h"
#include "workspace/snapshot.h"
#include "workspace/upper.h"

enum { MOST_MILLISECONDS = 30 * 1000, SKIP_LIST_LARGEST = 64 * 1024 };

const char *keep_store(const struct loaded *loaded, struct arena *arena)
{
    return arena_printf(arena, "%s/bawn/snapshots", loaded->request.starts[START_DATA]);
}

/* The user's own list of folders that are left out, or NULL. */
static const char *read_skip_list(const struct loaded *loaded)
{
    struct arena *arena = loaded->policy.arena;
    const struct fs_place *place = NULL;
    struct err ignored;
    char *text = NULL;
    size_t size;
    const char *path = arena_printf(arena, "%s/bawn/snapshot-skip", loaded->request.starts[START_CONFIG]);
    if (fs_resolve(loaded->request.fs, path, &place, &ignored) < 0 || place->kind != FILE_REGULAR ||
        fs_read(loaded->request.fs, place->real, SKIP_LIST_LARGEST, &text, &size, &ignored) <= 0)
        return NULL;
    return text;
}

static int take(const struct loaded *loaded, const char *store, const struct kept_tree *tree, bool is_end,
                struct tree *ret_tree, struct err *err)
{
    struct skips skips;
    skips_parse(loaded->policy.arena, read_skip_list(loaded), &skips);
    const struct rule *limit = decide_limit(&loaded->policy, LIMIT_SNAPSHOT, NULL).decides;
    struct snapshot_request request = {
        .directory = store,
        .workspace = tree->record.workspace,
        .skips = &skips,
        .most_bytes = limit ? limit->limit.most : UINT64_MAX,
        .most_milliseconds = MOST_MILLISECONDS,
        .same_session = is_end ? &tree->start : NULL,
        .folder_fd = is_end ? -1 : tree->session.folder_fd,
        .name = "start",
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
    if (take(loaded, keeping->store, tree, false, &tree->start, &err) < 0 ||
        record_save(tree->session.folder_fd, &tree->record, &err) < 0) {
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

/* The plan's operation that lets the tree be written. */
static struct operation *find_operation(struct loaded *loaded, const char *path)
{
    for (size_t i = 0; i < loaded->plan.operations.count; i++) {
        struct operation *operation = &loaded->plan.operations.at[i];
        if (operation->kind == OP_BIND_WRITE && strcmp(operation->path, path) == 0)
            return operation;
    }
    return NULL;
}

static int begin_aside(const struct world *world, struct loaded *loaded, struct kept_tree *tree,
                       struct err *err)
{
    struct operation *operation = find_operation(loaded, tree->covered);
    if (!operation)
        return 0; /* nothing of it can be written */
    struct arena *arena = loaded->policy.arena;
    struct layers layers;
    if (layers_make(tree->session.folder_fd, tree->session.folder, tree->covered,
                    loaded->request.starts[START_RUNTIME], arena, &layers, err) < 0 ||
        record_save(tree->session.folder_fd, &tree->record, err) < 0)
        return -1;
    operation->overlay = layers.folder;
    if (layers.folder != tree->session.folder)
        say_problem(
            world,
            arena_printf(arena,
                         "what is written waits in %s until the command ends, because the file system "
                         "of %s takes no overlay%s",
                         layers.folder, tree->session.folder,
                         layers.is_memory ? "; it is memory, and lost if the machine goes down" : ""),
            NULL);
    if (layers.foreign)
        say_problem(
            world,
            arena_printf(arena,
                         "%s belongs to another user or group, so that nothing can change it under an "
                         "overlay (EOVERFLOW)",
                         layers.foreign),
            "`chown` it, or run without --review, where `bawn undo` takes changes back");
    tree->is_on = true;
    return 0;
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
        return begin_aside(world, loaded, kept, err);
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

struct past keep_past(const struct keeping *keeping)
{
    const struct kept_tree *first = keeping && keeping->trees.count ? &keeping->trees.at[0] : NULL;
    bool has_start = first && first->is_on && first->record.mode == RECORD_LIVE;
    return (struct past){.workspace = has_start ? first->record.workspace : NULL,
                         .tree = has_start ? &first->start : NULL,
                         .directory = has_start ? keeping->store : NULL,
                         .store = STORE_NONE};
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Writes down what changed; a session that changed nothing leaves nothing but its journal. */
static int write_end(const struct loaded *loaded, const char *store, struct kept_tree *tree,
                     struct flags *flags, struct err *err)
{
    auto_tree struct tree end = {0};
    int folder_fd = tree->session.folder_fd;
    if (take(loaded, store, tree, true, &end, err) < 0)
        return -1;
    if (flags && !tree->is_own)
        programs_look(flags, &tree->start, &end);
    clock_gettime(CLOCK_REALTIME, &tree->record.ended);
    tree->record.state = STATE_DONE;
    tree->record.changes = record_count_changes(&tree->start, &end);
    if (tree->record.changes == 0) {
        record_forget(folder_fd);
        return 0;
    }
    if (record_keep_changes(folder_fd, &tree->start, &end, err) < 0)
        return -1;
    if (record_save(folder_fd, &tree->record, err) < 0)
        return -1;
    unlinkat(folder_fd, "start", 0);
    return 0;
}

/* Reads what was written aside, so that it waits for a person; or throws it away. */
static int write_aside_end(const char *store, struct kept_tree *tree, struct err *err)
{
    struct record *record = &tree->record;
    int folder_fd = tree->session.folder_fd;
    record->changes = 0;
    if (record->mode == RECORD_REVIEW) {
        struct upper_request request = {
            .directory = store,
            .workspace = record->workspace,
            .prefix = record->prefix,
            .folder_fd = folder_fd,
            .began = record->began,
        };
        auto_tree struct tree before = {0}, after = {0};
        if (upper_read(&request, err) < 0 || tree_load(folder_fd, "before", &before, err) < 0 ||
            tree_load(folder_fd, "after", &after, err) < 0)
            return -1;
        record->changes = record_count_changes(&before, &after);
    }
    clock_gettime(CLOCK_REALTIME, &record->ended);
    record->state = STATE_WAITING;
    if (record->changes && record_save(folder_fd, record, err) < 0)
        return -1;
    if (upper_remove(folder_fd, err) < 0)
        return -1;
    if (!record->changes)
        record_forget(folder_fd);
    return 0;
}

static int finish(const struct loaded *loaded, const char *store, struct kept_tree *tree, struct flags *flags,
                  struct err *err)
{
    if (tree->record.mode == RECORD_BRANCH)
        return branch_end(loaded->policy.arena, store, tree, err);
    return tree->record.mode == RECORD_LIVE ? write_end(loaded, store, tree, flags, err)
                                            : write_aside_end(store, tree, err);
}

/* Now and then the oldest that can be undone are let go: most runs need not look. */
static void trim(const struct session *session)
{
    enum { UNDOABLE_KEPT = 50, SELDOM = 16 };
    const char *number = strrchr(session->name, '-');
    auto_fd int sessions_fd = -1;
    if (number && strtoul(number + 1, NULL, 10) % SELDOM == 0)
        sessions_fd = openat(session->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sessions_fd >= 0)
        record_trim(sessions_fd, UNDOABLE_KEPT);
}

static void say_branch(const struct world *world, struct arena *arena, const struct kept_tree *tree)
{
    const struct record *record = &tree->record;
    if (record->state == STATE_WAITING)
        say_problem(world,
                    arena_printf(arena,
                                 "the branch %s was moved by somebody else, so that what was committed waits",
                                 record->of),
                    arena_printf(arena, "`bawn review %s` walks through it", record->name));
    else if (world->err_is_terminal)
        say_problem(world,
                    arena_printf(arena, "%s is on the branch %s",
                                 record->changes ? "the work" : "nothing new", record->of),
                    arena_printf(arena, "`git merge %s` brings it in, `bawn discard %s` removes the worktree",
                                 record->of, record->name));
}

static void say_kept(const struct world *world, const struct loaded *loaded, const struct kept_tree *tree)
{
    const struct record *record = &tree->record;
    struct arena *arena = loaded->policy.arena;
    bool waits = record->mode == RECORD_REVIEW;
    const char *named = arena_printf(arena, " %s", record->name);
    if (record->changes && world->err_is_terminal)
        say_problem(world,
                    arena_printf(arena, "%llu file%s %s in %s", (unsigned long long)record->changes,
                                 record->changes == 1 ? "" : "s",
                                 waits ? "wait to be applied or discarded" : "changed", record->name),
                    waits ? arena_printf(arena, "`bawn review%s` walks through them", named)
                          : arena_printf(arena, "`bawn diff%s` shows what, `bawn undo%s` takes it back",
                                         named, named));
}

struct keep_result keep_end(const struct world *world, const struct loaded *loaded, struct keeping *keeping,
                            struct flags *flags)
{
    struct keep_result kept = {RECORD_LIVE, 0};
    for (size_t i = 0; keeping && i < keeping->trees.count; i++) {
        struct kept_tree *tree = &keeping->trees.at[i];
        struct err err = {0};
        bool is_done = !tree->is_on || finish(loaded, keeping->store, tree, flags, &err) == 0;
        if (!is_done)
            say_err(world, &err);
        else if (tree->is_on && *tree->record.of)
            say_branch(world, loaded->policy.arena, tree);
        else if (tree->is_on && tree->is_own)
            say_kept(world, loaded, tree);
        else if (tree->is_on)
            kept = (struct keep_result){tree->record.mode, tree->record.changes};
        tree_free(&tree->start);
        if (tree->is_own) {
            journal_event(&tree->session.journal, "end");
            session_end(&tree->session);
        } else if (tree->is_on) {
            trim(&tree->session);
        }
    }
    if (keeping)
        vec_free(&keeping->trees);
    return kept;
}

int keep_take_up(const struct loaded *loaded, const struct session *session, const struct record *record,
                 struct keeping **ret_keeping, struct err *err)
{
    struct keeping *keeping = arena_new(loaded->policy.arena, struct keeping);
    struct kept_tree tree = {.session = *session, .record = *record};
    keeping->store = keep_store(loaded, loaded->policy.arena);
    int found = record->mode == RECORD_LIVE ? tree_load(session->folder_fd, "start", &tree.start, err) : 1;
    tree.is_on = found > 0;
    vec_push(&keeping->trees, tree);
    *ret_keeping = keeping;
    return found < 0 ? -1 : 0;
}

int keep_finish(const struct loaded *loaded, struct keeping *keeping, struct flags *flags,
                uint64_t *ret_changes, struct err *err)
{
    struct kept_tree *tree = &keeping->trees.at[0];
    int result = tree->is_on ? finish(loaded, keeping->store, tree, flags, err) : 0;
    *ret_changes = result == 0 && tree->is_on ? tree->record.changes : 0;
    tree_free(&tree->start);
    vec_free(&keeping->trees);
    return result;
}
