/*
 * Theory of operation
 *
 * A transition takes files of a workspace from the tree `from` to the tree `to`. It has a session of its own: its folder
 * gets the trees `before` and `after` and the record `about` (record.h). They contain only the changes that are carried out.
 *
 * The steps of transition_run:
 *
 *   1. Store the contents of all files that are about to be replaced or removed.
 *   2. Save `before`, `after` and then `about`, with the state `replacing`.
 *   3. Wait until all of this is on the disk. Then release the lock of the store.
 *   4. Carry out the changes (replace.c): removals, then new and changed files, then modes and times of directories.
 *   5. Save `about` with the state `done`.
 *
 * If step 4 fails, the same changes are carried out backwards and the session is forgotten. If that fails too, and always for
 * the commits of a branch, the state stays `replacing`. Then the next bawn command calls transition_finish,
 * which repeats steps 4 and 5 from the saved trees.
 *
 * Invariants:
 *
 *   1. `about` is saved after `before` and `after`.
 *   2. No file of the workspace is touched before `about` says `replacing` and is on the disk, together with both trees and
 *      all contents that they name.
 *   3. Each path of the workspace leads to the complete old file or to the complete new one. The content of a new file is on
 *      the disk before the file gets its name.
 *   4. A temporary name is .bawn-SESSION-N, where N is the number of the change between both trees. N is the same forwards,
 *      backwards and after a crash, so that every later attempt finds the file and removes it.
 *   5. A file that is neither as in `before` nor as in `after` is the user's. It is left alone and reported.
 *   6. Steps 4 and 5 may be repeated any number of times: a change that is complete is recognised and skipped.
 *
 * What a kill, or a stop of the machine, leaves:
 *
 *   during step 1       contents that no tree names; the next prune removes them
 *   during step 2 or 3  trees without `about`: there is no session, and prune removes them. Or `replacing` with nothing
 *                       done: transition_finish does all of it. If the disk has `about` and not both trees, it forgets
 *                       the session
 *   during step 4       some changes are complete and others not. In addition, one of these for each change at work:
 *                         - the new file under its temporary name: it is removed and made again
 *                         - the old file under its temporary name, after the exchange or before the removal: it is removed,
 *                           since `before` names its content
 *                         - NAME.lock beside a file of git: it is removed if it is a hard link of the temporary name.
 *                           Otherwise it is git's
 *   before step 5       everything is complete: transition_finish finds nothing to do and saves `done`
 *
 * Who owns what: the session's folder belongs to the process that has locked it. Temporary files belong to the session in
 * their name. Everything else in the workspace belongs to the user, who may change it at any moment.
 */
#include "workspace/transition.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/judge.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "workspace/scan.h"
#include "workspace/snapshot.h"
#include "workspace/undo_git.h"

/* --- deciding ----------------------------------------------------------------------------------------------------- */

static const char *conflict_text(const struct judged *judged)
{
    const struct change *change = &judged->change;
    if (!judged->now.path)
        return "it was removed since";
    return change->before ? "it was changed since" : "it was made since";
}

static struct decision decide(const struct transition *transition, const struct judged *judged)
{
    const struct change *change = &judged->change;
    struct decision decision = {.judged = *judged, .course = COURSE_GO};
    size_t git = git_repository_size(change->path);
    bool keeps = transition->keeps_objects && !change->after && git &&
                 text_starts_with(change->path + git, "objects/") &&
                 positions_repository_stays(transition, change->path);
    /* git would believe these in place of the objects. It makes them by itself: none is applied. */
    bool is_shortcut =
        transition->keeps_objects && !transition->keeps_refs && git &&
        (git_is_commit_graph(change->path + git) || git_is_multi_pack_index(change->path + git));
    if (judged->judgement == JUDGED_AS_AFTER || keeps || is_shortcut) {
        decision.course = COURSE_DONE;
    } else if (transition->keeps_refs && !change->after && tree_is_skipped(change->before)) {
        decision.course = COURSE_SKIPPED;
        decision.why = "snapshots leave it out, because a build or a package manager makes it again";
    } else if (judged->judgement == JUDGED_DENIED) {
        decision.course = COURSE_HELD;
        decision.why = "you have no access to its directory: open it (chmod u+rwx), and try again";
    } else if (change->after && S_ISREG(change->after->mode) && change->after->content != CONTENT_STORED &&
               change->what & (CHANGE_ADDED | CHANGE_CONTENT | CHANGE_KIND)) {
        decision.course = COURSE_HELD;
        decision.why = "its content is not in the snapshot: it was too large, or could not be read";
    } else if (judged->judgement == JUDGED_CONFLICT && !transition->overwrites) {
        decision.course = COURSE_CONFLICT;
        decision.why = conflict_text(judged);
    }
    return decision;
}

int transition_decide(const struct transition *transition, struct arena *arena, decision_list *ret_decisions,
                      struct err *err)
{
    *ret_decisions = (decision_list){0};
    auto_store struct store store = STORE_NONE;
    auto_fd int top_fd = workspace_open(transition->workspace, err);
    struct replacement replacement = {.top_fd = top_fd,
                                      .store = &store,
                                      .arena = arena,
                                      .from = transition->from,
                                      .to = transition->to,
                                      .progress = transition->progress};
    judged_list judged;
    if (top_fd < 0 || store_open(transition->directory, &store, err) < 0 ||
        judge_changes(&replacement, &judged, err) < 0)
        return -1;
    for (size_t i = 0; i < judged.count; i++)
        vec_push(ret_decisions, decide(transition, &judged.at[i]));
    vec_free(&judged);
    if (transition->keeps_refs &&
        (objects_decide(transition, top_fd, &store, arena, ret_decisions, err) < 0 ||
         positions_decide(transition, top_fd, &store, arena, ret_decisions, err) < 0)) {
        vec_free(ret_decisions);
        return -1;
    }
    positions_hold_moved(ret_decisions);
    return 0;
}

/* --- carrying out ------------------------------------------------------------------------------------------------- */

/* Collects what is about to be replaced, and stores its contents, so that it can be restored. */
static int save_present(struct store *store, int top_fd, struct arena *arena, const decision_list *decisions,
                        struct tree *ret_from, struct tree *ret_to, struct err *err)
{
    for (size_t i = 0; i < decisions->count; i++) {
        const struct decision *decision = &decisions->at[i];
        if (decision->course != COURSE_GO)
            continue;
        const struct change *change = &decision->judged.change;
        struct entry now = decision->judged.now;
        if (now.path) {
            /* The file is still the recorded one, so the record has its content, attributes and hard links. */
            const struct entry *before = change->before;
            bool is_known = before && decision->judged.judgement == JUDGED_AS_BEFORE;
            bool was_denied = false;
            if (is_known) {
                now.content = before->content;
                now.blob = before->blob;
                now.attributes = before->attributes;
                now.attributes_size = before->attributes_size;
                now.linked_to = before->linked_to;
            } else if (S_ISREG(now.mode)) {
                if (snapshot_one(store, top_fd, arena, &now, &was_denied, err) < 0)
                    return -1;
                /* The file that is overwritten must be the file that the person decided about. */
                if (!look_is_same(&now, &decision->judged.now))
                    return err_sys(err, ESTALE, "%s was changed at this moment, so nothing was done",
                                   change->path);
            }
            vec_push(&ret_from->entries, now);
        }
        if (change->after) {
            struct entry after = *change->after;
            after.inode = 0; /* the new file has another inode */
            vec_push(&ret_to->entries, after);
        }
    }
    clock_gettime(CLOCK_REALTIME, &ret_from->taken);
    ret_to->taken = ret_from->taken;
    return store_flush(store, err);
}

struct execution {
    const char *directory, *workspace;
    struct replacement replacement; /* without top_fd and store */
    struct replaced *replaced;
    int report_fd; /* where a child process reports the result */
};

static int execute(struct execution *execution, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    auto_fd int top_fd = workspace_open(execution->workspace, err);
    if (top_fd < 0 || store_open(execution->directory, &store, err) < 0)
        return -1;
    struct replacement replacement = execution->replacement;
    replacement.top_fd = top_fd;
    replacement.store = &store;
    return replace_files(&replacement, execution->replaced, err);
}

/* In a child process: writes the result to a file, as a number and pairs of strings. */
static int execute_and_tell(void *context, struct err *err)
{
    struct execution *execution = context;
    int result = execute(execution, err);
    auto_buf struct buf told = {0};
    buf_add(&told, (const char *)&execution->replaced->done, sizeof(execution->replaced->done));
    for (size_t i = 0; i < execution->replaced->left_alone.count; i++) {
        const struct left_alone *left = &execution->replaced->left_alone.at[i];
        buf_add(&told, left->path, strlen(left->path) + 1);
        buf_add(&told, left->why, strlen(left->why) + 1);
    }
    if (told.size && pwrite(execution->report_fd, told.bytes, told.size, 0) != (ssize_t)told.size)
        return err_sys(err, errno, "cannot report what was done");
    return result;
}

static void hear_told(struct execution *execution)
{
    struct stat status;
    size_t done = 0;
    if (fstat(execution->report_fd, &status) < 0 || (size_t)status.st_size < sizeof(done))
        return;
    char *told = arena_alloc(execution->replacement.arena, (size_t)status.st_size + 1);
    if (pread(execution->report_fd, told, (size_t)status.st_size, 0) != status.st_size)
        return;
    memcpy(&done, told, sizeof(done));
    execution->replaced->done = done;
    for (const char *at = told + sizeof(done), *end = told + status.st_size; at < end;) {
        const char *path = at, *why = at + strlen(at) + 1;
        vec_push(&execution->replaced->left_alone, (struct left_alone){path, why});
        at = why + strlen(why) + 1;
    }
}

/* An ordinary user does this in a user namespace, in which the modes of own files do not matter. */
static int execute_in_namespace(struct execution *execution, struct err *err)
{
    *execution->replaced = (struct replaced){0};
    if (process_is_real_root())
        return execute(execution, err);
    auto_fd int report_fd = memfd_create("report", MFD_CLOEXEC);
    execution->report_fd = report_fd;
    if (report_fd < 0)
        return err_sys(err, errno, "cannot make room for a report");
    int result = process_in_own_namespace(execute_and_tell, execution, err);
    hear_told(execution);
    return result;
}

/*
 * Nothing was changed, and the session is forgotten. But that of a branch runs again: its commits are in the layer of its overlay,
 * from which the next bawn command takes them. If that cannot be saved, the state stays `replacing`.
 */
static void give_up(int folder_fd, struct record *record)
{
    struct err ignored;
    record->state = record->mode == RECORD_BRANCH ? STATE_RUNNING : STATE_UNDONE;
    if (record->mode != RECORD_BRANCH)
        record_forget(folder_fd);
    else if (record_save(folder_fd, record, &ignored) < 0)
        record->state = STATE_REPLACING;
}

static bool is_left_alone(const struct execution *execution, const char *path)
{
    for (size_t i = 0; i < execution->replaced->left_alone.count; i++) {
        if (strcmp(execution->replaced->left_alone.at[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Counts what was done. Files that changed after it was decided about them were left alone. */
static uint64_t count_done(const struct execution *execution)
{
    change_list changes;
    compare_trees(execution->replacement.from, execution->replacement.to, &changes);
    size_t done = 0;
    for (size_t i = 0; i < changes.count; i++) {
        if (!is_left_alone(execution, changes.at[i].path))
            changes.at[done++] = changes.at[i];
    }
    changes.count = done;
    uint64_t count = changes_count(&changes);
    vec_free(&changes);
    return count;
}

/* Goes forward and, if that fails, back. If this is killed, the state stays `replacing`. */
static int carry_out(struct execution *execution, int folder_fd, struct record *record, struct err *err)
{
    int result = execute_in_namespace(execution, err);
    clock_gettime(CLOCK_REALTIME, &record->ended);
    if (result == 0) {
        record->state = STATE_DONE;
        if (execution->replaced->left_alone.count)
            record->changes = count_done(execution);
        return record_save(folder_fd, record, err);
    }
    struct replaced ignored = {0};
    struct err second = {0};
    struct execution back = *execution;
    back.replacement.from = execution->replacement.to;
    back.replacement.to = execution->replacement.from;
    back.replacement.again = true;
    back.replaced = &ignored;
    /* A ref that was taken back would look as if its user had set it: commits of a branch only go forward. */
    if (record->mode != RECORD_BRANCH && execute_in_namespace(&back, &second) == 0) {
        give_up(folder_fd, record);
        err_hint(err, "nothing was changed: what was done has been taken back");
    } else {
        err_hint(err, "some files are done and others are not; the next bawn command finishes the rest");
    }
    vec_free(&ignored.left_alone);
    return -1;
}

struct states {
    struct tree from, to;
};

/* Saves both trees and the record (steps 1 to 3 of the theory). */
static int write_down(const struct transition *transition, struct arena *arena,
                      const decision_list *decisions, int folder_fd, const struct record *record,
                      struct states *ret_states, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    auto_fd int top_fd = workspace_open(transition->workspace, err);
    if (top_fd < 0 || store_open(transition->directory, &store, err) < 0 ||
        save_present(&store, top_fd, arena, decisions, &ret_states->from, &ret_states->to, err) < 0)
        return -1;
    if (tree_save(&ret_states->from, folder_fd, "before", err) == 0 &&
        tree_save(&ret_states->to, folder_fd, "after", err) == 0 &&
        record_save(folder_fd, record, err) == 0 && record_wait_for_disk(&store, folder_fd, err) == 0)
        return 0;
    return -1;
}

int transition_run(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                   int folder_fd, struct record *record, struct replaced *ret_replaced, struct err *err)
{
    *ret_replaced = (struct replaced){0};
    struct states states = {0};
    record->state = STATE_REPLACING;
    auto_vec change_list going = {0};
    vec_each (const struct decision, decision, decisions) {
        if (decision->course == COURSE_GO)
            vec_push(&going, decision->judged.change);
    }
    record->changes = changes_count(&going);
    int result = write_down(transition, arena, decisions, folder_fd, record, &states, err);
    struct execution execution = {
        .directory = transition->directory,
        .workspace = transition->workspace,
        .replacement = {.arena = arena,
                        .from = &states.from,
                        .to = &states.to,
                        .mark = record->name,
                        .progress = transition->progress},
        .replaced = ret_replaced,
    };
    if (result == 0)
        result = carry_out(&execution, folder_fd, record, err);
    else
        give_up(folder_fd, record);
    tree_free(&states.from);
    tree_free(&states.to);
    return result;
}

int transition_finish(const char *directory, int folder_fd, struct arena *arena, struct record *record,
                      struct replaced *ret_replaced, struct err *err)
{
    auto_tree struct tree from = {0}, to = {0};
    int has_from = tree_load(folder_fd, "before", &from, err), has_to = 0;
    if (has_from < 0 || (has_to = tree_load(folder_fd, "after", &to, err)) < 0)
        return -1;
    *ret_replaced = (struct replaced){0};
    if (!has_from || !has_to) {
        give_up(folder_fd, record);
        return 0;
    }
    struct execution execution = {
        .directory = directory,
        .workspace = record->workspace,
        .replacement = {.arena = arena, .from = &from, .to = &to, .mark = record->name, .again = true},
        .replaced = ret_replaced,
    };
    return carry_out(&execution, folder_fd, record, err);
}
