#include "session/capture.h"

#include <string.h>

#include "base/path.h"
#include "base/style.h"
#include "git/repo.h"
#include "hold/stub.h"
#include "policy/decide.h"
#include "session/caller.h"
#include "workspace/checkpoint.h"
#include "workspace/copy.h"
#include "workspace/layers.h"
#include "workspace/snapshot.h"

enum { MOST_MILLISECONDS = 30 * 1000, SKIP_LIST_LARGEST = 64 * 1024 };

struct stub_list {
    struct arena *arena;
    own_file_list *files;
};

static void add_stub(void *self, const char *path, uint64_t device, uint64_t inode)
{
    struct stub_list *list = self;
    vec_push(list->files, (struct own_file){arena_str(list->arena, path), device, inode});
}

/* Stubs are bawn's own: neither of this run nor of another at the same time do they count as a change. */
static void add_stubs(void *loaded_now, own_file_list *files)
{
    const struct loaded *loaded = loaded_now;
    struct arena *arena = loaded->policy.arena;
    struct stub_list list = {arena, files};
    stubs_each(stubs_in(arena, loaded->request.starts[START_STATE]).folder, add_stub, &list);
}

int capture_snapshot(const struct capture *capture, const struct captured_tree *tree,
                     struct progress *progress, struct tree *ret_tree, struct err *err)
{
    const struct loaded *loaded = capture->loaded;
    bool has_begun = tree->is_on;
    struct skips skips;
    skips_parse(loaded->policy.arena, load_settings(loaded, "snapshot-skip", SKIP_LIST_LARGEST), &skips);
    const struct rule *limit = decide_limit(&loaded->policy, LIMIT_SNAPSHOT, NULL).decides;
    struct snapshot_request request = {
        .directory = capture->store,
        .workspace = tree->record.workspace,
        .skips = &skips,
        .most_bytes = limit ? limit->limit.most : UINT64_MAX,
        .most_milliseconds = MOST_MILLISECONDS,
        .start = has_begun ? &tree->start : NULL,
        .folder_fd = has_begun ? -1 : tree->session.folder_fd,
        .progress = progress,
        .add_own_files = add_stubs,
        .context = (void *)loaded,
    };
    int result = snapshot_take(&request, ret_tree, err);
    skips_free(&skips);
    return result;
}

/* Reports the contents that the snapshot lacks, in one sentence. */
static void say_left_out(const struct capture *capture, const struct tree *tree)
{
    size_t count = 0;
    const char *example = "";
    for (size_t i = 0; i < tree->entries.count; i++) {
        const struct entry *entry = &tree->entries.at[i];
        if (entry->content == CONTENT_LEFT_OUT && !tree_is_skipped(entry) && count++ == 0)
            example = entry->path;
    }
    if (count)
        caller_say(capture->caller,
                   arena_printf(
                       capture->loaded->policy.arena,
                       "`bawn undo` cannot restore the content of %zu file%s, which cannot be read or exceed "
                       "`limit snapshot`: %s%s",
                       count, count == 1 ? "" : "s", example, count == 1 ? "" : " …"),
                   NULL);
}

static void begin_live(const struct capture *capture, struct captured_tree *tree)
{
    struct err err = {0};
    struct progress_line line;
    struct progress *progress = progress_begin(&line, capture->caller->speaker, "taking a snapshot");
    int result = capture_snapshot(capture, tree, progress, &tree->start, &err);
    progress_end(&line);
    if (result < 0 || record_save(tree->session.folder_fd, &tree->record, &err) < 0) {
        record_forget(tree->session.folder_fd);
        caller_say(capture->caller,
                   arena_printf(capture->loaded->policy.arena,
                                "`bawn undo` will not work for this run, because there is no "
                                "snapshot of %s: %s",
                                tree->record.workspace, err.message),
                   *err.hint ? err.hint : "use --review, which lets every change wait for you");
        return;
    }
    tree->is_on = true;
    say_left_out(capture, &tree->start);
}

/* --- overlays and copies: changes are captured aside -------------------------------------------------------------- */

/* The index of the operation that makes the tree writable; the count if there is none. */
static size_t find_operation(const struct operations *operations, const char *path)
{
    size_t i = 0;
    while (i < operations->count &&
           !(operations->at[i].kind == OP_BIND_WRITE && strcmp(operations->at[i].path, path) == 0))
        i++;
    return i;
}

static void say_layers(const struct caller *caller, struct arena *arena, const struct captured_tree *tree,
                       const struct layers *layers)
{
    if (layers->folder != tree->session.folder)
        caller_say(
            caller,
            arena_printf(
                arena,
                "changes are kept in %s until the command ends, because the file system of %s does not "
                "support overlays%s",
                layers->folder, tree->session.folder,
                layers->is_memory ? "; they are in memory, and lost if the machine stops" : ""),
            NULL);
    if (layers->foreign)
        caller_say(
            caller,
            arena_printf(
                arena,
                "%s belongs to another user or group, so the command cannot change it under an overlay "
                "(EOVERFLOW)",
                layers->foreign),
            "`chown` it, or run without --review and use `bawn undo`");
}

/* A tree that is copied, and what is to be hidden in it. */
struct copied {
    const struct operations *operations;
    const struct operation *tree;
    struct arena *arena;
};

static bool hides(void *context, const char *path)
{
    const struct copied *copied = context;
    return operations_hide(copied->operations, copied->tree,
                           path_join(copied->arena, copied->tree->path, path));
}

/* The fallback for an overlay: the command works in a copy of the tree. */
static int begin_copy(const struct capture *capture, const struct captured_tree *tree, size_t operation,
                      const char *why, struct err *err)
{
    const struct caller *caller = capture->caller;
    const struct loaded *loaded = capture->loaded;
    struct arena *arena = loaded->policy.arena;
    const struct rule *limit = decide_limit(&loaded->policy, LIMIT_SNAPSHOT, NULL).decides;
    struct progress_line line;
    struct copy_size copied;
    struct upper_request request = {.directory = capture->store,
                                    .workspace = tree->record.workspace,
                                    .prefix = tree->record.prefix,
                                    .folder_fd = tree->session.folder_fd,
                                    .progress =
                                        progress_begin(&line, caller->speaker, "copying the workspace")};
    struct copied hidden = {&loaded->plan.operations, &loaded->plan.operations.at[operation], arena};
    if (loaded->plan.request.on == ON_LANDLOCK) { /* a mount hides it otherwise */
        request.hides = hides;
        request.context = &hidden;
    }
    int result = copy_make(&request, limit ? limit->limit.most : UINT64_MAX, &copied, err);
    progress_end(&line);
    bool is_usual = loaded->plan.request.on == ON_LANDLOCK; /* the start says that there are no namespaces */
    if (result == 0 && (!is_usual || caller->speaker->is_read))
        caller_say(caller,
                   arena_printf(arena, "the command works in a copy of %s (%llu files, %s), because %s",
                                tree->covered, (unsigned long long)copied.files,
                                size_text(arena, copied.bytes), why),
                   NULL);
    return result;
}

/* Why an overlay does not work for this tree, or NULL. */
static const char *why_copy(struct arena *arena, const struct layers *layers)
{
    if (layers->why_not)
        return layers->why_not;
    return layers->foreign
               ? arena_printf(
                     arena,
                     "%s belongs to another user or group, so the command could not change it under an overlay",
                     layers->foreign)
               : NULL;
}

static int begin_aside(const struct capture *capture, struct captured_tree *tree, struct err *err)
{
    const struct loaded *loaded = capture->loaded;
    size_t operation = find_operation(&loaded->plan.operations, tree->covered);
    if (operation == loaded->plan.operations.count)
        return 0; /* the tree is not writable */
    struct arena *arena = loaded->policy.arena;
    int folder_fd = tree->session.folder_fd;
    struct layers layers = {.why_not = "walls without namespaces have no overlay"};
    if ((loaded->plan.request.on == ON_NAMESPACES &&
         layers_make(folder_fd, tree->session.folder, tree->covered, loaded->request.starts[START_RUNTIME],
                     arena, &layers, err) < 0) ||
        record_save(folder_fd, &tree->record, err) < 0)
        return -1;
    bool is_bare = loaded->plan.request.on == ON_LANDLOCK, is_branch = tree->record.mode == RECORD_BRANCH;
    const char *why = is_branch ? layers.why_not : why_copy(arena, &layers);
    bool is_copied = why && (!is_branch || is_bare) && begin_copy(capture, tree, operation, why, err) == 0;
    if (layers.why_not && !is_copied) {
        struct err copying = *err;
        err_set(err, "changes of %s cannot be kept apart from it: %s%s%s", tree->covered, layers.why_not,
                *copying.message ? "; and " : "", copying.message);
        return err_hint(err,
                        "set XDG_STATE_HOME to a directory on another file system, or run without --review");
    }
    if (is_copied && upper_remove(folder_fd, NULL, err) < 0)
        return -1;
    if (is_copied) {
        amend_copy(capture->amendments, operation, arena_printf(arena, "%s/copy", tree->session.folder));
        tree->is_copied = true;
    } else {
        amend_layer(capture->amendments, operation, layers.folder);
        say_layers(capture->caller, arena, tree, &layers);
    }
    tree->is_on = true;
    return 0;
}

/* --- the trees of a run ---------------------------------------------------------------------------------------------- */

/*
 * The first tree belongs to the run's session. Each further tree gets a session, to be applied or undone by itself.
 */
static int begin_tree(struct capture *capture, struct captured_tree tree, struct err *err)
{
    const struct loaded *loaded = capture->loaded;
    tree.is_own = capture->trees.count > 0;
    tree.session = *capture->session;
    tree.session.journal = JOURNAL_NONE; /* a second writer would break the hash chain */
    if (tree.is_own) {
        if (session_begin(loaded->policy.arena, loaded->request.starts[START_STATE], tree.record.workspace,
                          &tree.session, err) < 0)
            return -1;
        journal_event(&tree.session.journal, "start", "workspace", tree.record.workspace, "with",
                      capture->session->name);
    }
    tree.record.name = tree.session.name;
    tree.record.of = tree.record.of ? tree.record.of : "";
    tree.record.state = STATE_RUNNING;
    record_begin(&tree.record);
    vec_push(&capture->trees, tree);
    struct captured_tree *added = &capture->trees.at[capture->trees.count - 1];
    if (added->record.mode == RECORD_LIVE) {
        begin_live(capture, added);
        return 0;
    }
    if (begin_aside(capture, added, err) == 0)
        return 0;
    /* Nothing has run in it. What cannot be removed now, a prune removes. */
    struct err ignored;
    record_forget(added->session.folder_fd);
    if (kept_aside_remove(added->session.folder_fd, NULL, &ignored) < 0)
        journal_event(&capture->session->journal, "left", "path", added->session.folder);
    return -1;
}

static bool is_captured(const struct capture *capture, const char *path)
{
    for (size_t i = 0; i < capture->trees.count; i++) {
        if (path_is_beneath(path, capture->trees.at[i].covered))
            return true;
    }
    return false;
}

/* The repository of a linked worktree lies outside the workspace: commits go there. */
static struct captured_tree outside_repository(struct arena *arena, const char *git_dir,
                                               enum record_mode mode)
{
    const char *parent = path_parent(arena, git_dir);
    bool is_in_checkout = strcmp(path_name(git_dir), ".git") == 0;
    return (struct captured_tree){.covered = git_dir,
                                  .record = {.mode = mode,
                                             .workspace = is_in_checkout ? parent : git_dir,
                                             .prefix = is_in_checkout ? ".git" : ""}};
}

/* Of a repository of which parts are writable, a live run captures the whole; a review captures each part. */
static int begin_parts(struct capture *capture, const struct workspace *workspace, enum record_mode mode,
                       struct err *err)
{
    for (size_t i = 0; i < workspace->parts.count; i++) {
        const char *part = workspace->parts.at[i];
        struct captured_tree tree = {.covered = part,
                                     .record = {.mode = mode,
                                                .workspace = workspace->path,
                                                .prefix = part + strlen(workspace->path) + 1}};
        if (!is_captured(capture, part) && begin_tree(capture, tree, err) < 0)
            return -1;
    }
    return 0;
}

static int begin_workspaces(struct capture *capture, enum record_mode mode, struct err *err)
{
    const struct loaded *loaded = capture->loaded;
    for (size_t i = 0; i < loaded->policy.workspaces.count; i++) {
        const struct workspace *workspace = &loaded->policy.workspaces.at[i];
        struct captured_tree tree = {.covered = workspace->path,
                                     .record = {.mode = mode, .workspace = workspace->path, .prefix = ""}};
        int result = 0;
        if (workspace->parts.count && mode != RECORD_LIVE)
            result = begin_parts(capture, workspace, mode, err);
        else if (!is_captured(capture, tree.covered))
            result = begin_tree(capture, tree, err);
        if (result < 0)
            return -1;
    }
    for (size_t i = 0; mode != RECORD_LIVE && i < loaded->policy.workspaces.count; i++) {
        const char *outside = loaded->policy.workspaces.at[i].git.outside;
        if (outside && !is_captured(capture, outside) &&
            begin_tree(capture, outside_repository(loaded->policy.arena, outside, mode), err) < 0)
            return -1;
    }
    return 0;
}

/* The other writable trees of the host: for --review=all, and for --nested, where mounts are the only wall. */
static int begin_others(struct capture *capture, enum record_mode mode, struct err *err)
{
    const struct operations *operations = &capture->loaded->plan.operations;
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation *operation = &operations->at[i];
        if (operation->kind != OP_BIND_WRITE || operation->missing || is_captured(capture, operation->path))
            continue;
        if (!operation->is_directory) {
            err_set(err, "changes of %s cannot be kept apart from it, because it is a single file",
                    operation->path);
            return err_hint(err, "grant its directory, or leave the grant out");
        }
        struct captured_tree tree = {.covered = operation->path,
                                     .record = {.mode = mode, .workspace = operation->path, .prefix = ""}};
        if (begin_tree(capture, tree, err) < 0)
            return -1;
    }
    return 0;
}

/* The worktree is written directly. Commits are captured aside, and brought into the repository at the end. */
static int begin_branch(struct capture *capture, const char *branch, struct err *err)
{
    const struct policy *policy = &capture->loaded->policy;
    const struct workspace *first = policy->workspaces.count ? &policy->workspaces.at[0] : NULL;
    const char *outside = first && first->parts.count == 0 ? first->git.outside : NULL;
    if (!outside)
        return err_set(err, "the worktree of the branch %s has lost its repository", branch);
    struct captured_tree tree = outside_repository(policy->arena, outside, RECORD_BRANCH);
    tree.record.of = branch;
    return begin_tree(capture, tree, err);
}

int capture_begin(const struct caller *caller, const struct loaded *loaded, struct amendments *amendments,
                  struct session *session, const struct run_request *request, struct capture **ret_capture,
                  struct err *err)
{
    enum record_mode mode = RECORD_LIVE;
    if (request->discard)
        mode = RECORD_DISCARD;
    else if (request->review || request->nested)
        mode = RECORD_REVIEW;
    bool captures_all = request->review_all || request->nested;
    struct capture *capture = *ret_capture = arena_new(loaded->policy.arena, struct capture);
    *capture = (struct capture){.caller = caller,
                                .loaded = loaded,
                                .session = session,
                                .store = load_store(loaded, loaded->policy.arena),
                                .amendments = amendments};
    if (loaded->request.read_only)
        return 0;
    if (session->folder_fd < 0 && mode != RECORD_LIVE)
        return err_set(
            err, "changes cannot be kept apart from the workspace, because the session has no directory");
    if (session->folder_fd < 0)
        return 0;
    if (request->branch)
        return begin_branch(capture, request->branch, err);
    if (begin_workspaces(capture, mode, err) < 0)
        return -1;
    return captures_all ? begin_others(capture, mode, err) : 0;
}

struct past capture_past(struct arena *arena, const struct capture *capture)
{
    struct past past = {.store = STORE_NONE};
    for (size_t i = capture ? capture->trees.count : 0; i-- > 0;) {
        const struct captured_tree *tree = &capture->trees.at[i];
        if (!tree->is_on || tree->record.mode != RECORD_LIVE)
            continue;
        struct past *further = past.tree ? arena_new(arena, struct past) : NULL;
        if (further)
            *further = past;
        past = (struct past){.workspace = tree->record.workspace,
                             .tree = &tree->start,
                             .directory = capture->store,
                             .store = STORE_NONE,
                             .next = further};
    }
    return past;
}

/* git on the host may read the copy of a branch's repository while the command runs: what is frozen is frozen there. */
static int add_place(const struct hold *hold, const struct captured_tree *tree, size_t number,
                     struct err *err)
{
    struct operation operation = hold_operation(hold, number);
    size_t size = strlen(tree->covered);
    if (operation.kind != OP_FREEZE || operation.missing || !path_is_beneath(operation.path, tree->covered) ||
        operation.path[size] != '/')
        return 0;
    const char *path = operation.path + size + 1;
    if (copy_add_place(tree->session.folder_fd, path, operation.is_directory,
                       git_stub_content(path_name(path)), err) < 0)
        return -1;
    if (tree->record.mode == RECORD_BRANCH)
        amend_copy(hold->amendments, number,
                   arena_printf(hold->arena, "%s/copy/%s", tree->session.folder, path));
    return 0;
}

int capture_add_places(const struct hold *hold, const struct capture *capture, struct err *err)
{
    for (size_t i = 0; capture && i < capture->trees.count; i++) {
        const struct captured_tree *tree = &capture->trees.at[i];
        bool is_copied = tree->is_on && tree->is_copied;
        for (size_t j = 0; is_copied && j < hold->plan->operations.count; j++) {
            if (add_place(hold, tree, j, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* --- during the run ----------------------------------------------------------------------------------------------- */

int capture_checkpoint(const struct capture *capture, struct err *err)
{
    int changed = 0;
    for (size_t i = 0; i < capture->trees.count; i++) {
        const struct captured_tree *tree = &capture->trees.at[i];
        auto_tree struct tree now = {0};
        if (!tree->is_on || tree->record.mode != RECORD_LIVE)
            continue;
        if (capture_snapshot(capture, tree, NULL, &now, err) < 0)
            return -1;
        if (now.is_partial)
            return err_set(err, "%s has more files than bawn can look through", tree->record.workspace);
        int result = checkpoint_save(tree->session.folder_fd, &tree->start, &now, err);
        if (result < 0)
            return -1;
        changed += result;
    }
    return changed;
}

void capture_has_checkpoints(struct capture *capture)
{
    for (size_t i = 0; i < capture->trees.count; i++)
        capture->trees.at[i].has_checkpoints = true;
}
