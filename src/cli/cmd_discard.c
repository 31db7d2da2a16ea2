/* `bawn discard`: throws away the changes of a session with --review. */
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/dialogue.h"
#include "cli/say.h"
#include "cli/undo.h"
#include "kernel/beneath.h"
#include "session/branch.h"
#include "workspace/copy.h"

/* Returns 0 to go on. What is discarded is out of sight, so somebody must say so. */
static int agree(const struct world *world, const struct args *args, const char *question, bool *ret_agreed)
{
    *ret_agreed = args->flags & FLAG(YES);
    if (*ret_agreed)
        return 0;
    if (!world->in_is_terminal)
        return say_bad_input(world, "nothing was discarded: there is no terminal to ask on", "pass --yes");
    *ret_agreed = ask(world, question);
    if (!*ret_agreed)
        fprintf(world->out, "Nothing was discarded.\n");
    return 0;
}

/* The end of the run has removed it, unless it was killed. */
static int remove_kept_aside(const struct choice *choice, const struct record *record, struct err *err)
{
    auto_fd int fd = session_open(choice->sessions_fd, record->name);
    return fd >= 0 && kept_aside_is_there(fd) ? kept_aside_remove(fd, NULL, err) : 0;
}

static int discard_all(const struct world *world, const struct args *args, const struct choice *choice,
                       const struct record *record)
{
    const char *question =
        arena_printf(choice->loaded.policy.arena, "Throw away the changes of %s, %llu file%s?", record->name,
                     (unsigned long long)record->changes, record->changes == 1 ? "" : "s");
    bool is_agreed = false;
    int status = agree(world, args, question, &is_agreed);
    if (status || !is_agreed)
        return status;
    mark_state(choice, record->name, STATE_DISCARDED);
    struct err err = {0};
    if (remove_kept_aside(choice, record, &err) < 0)
        return say_refused(world, &err);
    fprintf(world->out, "%s is discarded. The workspace was not changed. `bawn undo %s` brings it back.\n",
            record->name, record->name);
    return EXIT_FINE;
}

/* Removes these paths from the record; the other changes still wait. */
static int discard_paths(const struct world *world, const struct args *args, struct choice *choice,
                         const struct record *record)
{
    struct err err = {0};
    struct dialogue dialogue = {.mode = RECORD_APPLY, .of = record};
    auto_vec change_list changes = {0}, chosen = {0};
    bool is_agreed = false;
    int status = choose_open(world, choice, record);
    if (status)
        return status;
    compare_trees(&choice->before, &choice->after, &changes);
    vec_each (const struct change, change, &changes) {
        if (!choose_has_path(choice, change->path))
            continue;
        vec_push(&dialogue.afters, (struct revision){change->path, change->before});
        vec_push(&dialogue.dropped, change->path);
        vec_push(&chosen, *change);
    }
    size_t shown = (size_t)changes_count(&chosen);
    const char *question =
        arena_printf(choice->loaded.policy.arena, "Throw away %zu of the %llu files that %s wrote?", shown,
                     (unsigned long long)record->changes, record->name);
    if (shown == 0) {
        status = say_bad_input(
            world, arena_printf(choice->loaded.policy.arena, "%s changed nothing there", record->name),
            "`bawn diff --name-only` lists what it changed");
    } else if ((status = agree(world, args, question, &is_agreed)) == 0 && is_agreed) {
        if (dialogue_revise(choice, &dialogue, &err) < 0) {
            status = say_refused(world, &err);
        } else {
            if (dialogue.is_void)
                mark_state(choice, record->name, STATE_DISCARDED);
            fprintf(world->out, "%zu file%s of %s discarded.%s `bawn undo %s` makes %s wait again.\n", shown,
                    shown == 1 ? "" : "s", record->name,
                    waiting_is_part(choice, record) ? " What was applied before stays." : "", record->name,
                    shown == 1 ? "it" : "them");
        }
    }
    dialogue_free(&dialogue);
    return status;
}

/* Lists what lies in the worktree alone. */
static void say_uncommitted(const struct world *world, const struct choice *choice,
                            const struct record *record)
{
    enum { MOST_LISTED = 20 };
    struct arena *arena = choice->loaded.policy.arena;
    struct uncommitted found;
    auto_buf struct buf out = {0};
    auto_fd int fd = session_open(choice->sessions_fd, record->name);
    if (fd < 0 ||
        branch_uncommitted(&world->caller, branch_tree(arena, choice->state, record->workspace, record->of),
                           arena_printf(arena, "%s/bawn/sessions/%s", choice->state, record->name), fd, arena,
                           &found) < 0) {
        fprintf(world->out, "git cannot tell what is not committed in the worktree of the branch %s.\n",
                record->of);
        return;
    }
    if (found.files.count)
        buf_printf(&out, "Not committed in the worktree of the branch %s (!! is ignored by git):\n",
                   record->of);
    for (size_t i = 0; i < found.files.count && i < MOST_LISTED; i++)
        buf_printf(&out, "  %s\n", found.files.at[i]);
    if (found.files.count > MOST_LISTED)
        buf_printf(&out, "  and %zu more\n", found.files.count - MOST_LISTED);
    put(world->out, &out);
    uncommitted_free(&found);
}

static int keep_worktree(const struct world *world, const struct choice *choice, const struct record *record,
                         int folder_fd)
{
    struct err err = {0};
    const char *left_out = "";
    struct progress_line line;
    struct branch_copy copy = undo_branch_copy(choice, record, folder_fd);
    copy.progress = progress_begin(&line, &world->speaker, "keeping a copy");
    int result = branch_keep(&copy, &left_out, &err);
    progress_end(&line);
    if (result < 0)
        return say_refused(world, &err);
    auto_buf struct buf out = {0};
    if (*left_out)
        buf_add_str(&out, "The copy that `bawn undo` brings back leaves out what a build makes again: ");
    text_add_printable(&out, left_out, strlen(left_out));
    if (*left_out)
        buf_add_char(&out, '\n');
    put(world->out, &out);
    return 0;
}

/* A run that works in the worktree at the moment; NULL: none does. */
static const char *find_run(const struct choice *choice, const struct record *record)
{
    vec_each (const struct record, other, &choice->records) {
        if (other->mode == RECORD_BRANCH && other->state == STATE_RUNNING &&
            strcmp(other->of, record->of) == 0 && record_is_busy(choice->sessions_fd, other->name))
            return other->name;
    }
    return NULL;
}

/* Removes the worktree, after a copy of it was kept. Commits are on the branch already, and stay. */
static int discard_worktree(const struct world *world, const struct args *args, struct choice *choice,
                            const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct err err = {0};
    bool is_agreed = false, is_there = branch_is_there(arena, choice->state, record);
    const char *question = arena_printf(arena, "Remove the worktree of the branch %s?", record->of);
    auto_fd int fd = session_open(choice->sessions_fd, record->name);
    bool can_agree = world->in_is_terminal || args->flags & FLAG(YES);
    const char *run = find_run(choice, record);
    if (run)
        return say_bad_input(
            world, arena_printf(arena, "%s works in the worktree of the branch %s", run, record->of),
            "discard it when that run has ended");
    if (is_there && can_agree)
        say_uncommitted(world, choice, record);
    /* Without the worktree, an earlier discard was interrupted, and its copy is the one that counts. */
    int status = is_there && can_agree && fd >= 0 ? keep_worktree(world, choice, record, fd) : 0;
    if (status == 0)
        status = agree(world, args, question, &is_agreed);
    if (is_there && can_agree && !is_agreed && fd >= 0)
        branch_forget_kept(fd);
    if (status || !is_agreed)
        return status;
    if (branch_remove(arena, choice->state, record, &err) < 0) {
        if (fd >= 0 && branch_is_there(arena, choice->state, record))
            branch_forget_kept(fd); /* the worktree itself is still there, whole */
        return say_refused(world, &err);
    }
    mark_state(choice, record->name, STATE_DISCARDED);
    fprintf(world->out, "The worktree is removed. The branch %s stays.", record->of);
    if (fd >= 0 && branch_is_kept(fd))
        fprintf(world->out, " `bawn undo %s` brings the worktree back.", record->name);
    fputc('\n', world->out);
    return EXIT_FINE;
}

/* Why a killed session cannot be repaired; NULL if it can, or was not killed. */
static const char *why_stranded(const struct choice *choice, const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct stat status;
    if ((record->state != STATE_RUNNING && record->state != STATE_REPLACING) ||
        record_is_busy(choice->sessions_fd, record->name))
        return NULL;
    if (lstat(record->workspace, &status) < 0)
        return arena_printf(arena, "Its workspace, %s, no longer exists", record->workspace);
    return "It could not be repaired"; /* or bawn would have done so before it came here */
}

static int discard_stranded(const struct world *world, const struct args *args, const struct choice *choice,
                            const struct record *record, const char *why)
{
    struct err err = {0};
    const char *question =
        arena_printf(choice->loaded.policy.arena, "Throw away what %s left, for good? %s", record->name, why);
    bool is_agreed = false;
    int status = agree(world, args, question, &is_agreed);
    if (status || !is_agreed)
        return status;
    mark_state(choice, record->name, STATE_DISCARDED);
    if (remove_kept_aside(choice, record, &err) < 0)
        return say_refused(world, &err);
    session_give_up(choice->loaded.policy.arena, choice->state, record->name);
    fprintf(world->out,
            "%s is discarded for good: it was not recorded, so nothing of it can be brought back.\n",
            record->name);
    return EXIT_FINE;
}

static int discard(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = choice->named;
    const char *why = record ? why_stranded(choice, record) : NULL;
    bool is_worktree = record && record->mode == RECORD_BRANCH && record->state == STATE_DONE;
    int status = why || is_worktree ? 0 : choose_waiting(world, choice, "discard", &record);
    if (status == 0)
        status = choose_unmistakable(world, args, choice, record);
    if (status == 0)
        status = choose_alone(world, choice, args->verb->name, &record);
    if (status)
        return status;
    if (why)
        return discard_stranded(world, args, choice, record, why);
    if (is_worktree)
        return discard_worktree(world, args, choice, record);
    /* Of a review that was applied in part, the rest is taken out: undoing the apply must not bring it back. */
    return choice->paths.count || waiting_is_part(choice, record) ? discard_paths(world, args, choice, record)
                                                                  : discard_all(world, args, choice, record);
}

int cmd_discard(const struct world *world, const struct args *args)
{
    return choose_here_then(world, args, discard);
}
