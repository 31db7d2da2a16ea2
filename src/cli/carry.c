#include "cli/carry.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/style.h"

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

static bool lies_in(const char *path, const char *directory)
{
    size_t size = strlen(directory);
    return strncmp(path, directory, size) == 0 && path[size] == '/';
}

/* A new directory of which everything is held back would be made for nothing. */
static void drop_empty_directories(decision_list *decisions)
{
    for (size_t i = 0; i < decisions->count; i++) {
        struct decision *decision = &decisions->at[i];
        const struct change *change = &decision->judged.change;
        if (decision->course != COURSE_GO || change->before || !change->after ||
            !S_ISDIR(change->after->mode))
            continue;
        bool any_goes = false, any_held = false;
        for (size_t j = i + 1;
             j < decisions->count && lies_in(decisions->at[j].judged.change.path, change->path); j++) {
            const struct decision *inner = &decisions->at[j];
            bool is_directory = inner->judged.change.after && S_ISDIR(inner->judged.change.after->mode);
            any_goes |= inner->course == COURSE_GO && !is_directory;
            any_held |= inner->course == COURSE_HELD || inner->course == COURSE_CONFLICT;
        }
        if (any_goes || !any_held)
            continue;
        decision->course = COURSE_DONE;
        for (size_t j = i + 1;
             j < decisions->count && lies_in(decisions->at[j].judged.change.path, change->path); j++) {
            if (decisions->at[j].course == COURSE_GO)
                decisions->at[j].course = COURSE_DONE; /* a directory, too */
        }
    }
}

/* Changes outside the paths that were named, and those that a person must see first, do not go. */
static struct tally choose_changes(const struct choice *choice, const struct carry *carry,
                                   decision_list *decisions)
{
    struct tally tally = {0};
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
    drop_empty_directories(decisions);
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
        if (decision->course == COURSE_CONFLICT || decision->course == COURSE_HELD)
            add_left(&out, &style, decision->judged.change.path, decision->why);
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

static int run(const struct world *world, struct choice *choice, struct carry *carry,
               const decision_list *decisions)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct session session = SESSION_NONE;
    struct err err = {0};
    if (session_begin(arena, choice->state, choice->workspace, &session, &err) < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    journal_event(&session.journal, record_mode_name(carry->mode), "of", carry->of->name, "workspace",
                  choice->workspace);
    struct record record = {
        .name = session.name, .mode = carry->mode, .workspace = choice->workspace, .of = carry->of->name};
    clock_gettime(CLOCK_REALTIME, &record.began);
    struct settled settled;
    int status = EXIT_FINE;
    if (transition_run(&carry->transition, arena, decisions, session.folder_fd, &record, &settled, &err) <
        0) {
        say_err(world, &err);
        status = EXIT_REFUSED;
    }
    journal_event(&session.journal, "end", "files", arena_printf(arena, "%zu", settled.done));
    carry->is_complete &= status == EXIT_FINE && settled.kept.count == 0;
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world);
    for (size_t i = 0; i < settled.kept.count; i++)
        add_left(&out, &style, settled.kept.at[i].path, settled.kept.at[i].why);
    if (status == EXIT_FINE)
        buf_printf(&out, "%llu file%s %s. `bawn undo %s` reverses that.\n",
                   (unsigned long long)record.changes, record.changes == 1 ? "" : "s", carry->done,
                   session.name);
    put(world->out, &out);
    status = status == EXIT_FINE && settled.kept.count ? 1 : status;
    vec_free(&settled.kept);
    if (record.state != STATE_SETTLING) /* else the next bawn command finds it, and finishes it */
        session_end(&session);
    return status;
}

int carry_out(const struct world *world, struct choice *choice, struct carry *carry)
{
    struct err err = {0};
    decision_list decisions;
    if (transition_decide(&carry->transition, choice->loaded.policy.arena, &decisions, &err) < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    struct tally tally = choose_changes(choice, carry, &decisions);
    show(world, carry, &decisions);
    carry->is_complete = tally.left == 0 && choice->paths.count == 0;
    int status = tally.left ? 1 : EXIT_FINE;
    if (tally.go == 0) {
        fprintf(world->out, "Nothing was changed.\n");
    } else if (carry->asks && world->in_is_terminal && !ask(world, carry->question)) {
        carry->is_complete = false;
        fprintf(world->out, "Nothing was changed.\n");
    } else {
        int ran = run(world, choice, carry, &decisions);
        status = ran ? ran : status;
    }
    vec_free(&decisions);
    return status;
}
