#include "cli/carry.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/conflicts.h"
#include "cli/say.h"
#include "session/progress.h"
#include "workspace/repo_check.h"

enum { MOST_LISTED = 20 };

void mark_state(const struct choice *choice, const char *name, enum record_state state)
{
    auto_fd int fd = openat(choice->sessions_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct record record;
    struct err ignored;
    if (fd < 0 || record_load(fd, choice->loaded.policy.arena, &record, &ignored) <= 0)
        return;
    record.state = state;
    if (record_save(fd, &record, &ignored) < 0)
        return; /* the verbs look at the files, not at this alone */
}

struct tally {
    size_t go, left;
};

struct inner {
    bool goes, stays; /* something beneath a directory does */
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

void carry_fit_directories(decision_list *decisions)
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

/* Changes outside the paths that were named, and those that a person must see first, do not go. */
static void choose_changes(const struct choice *choice, const struct carry *carry, decision_list *decisions)
{
    for (size_t i = 0; i < decisions->count; i++) {
        struct decision *decision = &decisions->at[i];
        const struct change *change = &decision->judged.change;
        bool is_shown = change_is_shown(change);
        if (!choose_has_path(choice, change->path) || (choice->paths.count && !is_shown)) {
            decision->course = COURSE_DONE;
            continue;
        }
        const char *why = decision->course == COURSE_GO && carry->holds_back
                              ? carry->holds_back(carry->context, change)
                              : NULL;
        if (why) {
            decision->course = COURSE_HELD;
            decision->why = why;
        }
    }
}

int carry_hold_broken(const struct choice *choice, const struct carry *carry, decision_list *decisions,
                      struct err *err)
{
    if (carry->mode == RECORD_APPLY &&
        repo_check_hold_broken(&carry->transition, choice->loaded.policy.arena, decisions, err) < 0)
        return -1;
    carry_fit_directories(decisions);
    return 0;
}

static struct tally count_changes(const decision_list *decisions)
{
    struct tally tally = {0};
    for (size_t i = 0; i < decisions->count; i++) {
        const struct decision *decision = &decisions->at[i];
        bool is_shown = change_is_shown(&decision->judged.change);
        bool is_left = decision->course == COURSE_CONFLICT || decision->course == COURSE_HELD;
        tally.go += decision->course == COURSE_GO && is_shown;
        tally.left += is_left && is_shown;
    }
    return tally;
}

static void add_left(struct buf *out, const struct style *style, const char *path, const char *why)
{
    buf_add_str(out, "  kept  ");
    style_add(style, out, COLOUR_YELLOW, path);
    buf_printf(out, ": %s\n", why);
}

static void show(const struct world *world, const struct carry *carry, const decision_list *decisions)
{
    struct style style = style_for_out(world);
    auto_buf struct buf out = {0};
    size_t listed = 0, more = 0, in_git = 0;
    for (size_t i = 0; i < decisions->count; i++) {
        const struct decision *decision = &decisions->at[i];
        if (!change_is_shown(&decision->judged.change))
            continue;
        if (decision->course == COURSE_CONFLICT || decision->course == COURSE_HELD) {
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
    if (carry->asks || out.size)
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

/* What is left alone in the end leaves the session as it is. */
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

int carry_revise(const struct choice *choice, struct carry *carry, struct err *err)
{
    auto_tree struct tree before = {0}, after = {0};
    struct record record = *carry->of;
    if (carry->mode != RECORD_APPLY || carry->befores.count + carry->afters.count == 0)
        return 0;
    if (tree_revise(choice->folder_fd, "after", &carry->afters, err) < 0 ||
        tree_revise(choice->folder_fd, "before", &carry->befores, err) < 0 ||
        tree_load(choice->folder_fd, "before", &before, err) < 0 ||
        tree_load(choice->folder_fd, "after", &after, err) < 0)
        return -1;
    record.changes = record_count_changes(&before, &after);
    carry->is_void = record.changes == 0;
    return record_save(choice->folder_fd, &record, err);
}

static void say_settled(const struct world *world, const struct carry *carry, const struct record *record,
                        const struct replaced *replaced)
{
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world);
    for (size_t i = 0; i < replaced->left_alone.count; i++)
        add_left(&out, &style, replaced->left_alone.at[i].path, replaced->left_alone.at[i].why);
    buf_printf(&out, "%llu file%s %s. `bawn undo %s` reverses that.\n", (unsigned long long)record->changes,
               record->changes == 1 ? "" : "s", carry->done, record->name);
    put(world->out, &out);
}

/* In a session of its own. Returns -1, or how many files were left alone. */
static int run_transition(const struct world *world, const struct choice *choice, struct carry *carry,
                          const decision_list *decisions, struct err *err)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct session session = SESSION_NONE;
    if (session_begin(arena, choice->state, choice->workspace, &session, err) < 0)
        return -1;
    journal_event(&session.journal, record_mode_name(carry->mode), "of", carry->of->name, "workspace",
                  choice->workspace);
    struct record record = {
        .name = session.name, .mode = carry->mode, .workspace = choice->workspace, .of = carry->of->name};
    clock_gettime(CLOCK_REALTIME, &record.began);
    struct replaced replaced;
    struct progress_line line;
    carry->transition.progress = progress_begin(&line, &world->speaker, "writing files");
    int result =
        transition_run(&carry->transition, arena, decisions, session.folder_fd, &record, &replaced, err);
    progress_end(&line);
    journal_event(&session.journal, "end", "files", arena_printf(arena, "%zu", replaced.done));
    carry->has_run = result == 0;
    if (result == 0)
        say_settled(world, carry, &record, &replaced);
    drop_unused(&carry->befores, NULL, &replaced);
    drop_unused(&carry->afters, NULL, &replaced);
    int kept = (int)replaced.left_alone.count;
    vec_free(&replaced.left_alone);
    if (record.state != STATE_SETTLING) /* else the next bawn command finds it, and finishes it */
        session_end(&session);
    return result < 0 ? -1 : kept;
}

int carry_run(const struct world *world, const struct choice *choice, struct carry *carry,
              const decision_list *decisions)
{
    struct err err = {0};
    bool any_goes = false;
    for (size_t i = 0; i < decisions->count; i++)
        any_goes |= decisions->at[i].course == COURSE_GO && change_is_shown(&decisions->at[i].judged.change);
    int kept = any_goes ? run_transition(world, choice, carry, decisions, &err) : 0;
    carry->is_complete &= kept == 0;
    if (kept < 0 || carry_revise(choice, carry, &err) < 0) {
        carry->is_complete = false;
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    return kept ? 1 : EXIT_FINE;
}

void carry_free(struct carry *carry)
{
    vec_free(&carry->befores);
    vec_free(&carry->afters);
}

static int carry_chosen(const struct world *world, const struct choice *choice, struct carry *carry,
                        decision_list *decisions)
{
    struct err err = {0};
    choose_changes(choice, carry, decisions);
    if (carry_hold_broken(choice, carry, decisions, &err) < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    struct tally tally = count_changes(decisions);
    drop_unused(&carry->afters, decisions, NULL);
    show(world, carry, decisions);
    carry->is_complete = tally.left == 0 && choice->paths.count == 0;
    int status = tally.left ? 1 : EXIT_FINE;
    bool has_anything = tally.go || carry->afters.count;
    if (!has_anything || (carry->asks && world->in_is_terminal && !ask(world, carry->question))) {
        carry->is_complete &= !has_anything;
        fprintf(world->out, "Nothing was changed.\n");
        return status;
    }
    int ran = carry_run(world, choice, carry, decisions);
    return ran ? ran : status;
}

int carry_out(const struct world *world, struct choice *choice, struct carry *carry)
{
    struct err err = {0};
    decision_list decisions;
    struct progress_line line;
    carry->transition.progress = progress_begin(&line, &world->speaker, "looking at files");
    int decided = transition_decide(&carry->transition, choice->loaded.policy.arena, &decisions, &err);
    progress_end(&line);
    if (decided < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    int status = conflicts_settle(world, choice, carry, &decisions);
    if (status == 0)
        status = carry_chosen(world, choice, carry, &decisions);
    vec_free(&decisions);
    return status;
}
