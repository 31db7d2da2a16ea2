#include <errno.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/style.h"
#include "content/store.h"
#include "hold/flags.h"
#include "session/branch.h"
#include "session/caller.h"
#include "session/capture.h"
#include "session/upkeep.h"
#include "workspace/checkpoint.h"
#include "workspace/copy.h"
#include "workspace/layers.h"
#include "workspace/record.h"
#include "workspace/snapshot.h"

/* Writes the record of a live tree. A session without changes leaves only its journal. */
static int record_live(const struct capture *capture, struct captured_tree *tree, struct flags *flags,
                       struct err *err)
{
    auto_tree struct tree end = {0};
    int folder_fd = tree->session.folder_fd;
    if (capture_snapshot(capture, tree, capture->progress, &end, err) < 0)
        return -1;
    if (flags && end.is_partial)
        flags_add_sighting(
            flags,
            (struct sighting){"more files than bawn can look through", tree->record.workspace,
                              "`bawn undo` restores the earlier files, and leaves new ones as they are"});
    else if (flags)
        programs_look(flags, tree->record.workspace, &tree->start, &end);
    record_end(&tree->record);
    tree->record.state = STATE_DONE;
    /* with checkpoints, a state in between may be wanted even if nothing changed in the end */
    struct live live = {.directory = capture->store,
                        .workspace = tree->record.workspace,
                        .start = &tree->start,
                        .end = &end,
                        .is_kept = tree->has_checkpoints};
    if (live_save_changes(&live, folder_fd, &tree->record.changes, err) < 0)
        return -1;
    if (tree->record.changes == 0 && !live.is_kept) {
        record_forget(folder_fd);
        return 0;
    }
    if (record_save(folder_fd, &tree->record, err) < 0)
        return -1;
    snapshot_forget_start(folder_fd);
    return 0;
}

/* The overlay or copy is about to be removed: first the stored contents must be on the disk. */
static int wait_for_disk(const struct capture *capture, int folder_fd, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    return store_open(capture->store, &store, err) < 0 ? -1 : record_wait_for_disk(&store, folder_fd, err);
}

/* The layers are about to be removed: process 1 gets the directories that its overlay does not keep open. */
static void leave_marks(const struct capture *capture, int folder_fd)
{
    int marks[LAYERS_MARKS];
    if (!capture->launched)
        return;
    layers_open_marks(folder_fd, marks);
    for (size_t i = 0; i < LAYERS_MARKS; i++) {
        if (marks[i] >= 0)
            launch_leave(capture->launched, marks[i]);
        fd_close(marks[i]);
    }
}

/* Reads the changes from the overlay or copy into the record of a review; for --discard, removes them. */
static int record_aside(const struct capture *capture, struct captured_tree *tree, struct err *err)
{
    struct record *record = &tree->record;
    int folder_fd = tree->session.folder_fd;
    bool is_copied = copy_is_there(folder_fd);
    bool is_read = record->mode == RECORD_REVIEW &&
                   (is_copied ? copy_is_whole(folder_fd) : !upper_is_untouched(folder_fd));
    record->changes = 0;
    if (is_read) {
        struct upper_request request = {
            .directory = capture->store,
            .progress = capture->progress,
            .workspace = record->workspace,
            .prefix = record->prefix,
            .folder_fd = folder_fd,
            .began = record->began,
        };
        auto_tree struct tree before = {0}, after = {0};
        if ((is_copied ? copy_read(&request, err) : upper_read(&request, err)) < 0 ||
            tree_load(folder_fd, "before", &before, err) < 0 ||
            tree_load(folder_fd, "after", &after, err) < 0)
            return -1;
        record->changes = record_count_changes(&before, &after);
    }
    clock_gettime(CLOCK_REALTIME, &record->ended);
    /* A kill during the removal leaves a part of the overlay, which must not be read again. */
    record->state = record->changes ? STATE_WAITING : STATE_DISCARDED;
    if ((is_read && record_save(folder_fd, record, err) < 0) ||
        (record->changes && wait_for_disk(capture, folder_fd, err) < 0))
        return -1;
    tree->is_recorded = true;
    leave_marks(capture, folder_fd);
    if (kept_aside_remove(folder_fd, capture->progress, err) < 0)
        return -1;
    if (!record->changes)
        record_forget(folder_fd);
    return 0;
}

static int finish(const struct capture *capture, struct captured_tree *tree, struct flags *flags,
                  struct err *err)
{
    if (tree->record.mode == RECORD_BRANCH)
        return branch_end(capture->loaded->policy.arena, capture->store, tree, flags, err);
    return tree->record.mode == RECORD_LIVE ? record_live(capture, tree, flags, err)
                                            : record_aside(capture, tree, err);
}

/* "; 2 files there are not committed: a and b", or "". */
static const char *uncommitted_of(const struct caller *caller, struct arena *arena,
                                  const struct captured_tree *tree, const char *folder)
{
    struct uncommitted found;
    if (branch_uncommitted(caller, folder, tree->session.folder, tree->session.folder_fd, arena, &found) < 0)
        return "; git cannot tell what is not committed there";
    const char *text = uncommitted_text(arena, &found);
    uncommitted_free(&found);
    return text ? arena_printf(arena, "; %s", text) : "";
}

static void say_branch(const struct caller *caller, const struct loaded *loaded,
                       const struct captured_tree *tree)
{
    struct arena *arena = loaded->policy.arena;
    const struct record *record = &tree->record;
    const struct style style = {.home = loaded->request.home};
    const char *folder =
        branch_tree(arena, loaded->request.starts[START_STATE], record->workspace, record->of);
    if (record->state == STATE_WAITING)
        caller_say(caller,
                   arena_printf(arena, "the commits on the branch %s wait for your decision: %s", record->of,
                                tree->breaks ? tree->breaks : "somebody else moved the branch"),
                   arena_printf(arena, "`bawn review %s` shows them", record->name));
    else if (!caller->speaker->is_quiet && !record->changes)
        caller_note(caller,
                    arena_printf(arena, "the run committed nothing on the branch %s; its worktree is %s%s",
                                 record->of, style_path(&style, arena, folder),
                                 uncommitted_of(caller, arena, tree, folder)),
                    arena_printf(arena, "`bawn discard %s` removes the worktree, with what is not committed",
                                 record->name));
    else if (!caller->speaker->is_quiet)
        caller_note(caller,
                    arena_printf(arena, "the work is on the branch %s, in %s%s", record->of,
                                 style_path(&style, arena, folder),
                                 uncommitted_of(caller, arena, tree, folder)),
                    arena_printf(arena, "`git merge %s` brings it in, `bawn discard %s` removes the worktree",
                                 record->of, record->name));
}

static void say_changes(const struct caller *caller, struct arena *arena, const struct captured_tree *tree)
{
    const struct record *record = &tree->record;
    bool waits = record->mode == RECORD_REVIEW;
    const char *named = arena_printf(arena, " %s", record->name);
    if (record->changes && (caller->speaker->is_read || (waits && !caller->speaker->is_quiet)))
        caller_note(caller,
                    arena_printf(arena, "%llu file%s %s in %s", (unsigned long long)record->changes,
                                 record->changes == 1 ? "" : "s", waits ? "wait for review" : "changed",
                                 record->name),
                    waits ? arena_printf(arena, "`bawn review%s` goes through them", named)
                          : arena_printf(arena,
                                         "`bawn diff%s` shows the changes, `bawn undo%s` takes them back",
                                         named, named));
}

static bool is_full(const struct err *err)
{
    return err->errnum == ENOSPC || err->errnum == EDQUOT;
}

/*
 * The record stays in the state "running", with the snapshot or the layer that it is made from. The next bawn command
 * finishes it. If that fails too, it sets the session aside and says so.
 */
static void say_unfinished(const struct caller *caller, struct arena *arena, const struct captured_tree *tree,
                           const struct err *err)
{
    caller_say(caller,
               tree->is_recorded ? arena_printf(arena, "temporary files of %s are not removed yet: %s",
                                                tree->record.name, err->message)
                                 : arena_printf(arena, "the changes of %s are not recorded yet: %s",
                                                tree->covered, err->message),
               is_full(err) ? "make room; the next bawn command tries again"
               : *err->hint ? arena_printf(arena, "%s. Then the next bawn command tries again", err->hint)
                            : "the next bawn command tries again");
}

/* A review's changes are nowhere but in its layer, and a branch's commits too: the run has not ended well without them. */
static bool is_needed(const struct captured_tree *tree)
{
    return !tree->is_recorded && (tree->record.mode == RECORD_REVIEW || tree->record.mode == RECORD_BRANCH);
}

struct capture_result capture_end(struct capture *capture, struct flags *flags)
{
    struct capture_result result = {.mode = RECORD_LIVE};
    if (!capture)
        return result;
    const struct caller *caller = capture->caller;
    struct arena *arena = capture->loaded->policy.arena;
    for (size_t i = 0; i < capture->trees.count; i++) {
        struct captured_tree *tree = &capture->trees.at[i];
        struct err err = {0};
        struct progress_line line;
        capture->progress = progress_begin(&line, caller->speaker, "looking at what was changed");
        bool is_done = !tree->is_on || finish(capture, tree, flags, &err) == 0;
        progress_end(&line);
        if (!is_done)
            say_unfinished(caller, arena, tree, &err);
        else if (tree->is_on && *tree->record.of)
            say_branch(caller, capture->loaded, tree);
        else if (tree->is_on && tree->is_own)
            say_changes(caller, arena, tree);
        if (tree->is_on && !tree->is_own && !*tree->record.of) {
            result.mode = tree->record.mode;
            result.changes = is_done || tree->is_recorded ? tree->record.changes : 0;
        }
        result.lacks_changes |= !is_done && is_needed(tree);
        tree_free(&tree->start);
        if (tree->is_own)
            journal_event(&tree->session.journal, "end");
        if (tree->is_own && !is_done)
            session_leave(&tree->session);
        else if (tree->is_own)
            session_end(&tree->session);
        else
            result.is_unfinished = !is_done;
        if (!tree->is_own && tree->is_on && is_done && tree->record.changes)
            pruning_at_end(caller, capture->loaded, capture->store, capture->session);
    }
    vec_free(&capture->trees);
    return result;
}

bool capture_leave_layers(struct capture *capture, const struct launched *launched)
{
    for (size_t i = 0; capture && i < capture->trees.count; i++) {
        const struct captured_tree *tree = &capture->trees.at[i];
        bool is_aside = tree->record.mode == RECORD_REVIEW || tree->record.mode == RECORD_DISCARD;
        if (tree->is_on && is_aside && !tree->is_copied)
            capture->launched = launched;
    }
    return capture && capture->launched;
}

int capture_take_up(const struct loaded *loaded, const struct session *session, const struct record *record,
                    struct capture **ret_capture, struct err *err)
{
    struct capture *capture = arena_new(loaded->policy.arena, struct capture);
    struct captured_tree tree = {.session = *session, .record = *record};
    capture->loaded = loaded;
    capture->store = load_store(loaded, loaded->policy.arena);
    int found = record->mode == RECORD_LIVE ? snapshot_load_start(session->folder_fd, &tree.start, err) : 1;
    tree.is_on = found > 0;
    auto_fd int checkpoints_fd = checkpoint_open_folder(session->folder_fd);
    tree.has_checkpoints = checkpoints_fd >= 0;
    vec_push(&capture->trees, tree);
    *ret_capture = capture;
    return found < 0 ? -1 : 0;
}

int capture_finish(struct capture *capture, struct flags *flags, uint64_t *ret_changes, struct err *err)
{
    struct captured_tree *tree = &capture->trees.at[0];
    int result = tree->is_on ? finish(capture, tree, flags, err) : 0;
    *ret_changes = result == 0 && tree->is_on ? tree->record.changes : 0;
    tree_free(&tree->start);
    vec_free(&capture->trees);
    return result;
}
