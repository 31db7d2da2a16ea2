/*
 * Frozen paths while a command runs.
 *
 * Theory of operation
 *
 * A frozen path must stay as it was at the start. The launcher pins it: it mounts the object read-only over itself. A mount holds an
 * object and not a name, so the host can take a path out of its pin: git replaces a file by renaming another one over it, and
 * the mount goes with the old object. States of a frozen path:
 *
 *   PINNED    an object exists, and a mount holds it
 *   STUBBED   as PINNED; the object is a stub of ours, because a control file of git was missing
 *   MISSING   no object, so nothing to pin; none may appear. A hidden path that is missing counts as one of these
 *   FALLEN    the host replaced the object, and the pin is gone: a process inside can write the path until the supervisor notices
 *             and brings everything inside to a standstill, which lasts as long as this state
 *
 *   from      to        when                                                   who
 *   (start)   PINNED    the object exists                                      hold_begin(), launcher
 *   (start)   STUBBED   missing, and a control file of git                     hold_begin(), launcher
 *   (start)   MISSING   missing, and anything else; or no stub can be made     hold_begin()
 *   PINNED    FALLEN    the host renames another object over the path          the host
 *   FALLEN    PINNED    supervise/pins.c has pinned the new object             hold_fell(), hold_decide_due()
 *   FALLEN    STUBBED   the object is gone, and the path is git's              hold_stand_in()
 *   FALLEN    MISSING   the object is gone, and the path is not                hold_stand_in()
 *   MISSING   MISSING   an object appears: it is moved aside                   hold_sweep()
 *
 * PINNED and STUBBED against MISSING is the operation's `missing`, with its amendments. FALLEN has no field: the sandbox's
 * mounts tell (launch/repin.c). `fell` says that a path has ever been FALLEN.
 *
 * Without namespaces there are no mounts. Modes keep a frozen file from being written (hold/modes.c), and a judge refuses to change modes and
 * names (launch/bare.h). PINNED and STUBBED mean that then. When the host puts another object at the path, its mode is lowered too, as soon as
 * that is noticed; every frozen path is compared at the end, as if it had fallen.
 *
 * Invariants.
 *
 *   1. `before` is read by hold_read(), before the command begins. It holds nothing that the command could have written. Without it nothing
 *      is compared: no command has begun.
 *   2. A frozen file with a second name in a writable tree is refused by hold_read(): a pin holds one name only. So is one with a second
 *      name somewhere, where a part of the trees cannot be searched. One whose second name lies elsewhere is compared at the end.
 *   3. While a path is FALLEN, changes by the host and by the sandbox cannot be told apart. Of git's files, changes that make git
 *      run something new are taken out (hold/replaced.c). Everything else stays and is reported.
 *   4. A process inside can keep a file open that it opened while the path was FALLEN. A file of git's that changed is therefore copied, and
 *      the copy is pinned. Another one, or one that another session put there, may still be written: so a path that fell is compared
 *      with `before` again on every write to it (supervise/watch.c), and once more at the end.
 *   5. Nothing is deleted but our own stubs, and those only where they are unchanged. All else is moved into the session's folder.
 *   6. hold_end() runs after every process of the sandbox has ended. Its sweep and comparison are final; those during the run
 *      only shorten the time in which the host could use a changed file.
 */
#include "hold/hold.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "git/repo.h"
#include "hold/aside.h"
#include "hold/replaced.h"
#include "kernel/directories.h"

void hold_note(struct hold *hold, const char *event, const char *path, const char *notice)
{
    journal_event(&hold->session->journal, event, "path", path);
    if (notice && !text_is_among(notice, hold->notices.at, hold->notices.count))
        vec_push(&hold->notices, notice);
}

static bool is_git_control(const struct operation *operation)
{
    return operation->kind == OP_FREEZE && operation->because->path.start == START_GIT;
}

bool hold_needs_stub(const struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (is_git_control(&plan->operations.at[i]) && plan->operations.at[i].missing)
            return true;
    }
    return false;
}

struct operation hold_operation(const struct hold *hold, size_t number)
{
    return amended_operation(&hold->plan->operations, hold->amendments, number);
}

static int hold_with_stub(struct hold *hold, size_t number, struct err *err)
{
    const struct operation *operation = &hold->plan->operations.at[number];
    int held = stubs_hold(&hold->stubs, operation->path, operation->is_directory,
                          git_stub_content(path_name(operation->path)), err);
    if (operation->missing && held == 1)
        amend_presence(hold->amendments, number, false);
    return held < 0 ? -1 : 0;
}

/* Refuses a frozen file that has another name in a writable tree: it could be written by that name. */
static int check_aliases(struct hold *hold, const struct frozen *frozen, struct err *err)
{
    vec_each (const struct file_content, content, &frozen->before) {
        const char *alias = NULL;
        if (S_ISREG(content->mode) && content->links > 1 && alias_find(hold, content, &alias, err) < 0)
            return -1;
        if (alias) {
            err_set(
                err,
                "%s cannot be frozen: it is the same file (a hard link) as %.500s, and could be written there",
                content->path, alias);
            return err_hint(err, "make one of them a separate file: cp -p %s x && mv x %s", content->path,
                            content->path);
        }
    }
    return 0;
}

bool hold_has_pins(const struct hold *hold)
{
    return hold->plan->request.on == ON_NAMESPACES;
}

/* Notes the inode, by which a later replacement is seen. */
static void remember_object(const struct hold *hold, struct frozen *frozen)
{
    struct stat status = {0};
    lstat(hold->plan->operations.at[frozen->operation].path, &status);
    frozen->device = status.st_dev;
    frozen->inode = status.st_ino;
}

int hold_begin(struct hold *hold, struct err *err)
{
    for (size_t i = 0; i < hold->plan->operations.count; i++) {
        const struct operation *operation = &hold->plan->operations.at[i];
        if (is_git_control(operation) && hold_with_stub(hold, i, err) < 0)
            return -1;
        if (operation->kind != OP_FREEZE || hold_operation(hold, i).missing)
            continue;
        struct frozen frozen = {.operation = i, .fell = !hold_has_pins(hold)};
        remember_object(hold, &frozen);
        vec_push(&hold->frozen, frozen);
    }
    return 0;
}

bool hold_keeps_aside(const struct hold *hold, const char *path)
{
    const struct operations *planned = &hold->plan->operations;
    for (size_t i = 0; i < planned->count; i++) {
        if (planned->at[i].kind != OP_BIND_WRITE || !path_is_beneath(path, planned->at[i].path))
            continue;
        struct operation operation = hold_operation(hold, i);
        if (operation.source || operation.overlay)
            return true;
    }
    return false;
}

/* Without namespaces: takes the right to write where the command could, which may be in a copy. */
static int lower(struct hold *hold, size_t number, struct err *err)
{
    struct operation operation = hold_operation(hold, number);
    if (operation.source)
        return modes_lower(&hold->modes, operation.source, err);
    return hold_keeps_aside(hold, operation.path) ? 0 : modes_lower(&hold->modes, operation.path, err);
}

int hold_read(struct hold *hold, struct err *err)
{
    vec_each (struct frozen, frozen, &hold->frozen) {
        const char *path = hold->plan->operations.at[frozen->operation].path;
        content_add(hold->arena, path, &frozen->before);
        if (frozen->before.trouble)
            return err_sys(err, frozen->before.trouble, "cannot read %s, which is frozen", path);
        frozen->is_read = true;
        if (check_aliases(hold, frozen, err) < 0)
            return -1;
        /* After the look at the modes, which are given back at the end. */
        if (!hold_has_pins(hold) && lower(hold, frozen->operation, err) < 0)
            return -1;
    }
    return 0;
}

static bool was_replaced(const struct hold *hold, const struct frozen *frozen)
{
    struct stat status = {0};
    return lstat(hold->plan->operations.at[frozen->operation].path, &status) < 0 ||
           status.st_ino != frozen->inode || status.st_dev != frozen->device;
}

bool hold_was_replaced(const struct hold *hold)
{
    for (size_t i = 0; i < hold->frozen.count; i++) {
        if (was_replaced(hold, &hold->frozen.at[i]))
            return true;
    }
    return false;
}

struct frozen *hold_frozen_at(struct hold *hold, size_t operation)
{
    for (size_t i = 0; i < hold->frozen.count; i++) {
        if (hold->frozen.at[i].operation == operation)
            return &hold->frozen.at[i];
    }
    return NULL;
}

bool hold_stand_in(struct hold *hold, size_t operation)
{
    const struct operation *gone = &hold->plan->operations.at[operation];
    struct err ignored;
    bool stands = is_git_control(gone) && stubs_hold(&hold->stubs, gone->path, gone->is_directory,
                                                     git_stub_content(path_name(gone->path)), &ignored) == 1;
    amend_presence(hold->amendments, operation, !stands);
    return stands;
}

/* Does a directory on the way keep its owner from looking at the path? */
static bool is_out_of_sight(const char *path)
{
    struct stat status;
    return lstat(path, &status) < 0 && errno == EACCES;
}

int hold_sweep(struct hold *hold, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < hold->plan->operations.count; i++) {
        const struct operation *operation = &hold->plan->operations.at[i];
        /* Where changes are kept aside, the command cannot have made it. The user may have, or another session. */
        if (operation->kind != OP_FREEZE || !hold_operation(hold, i).missing ||
            hold_keeps_aside(hold, operation->path))
            continue;
        int moved = aside_move(hold->arena, hold->session->folder_fd, operation->path, err);
        bool is_closed = moved < 0 && err->errnum == EACCES && is_out_of_sight(operation->path);
        if (moved < 0 && !is_closed)
            return -1;
        result |= is_closed;
        if (moved == ASIDE_RENAMED)
            hold_note(hold, "not-held", operation->path, arena_str(hold->arena, err->message));
        else if (moved > 0)
            hold_note(
                hold, "held", operation->path,
                arena_printf(
                    hold->arena,
                    "%s was created during the run, where none may be: it was set aside, and `bawn held %s` "
                    "shows it",
                    operation->path, hold->session->name));
    }
    return result;
}

/* Without namespaces, bawn itself or another session may have taken the right to write, and given it back. */
static bool is_unchanged(const struct hold *hold, const struct file_content *before,
                         const struct file_content *now)
{
    enum { WRITE_BITS = 0222 };
    struct file_content one = *before, two = *now;
    if (!hold_has_pins(hold)) {
        one.mode |= WRITE_BITS;
        two.mode |= WRITE_BITS;
        two.changed = one.changed;
    }
    return content_equal(&one, &two);
}

bool hold_is_as_frozen(const struct hold *hold, const struct file_content *now)
{
    vec_each (const struct frozen, frozen, &hold->frozen) {
        const struct file_content *before =
            hold_has_pins(hold) ? NULL : content_find(&frozen->before, now->path);
        if (before && is_unchanged(hold, before, now))
            return true;
    }
    return false;
}

/* Is it not what bawn left there? */
static bool has_changed(const struct hold *hold, const struct frozen *frozen)
{
    auto_arena struct arena arena = {0};
    file_contents now = {0};
    content_add(&arena, hold->plan->operations.at[frozen->operation].path, &now);
    bool is_same = !now.trouble;
    vec_each (const struct file_content, content, &now) {
        const struct file_content *before = content_find(&frozen->before, content->path);
        is_same = is_same && before && is_unchanged(hold, before, content);
    }
    vec_free(&now);
    return !is_same;
}

/* Compares a path that fell with its content at the start, and decides about the differences. */
static void decide_fallen(struct hold *hold, struct frozen *frozen)
{
    const struct operation *operation = &hold->plan->operations.at[frozen->operation];
    auto_arena struct arena arena = {0};
    file_contents now = {0};
    if (!frozen->is_read || hold_keeps_aside(hold, operation->path))
        return;
    content_add(&arena, operation->path, &now);
    if (now.trouble)
        hold_note(hold, "replaced", operation->path,
                  arena_printf(
                      hold->arena,
                      "%s was frozen, but was replaced from outside during the run and cannot be read now: "
                      "check it before you use it",
                      operation->path));
    for (size_t i = 0; i < now.count; i++) {
        const struct file_content *before = content_find(&frozen->before, now.at[i].path);
        if (before && is_unchanged(hold, before, &now.at[i]))
            continue;
        if (operation->because->path.start >= START_GIT || operation->because->cause)
            hold_decide_replaced(hold, frozen, &now.at[i]);
        else
            hold_note(
                hold, "replaced", now.at[i].path,
                arena_printf(
                    hold->arena,
                    "%s was frozen, but was replaced from outside during the run: check it before you use it",
                    now.at[i].path));
    }
    vec_free(&now);
}

int hold_lower_again(struct hold *hold, struct err *err)
{
    vec_each (struct frozen, frozen, &hold->frozen) {
        const char *path = hold->plan->operations.at[frozen->operation].path;
        if (hold_has_pins(hold) || hold_keeps_aside(hold, path) || !was_replaced(hold, frozen))
            continue;
        if (lower(hold, frozen->operation, err) < 0 && err->errnum != ENOENT)
            return -1;
        remember_object(hold, frozen);
        decide_fallen(hold, frozen);
    }
    return 0;
}

void hold_fell(struct hold *hold, size_t operation)
{
    struct frozen *frozen = hold_frozen_at(hold, operation);
    struct operation fallen = hold_operation(hold, operation);
    const char *notice =
        fallen.kind == OP_FREEZE
            ? NULL
            : arena_printf(
                  hold->arena,
                  "%s was replaced from outside while it was %s inside: for a moment it was not; now it is "
                  "again",
                  fallen.path, fallen.kind == OP_HIDE ? "hidden" : "read-only");
    hold_note(hold, "pinned-again", fallen.path, notice);
    if (!frozen)
        return;
    frozen->fell = true;
    remember_object(hold, frozen);
    frozen->is_due |= has_changed(hold, frozen);
}

void hold_cannot_pin(struct hold *hold, size_t operation)
{
    struct frozen *frozen = hold_frozen_at(hold, operation);
    if (frozen && has_changed(hold, frozen)) {
        frozen->fell = true;
        decide_fallen(hold, frozen);
    }
}

bool hold_is_due(const struct hold *hold, bool *ret_is_changing)
{
    enum { MOMENT_NANOSECONDS = 20 * 1000 * 1000 };
    struct timespec now;
    bool is_due = false;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    *ret_is_changing = false;
    vec_each (const struct frozen, frozen, &hold->frozen) {
        struct stat status;
        if (!frozen->is_due)
            continue;
        is_due = true;
        if (lstat(hold->plan->operations.at[frozen->operation].path, &status) == 0) {
            int64_t age = timespec_between(status.st_ctim, now);
            *ret_is_changing |= age >= 0 && age < MOMENT_NANOSECONDS;
        }
    }
    return is_due;
}

void hold_decide_due(struct hold *hold)
{
    vec_each (struct frozen, frozen, &hold->frozen) {
        if (frozen->is_due)
            decide_fallen(hold, frozen);
        frozen->is_due = false;
    }
}

/* A pin holds one name, so a file that has another may have been written, though its pin never fell. */
static bool has_other_names(const struct frozen *frozen)
{
    vec_each (const struct file_content, content, &frozen->before) {
        if (S_ISREG(content->mode) && content->links > 1)
            return true;
    }
    return false;
}

void hold_look_at_fallen(struct hold *hold)
{
    vec_each (struct frozen, frozen, &hold->frozen) {
        if (!frozen->is_due && (frozen->fell || was_replaced(hold, frozen) || has_other_names(frozen)))
            decide_fallen(hold, frozen);
    }
}

static void reopen(struct hold *hold, const char *tree)
{
    if (directories_reopen(tree))
        hold_note(
            hold, "reopened", tree,
            arena_printf(hold->arena, "the command had removed your access to %s; bawn restored it", tree));
}

void hold_reopen(struct hold *hold)
{
    vec_each (const struct operation, tree, &hold->plan->operations) {
        if (tree->kind == OP_BIND_WRITE && tree->is_directory)
            reopen(hold, tree->path);
    }
    vec_each (const struct given_tree, given, &hold->given) {
        if (given->is_written && given->is_directory)
            reopen(hold, given->path);
    }
}

void hold_end(struct hold *hold)
{
    struct err err = {0};
    hold->is_over = true;
    hold->person = (struct hold_person){0};
    hold_reopen(hold);
    modes_release(&hold->modes); /* what is moved aside below may lie in a frozen directory */
    if (hold_sweep(hold, &err) != 0)
        hold_note(hold, "not-held", "", arena_str(hold->arena, err.message));
    hold_decide_due(hold);
    hold_look_at_fallen(hold);
    stubs_release(&hold->stubs);
}

void hold_free(struct hold *hold)
{
    vec_free(&hold->given);
    vec_free(&hold->kept);
    for (size_t i = 0; i < hold->frozen.count; i++)
        vec_free(&hold->frozen.at[i].before);
    vec_free(&hold->frozen);
    vec_free(&hold->opened);
    vec_free(&hold->additions);
}
