#include "cli/dialogue.h"
#include "cli/answer.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/say.h"
#include "cli/undo.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "report/patch.h"
#include "session/caller.h"

enum { MOST_LISTED = 20 };

struct tally {
    size_t go, left;
    size_t quiet; /* left alone as ever, and not named: logs, and what belongs to others in a repository */
};

struct inner {
    bool goes, stays; /* a change beneath the directory does */
};

static struct inner look_beneath(const decision_list *decisions, size_t directory)
{
    const char *path = decisions->at[directory].judged.change.path;
    struct inner inner = {0};
    for (size_t i = directory + 1;
         i < decisions->count && path_is_inside(decisions->at[i].judged.change.path, path); i++) {
        const struct decision *decision = &decisions->at[i];
        const struct entry *after = decision->judged.change.after;
        inner.goes |= decision->course == COURSE_GO && !(after && S_ISDIR(after->mode));
        inner.stays |= decision->course != COURSE_GO && decision->course != COURSE_DONE;
    }
    return inner;
}

void dialogue_fit_directories(decision_list *decisions)
{
    for (size_t i = 0; i < decisions->count; i++) {
        struct decision *decision = &decisions->at[i];
        const struct change *change = &decision->judged.change;
        const struct entry *either = change->after ? change->after : change->before;
        if (decision->course != COURSE_GO || !either || !S_ISDIR(either->mode) ||
            (change->before && change->after))
            continue;
        struct inner inner = look_beneath(decisions, i);
        if (inner.stays && (change->before || !inner.goes))
            decision->course = COURSE_DONE;
    }
}

/* Is it a new directory above a path that was named? */
static bool is_above_named(const struct choice *choice, const struct change *change)
{
    bool is_made = !change->before && change->after && S_ISDIR(change->after->mode);
    for (size_t i = 0; is_made && i < choice->paths.count; i++) {
        if (path_is_inside(choice->paths.at[i], change->path))
            return !choose_has_path(choice, change->path);
    }
    return false;
}

bool dialogue_must_make(const struct choice *choice, const decision_list *decisions, size_t number)
{
    const struct change *change = &decisions->at[number].judged.change;
    if (!is_above_named(choice, change))
        return false;
    for (size_t i = number + 1; i < decisions->count; i++) {
        const struct decision *inner = &decisions->at[i];
        if (!path_is_inside(inner->judged.change.path, change->path))
            break;
        if (inner->course == COURSE_GO && choose_has_path(choice, inner->judged.change.path))
            return true;
    }
    return false;
}

/* Leaves out changes outside the named paths, and changes that need approval. */
static void choose_changes(const struct choice *choice, const struct dialogue *dialogue,
                           decision_list *decisions)
{
    vec_each (struct decision, decision, decisions) {
        const struct change *change = &decision->judged.change;
        bool is_shown = change_is_shown(change);
        bool is_chosen = choose_has_path(choice, change->path) || is_above_named(choice, change);
        if (!is_chosen || (choice->paths.count && !is_shown)) {
            decision->course = COURSE_DONE;
            continue;
        }
        const char *why = decision->course == COURSE_GO && dialogue->needs_approval
                              ? dialogue->needs_approval(dialogue->context, change)
                              : NULL;
        if (why) {
            decision->course = COURSE_HELD;
            decision->why = why;
        }
    }
    for (size_t i = 0; i < decisions->count; i++) {
        if (is_above_named(choice, &decisions->at[i].judged.change) &&
            !dialogue_must_make(choice, decisions, i))
            decisions->at[i].course = COURSE_DONE;
    }
}

/* Leaves out the refs, and with them all that belongs to the repository: objects, logs and index mean nothing without. */
static void leave_commits(decision_list *decisions, const char *why)
{
    vec_each (struct decision, decision, decisions) {
        const char *path = decision->judged.change.path;
        if (decision->course != COURSE_GO || !arrivals_concern(path))
            continue;
        bool is_ref = git_is_position(path) && !text_starts_with(path, ".git/logs/");
        decision->course = is_ref ? COURSE_HELD : COURSE_DONE;
        decision->why = why;
    }
}

int dialogue_look_at_commits(const struct world *world, const struct choice *choice,
                             struct dialogue *dialogue, const decision_list *decisions, struct err *err)
{
    struct arena *arena = choice->loaded.policy.arena;
    if (dialogue->mode != RECORD_APPLY)
        return 0;
    const char *folder = arena_printf(arena, "%s/bawn/sessions/%s", choice->state, dialogue->of->name);
    struct arrivals_request request = {&world->caller, &dialogue->transition, folder, choice->folder_fd};
    return arrivals_find(&request, arena, decisions, &dialogue->arrivals, err);
}

int dialogue_exclude_broken(const struct choice *choice, const struct dialogue *dialogue,
                            decision_list *decisions, struct err *err)
{
    if (dialogue->mode == RECORD_APPLY &&
        repo_check_hold_broken(&dialogue->transition, choice->loaded.policy.arena,
                               arrivals_findings(&dialogue->arrivals), decisions, err) < 0)
        return -1;
    dialogue_fit_directories(decisions);
    return 0;
}

static struct tally count_changes(const struct choice *choice, const decision_list *decisions)
{
    struct tally tally = {0};
    vec_each (const struct decision, decision, decisions) {
        bool is_shown = change_is_shown(&decision->judged.change);
        bool is_left = decision->course == COURSE_CONFLICT || decision->course == COURSE_HELD;
        tally.go += decision->course == COURSE_GO && is_shown;
        tally.left += is_left && is_shown;
        tally.quiet += decision->course == COURSE_DONE && is_shown &&
                       decision->judged.judgement != JUDGED_AS_AFTER &&
                       choose_has_path(choice, decision->judged.change.path);
    }
    return tally;
}

/* Nothing is to be done. That all is as it should be is said only if it is so. */
static void say_nothing(const struct world *world, const struct dialogue *dialogue, const struct tally *tally)
{
    if (tally->left)
        fprintf(world->out, "Nothing %s: %zu file%s as %s.\n", dialogue->done, tally->left,
                tally->left == 1 ? " stays" : "s stay", tally->left == 1 ? "it is" : "they are");
    else if (tally->quiet)
        fprintf(
            world->out,
            "Nothing %s: only %zu file%s of a repository differ, and those stay as they are (logs, objects, remote branches, other worktrees).\n",
            dialogue->done, tally->quiet, tally->quiet == 1 ? "" : "s");
    else
        fprintf(world->out, "Nothing %s: there is nothing left to do.\n", dialogue->done);
}

static void add_left(struct buf *out, const struct style *style, const char *path, const char *why)
{
    buf_add_str(out, "  kept  ");
    style_add(style, out, COLOUR_YELLOW, path);
    buf_add_str(out, ": ");
    style_add(style, out, COLOUR_PLAIN, why); /* it can have a name in it */
    buf_add_char(out, '\n');
}

static void show(const struct world *world, const struct dialogue *dialogue, const decision_list *decisions)
{
    struct style style = style_for_out(world, NULL);
    auto_buf struct buf out = {0};
    size_t listed = 0, more = 0, in_git = 0;
    vec_each (const struct decision, decision, decisions) {
        if (!change_is_shown(&decision->judged.change))
            continue;
        if (decision->course < COURSE_GO || decision->course == COURSE_SKIPPED) {
            add_left(&out, &style, decision->judged.change.path, decision->why);
            conflict_add(&out, &style, decision->details ? decision->details : "");
        }
        if (decision->course != COURSE_GO)
            continue;
        if (text_starts_with(decision->judged.change.path, ".git/")) {
            in_git++;
            continue;
        }
        if (++listed > MOST_LISTED) {
            more++;
            continue;
        }
        const struct change *change = &decision->judged.change;
        const char *act = !change->before ? "make" : !change->after ? "remove" : "change";
        buf_printf(&out, "  %-6s  ", act);
        style_add(&style, &out, COLOUR_PLAIN, change->path);
        buf_add_char(&out, '\n');
    }
    if (more)
        buf_printf(&out, "  and %zu more\n", more);
    if (in_git)
        buf_printf(&out, "  and %zu of the repository in .git\n", in_git);
    if (dialogue->asks || out.size)
        put(world->out, &out);
}

static const struct decision *decision_of(const decision_list *decisions, const char *path)
{
    for (size_t i = 0; i < decisions->count; i++) {
        if (strcmp(decisions->at[i].judged.change.path, path) == 0)
            return &decisions->at[i];
    }
    return NULL;
}

/* Drops the revisions of files that were not replaced: their records stay unchanged. */
static void drop_unused(revision_list *revisions, const decision_list *decisions,
                        const struct replaced *replaced)
{
    size_t used = 0;
    for (size_t i = 0; i < revisions->count; i++) {
        const char *path = revisions->at[i].path;
        const struct decision *decision = decisions ? decision_of(decisions, path) : NULL;
        bool is_used = !decision || decision->course == COURSE_GO || decision->course == COURSE_DROPPED;
        for (size_t j = 0; replaced && j < replaced->left_alone.count; j++)
            is_used &= strcmp(replaced->left_alone.at[j].path, path) != 0;
        if (is_used)
            revisions->at[used++] = revisions->at[i];
    }
    revisions->count = used;
}

int dialogue_revise(const struct choice *choice, struct dialogue *dialogue, struct err *err)
{
    auto_tree struct tree before = {0}, after = {0};
    struct record record = *dialogue->of;
    if (dialogue->mode != RECORD_APPLY || dialogue->befores.count + dialogue->afters.count == 0)
        return 0;
    if (waiting_keep_dropped(choice, dialogue, err) < 0 ||
        tree_revise(choice->folder_fd, "after", &dialogue->afters, err) < 0 ||
        tree_revise(choice->folder_fd, "before", &dialogue->befores, err) < 0 ||
        tree_load(choice->folder_fd, "before", &before, err) < 0 ||
        tree_load(choice->folder_fd, "after", &after, err) < 0)
        return -1;
    record.changes = record_count_changes(&before, &after);
    dialogue->is_void = record.changes == 0;
    return record_save(choice->folder_fd, &record, err);
}

struct done {
    size_t files, directories, in_git;
};

static struct done count_done(const decision_list *decisions, const struct replaced *replaced)
{
    struct done done = {0};
    vec_each (const struct decision, decision, decisions) {
        const struct change *change = &decision->judged.change;
        bool is_done = decision->course == COURSE_GO && change_is_shown(change);
        for (size_t i = 0; is_done && i < replaced->left_alone.count; i++)
            is_done = strcmp(replaced->left_alone.at[i].path, change->path) != 0;
        bool has_file = (change->before && !S_ISDIR(change->before->mode)) ||
                        (change->after && !S_ISDIR(change->after->mode));
        if (is_done && text_starts_with(change->path, ".git/"))
            done.in_git++;
        else if (is_done && has_file)
            done.files++;
        else if (is_done)
            done.directories++;
    }
    return done;
}

/* "2 files, 1 directory and 3 git files" */
static void add_done(struct buf *out, const struct done *done)
{
    bool has_other = done->directories || done->in_git;
    if (done->files || !has_other)
        buf_printf(out, "%zu file%s", done->files, done->files == 1 ? "" : "s");
    if (done->directories)
        buf_printf(out, "%s%zu director%s",
                   !done->files   ? ""
                   : done->in_git ? ", "
                                  : " and ",
                   done->directories, done->directories == 1 ? "y" : "ies");
    if (done->in_git)
        buf_printf(out, "%s%zu git file%s", done->files || done->directories ? " and " : "", done->in_git,
                   done->in_git == 1 ? "" : "s");
}

static void report_result(const struct world *world, const struct dialogue *dialogue,
                          const decision_list *decisions, const char *session,
                          const struct replaced *replaced)
{
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world, NULL);
    for (size_t i = 0; i < replaced->left_alone.count; i++)
        add_left(&out, &style, replaced->left_alone.at[i].path, replaced->left_alone.at[i].why);
    struct done done = count_done(decisions, replaced);
    add_done(&out, &done);
    buf_printf(&out, " %s. `bawn undo %s` reverses that.\n", dialogue->done, session);
    put(world->out, &out);
}

/* Replaces the files in a new session. Returns -1, or how many files were left alone. */
static int run_transition(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                          const decision_list *decisions, struct err *err)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct session session = SESSION_NONE;
    if (session_begin(arena, choice->state, choice->workspace, &session, err) < 0)
        return -1;
    journal_event(&session.journal, record_mode_name(dialogue->mode), "of", dialogue->of->name, "workspace",
                  choice->workspace);
    struct record record = {.name = session.name,
                            .mode = dialogue->mode,
                            .workspace = choice->workspace,
                            .of = dialogue->of->name};
    clock_gettime(CLOCK_REALTIME, &record.began);
    struct replaced replaced;
    struct progress_line line;
    dialogue->transition.progress = progress_begin(&line, &world->speaker, "writing files");
    int result =
        transition_run(&dialogue->transition, arena, decisions, session.folder_fd, &record, &replaced, err);
    progress_end(&line);
    journal_event(&session.journal, "end", "status",
                  result < 0                  ? "125"
                  : replaced.left_alone.count ? "1"
                                              : "0",
                  "changes", arena_printf(arena, "%zu", replaced.done));
    dialogue->has_run = result == 0;
    if (result == 0)
        report_result(world, dialogue, decisions, record.name, &replaced);
    drop_unused(&dialogue->befores, NULL, &replaced);
    drop_unused(&dialogue->applied, NULL, &replaced);
    drop_unused(&dialogue->afters, NULL, &replaced);
    int left = (int)replaced.left_alone.count;
    vec_free(&replaced.left_alone);
    if (dialogue->mode == RECORD_UNDO && !choice->paths.count && (left || dialogue->leaves))
        record_note(session.folder_fd, RECORD_UNFINISHED);
    if (record.state != STATE_REPLACING) /* else the next bawn command repairs it */
        session_end(&session);
    return result < 0 ? -1 : left;
}

int dialogue_finish(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                    const decision_list *decisions)
{
    struct err err = {0};
    bool any_goes = false;
    for (size_t i = 0; i < decisions->count; i++)
        any_goes |= decisions->at[i].course == COURSE_GO && change_is_shown(&decisions->at[i].judged.change);
    waiting_note_applied(dialogue, decisions);
    int left = any_goes ? run_transition(world, choice, dialogue, decisions, &err) : 0;
    dialogue->is_complete &= left == 0;
    if (left >= 0 && dialogue->has_run && !dialogue->is_complete)
        waiting_drop_applied(dialogue);
    if (left < 0 || dialogue_revise(choice, dialogue, &err) < 0) {
        dialogue->is_complete = false;
        return say_refused(world, &err);
    }
    return left ? 1 : EXIT_FINE;
}

void dialogue_free(struct dialogue *dialogue)
{
    vec_free(&dialogue->befores);
    vec_free(&dialogue->afters);
    vec_free(&dialogue->applied);
    vec_free(&dialogue->dropped);
    arrivals_free(&dialogue->arrivals);
}

/* Where nobody is asked, commits come unchecked: that is not passed over. */
static void say_unchecked(const struct world *world, const struct choice *choice,
                          const struct dialogue *dialogue)
{
    const char *why = dialogue->arrivals.found.unchecked;
    if (why && !dialogue->commits_need_approval)
        say_problem(world, arena_printf(choice->loaded.policy.arena, "the commits are not checked: %s", why),
                    "look through `git log --all --name-only` before you push or check out");
}

static int dialogue_chosen(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                           decision_list *decisions)
{
    struct err err = {0};
    choose_changes(choice, dialogue, decisions);
    if (dialogue_look_at_commits(world, choice, dialogue, decisions, &err) < 0)
        return say_refused(world, &err);
    say_unchecked(world, choice, dialogue);
    const char *why = dialogue->commits_need_approval && dialogue->arrivals.are_asked_for
                          ? dialogue->commits_need_approval(dialogue->context, &dialogue->arrivals, decisions)
                          : NULL;
    if (why)
        leave_commits(decisions, why);
    if (dialogue_exclude_broken(choice, dialogue, decisions, &err) < 0)
        return say_refused(world, &err);
    struct tally tally = count_changes(choice, decisions);
    drop_unused(&dialogue->afters, decisions, NULL);
    show(world, dialogue, decisions);
    dialogue->is_complete = tally.left == 0 && choice->paths.count == 0;
    dialogue->leaves = tally.left > 0;
    int status = tally.left ? 1 : EXIT_FINE;
    bool has_anything = tally.go || dialogue->afters.count;
    if (!has_anything) {
        say_nothing(world, dialogue, &tally);
        return status;
    }
    if (dialogue->asks && world->in_is_terminal && !ask(world, dialogue->question)) {
        dialogue->is_complete = false;
        fprintf(world->out, "Nothing was changed.\n");
        return status;
    }
    int ran = dialogue_finish(world, choice, dialogue, decisions);
    undo_say_stays(world, choice, dialogue, decisions);
    return ran ? ran : status;
}

int dialogue_run(const struct world *world, struct choice *choice, struct dialogue *dialogue)
{
    struct err err = {0};
    auto_vec decision_list decisions = {0};
    struct progress_line line;
    dialogue->transition.progress = progress_begin(&line, &world->speaker, "looking at files");
    int decided = transition_decide(&dialogue->transition, choice->loaded.policy.arena, &decisions, &err);
    progress_end(&line);
    if (decided < 0)
        return say_refused(world, &err);
    int status = conflicts_resolve(world, choice, dialogue, &decisions);
    if (status == 0)
        status = dialogue_chosen(world, choice, dialogue, &decisions);
    return status;
}
