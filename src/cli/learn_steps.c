/* Runs a command to learn from it, reads its journal, and lets a person pick among the proposals. */
#include "cli/learn_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "cli/answer.h"
#include "cli/choose.h"
#include "cli/say.h"
#include "journal/session.h"
#include "report/time_text.h"
#include "session/run.h"

enum { JOURNAL_LARGEST = 16 << 20 };

void lesson_free(struct lesson *lesson)
{
    learnt_free(&lesson->learnt);
    wants_free(&lesson->wants);
    loaded_free(&lesson->loaded);
}

/* --- the journal -------------------------------------------------------------------------------------------------- */

static void take_lines(const struct buf *text, struct arena *arena, struct wants *wants)
{
    const char *line = buf_text(text), *last = line + text->size;
    for (const char *end; (end = memchr(line, '\n', (size_t)(last - line))); line = end + 1) {
        struct journal_record record;
        if (!journal_record_parse(arena, line, (size_t)(end - line), &record))
            continue;
        wants_take(wants, &record);
        journal_record_free(&record);
    }
}

/* The journal is the user's own file, and its chain is verified: a proposal must not come from elsewhere. */
static int read_journal(const struct world *world, struct lesson *lesson, int folder_fd)
{
    struct err err = {0};
    struct journal_end end;
    auto_arena struct arena arena = {0};
    auto_buf struct buf text = {0};
    auto_fd int fd = folder_fd < 0
                         ? -1
                         : openat(folder_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        err_set(&err, "there is no session %s", lesson->session);
        err_hint(&err, "`bawn sessions --all` lists all sessions");
        return say_err(world, &err);
    }
    if (journal_verify(folder_fd, SESSION_JOURNAL, &end, &err) < 0)
        return say_err(world, &err);
    if (buf_read(&text, fd, JOURNAL_LARGEST) < 0) {
        err_sys(&err, errno, "cannot read the journal of %s", lesson->session);
        return say_err(world, &err);
    }
    take_lines(&text, &arena, &lesson->wants);
    return 0;
}

static void conclude(struct lesson *lesson)
{
    struct profile_finder finder = load_finder(&lesson->loaded);
    learn(&lesson->loaded.policy, &finder, &lesson->wants, &lesson->learnt);
}

int lesson_read(const struct world *world, const char *session, struct lesson *lesson)
{
    auto_loaded struct loaded here = {0};
    int status = load_request(&world->caller, &here);
    if (status)
        return status;
    lesson->session = session;
    lesson->out = world->out;
    auto_fd int sessions_fd = sessions_open(&here);
    auto_fd int folder_fd = sessions_fd < 0 ? -1 : session_open(sessions_fd, session);
    status = read_journal(world, lesson, folder_fd);
    if (status)
        return status;
    struct arena *arena = &lesson->wants.arena;
    const char *workspace = session_began_with(arena, folder_fd, "workspace");
    lesson->command = session_began_with(arena, folder_fd, "command");
    const struct argument rules[] = {{VERB_WORKSPACE, workspace ? workspace : here.request.directory}};
    const char *const command[] = {lesson->command, NULL};
    struct run_request request = {
        .rules = rules, .rule_count = array_len(rules), .is_exact = true, .command = command};
    struct caller there = world->caller;
    there.directory = arena_str(arena, rules[0].text);
    status = load_plan(&there, &request, &lesson->loaded);
    if (status == 0)
        conclude(lesson);
    return status;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

int lesson_run(const struct world *world, const struct args *args, struct lesson *lesson)
{
    struct run_request request = args_request(args);
    struct world quiet = *world;
    world_set_speaker(&quiet);
    quiet.speaker.is_quiet = true;
    request.learns = true;
    if (args->flags & FLAG(FOR) &&
        (!duration_parse(args->length, &request.learn_seconds) || request.learn_seconds == 0))
        return say_bad_input(world, "--for needs a length of time",
                             "write a number and s, m or h, such as --for 10m");
    struct run run;
    run_command(&quiet.caller, &request, &run);
    bool has_run = run.result.loaded;
    lesson->status = run.result.summary.status;
    lesson->session = arena_str(&lesson->wants.arena, run.session.name ? run.session.name : "");
    lesson->command = *args->command;
    lesson->out = world->err;
    run_finish(&run);
    if (!has_run)
        return lesson->status;
    int status = load_plan(&world->caller, &request, &lesson->loaded);
    if (status)
        return status;
    auto_fd int sessions_fd = sessions_open(&lesson->loaded);
    auto_fd int folder_fd = sessions_fd < 0 ? -1 : session_open(sessions_fd, lesson->session);
    status = read_journal(world, lesson, folder_fd);
    if (status == 0)
        conclude(lesson);
    return status;
}

/* --- picking ------------------------------------------------------------------------------------------------------ */

size_t lesson_count_picked(const struct lesson *lesson)
{
    size_t count = 0;
    vec_each (const struct proposal, proposal, &lesson->learnt.list)
        count += proposal->is_picked;
    return count;
}

void lesson_print(const struct world *world, struct lesson *lesson, bool is_written)
{
    struct style style = lesson->out == world->err ? style_for_err(world) : style_for_out(world, NULL);
    style.home = lesson->loaded.request.home;
    auto_buf struct buf out = {0};
    learnt_add_text(&lesson->learnt, is_written ? NULL : lesson->session, &style, &out);
    put(lesson->out, &out);
}

/* The next proposal with a line, from `at` on in that direction; the list's length if there is none. */
static size_t next_line(const struct learnt *learnt, size_t at, bool is_forward)
{
    while (at < learnt->list.count && !learnt->list.at[at].line)
        at = is_forward ? at + 1 : at - 1; /* before 0 comes SIZE_MAX */
    return at < learnt->list.count ? at : learnt->list.count;
}

static void show_one(const struct world *world, const struct lesson *lesson, size_t at)
{
    const struct proposal *proposal = &lesson->learnt.list.at[at];
    struct style style = style_for_err(world);
    auto_buf struct buf out = {0};
    proposal_add_text(proposal, at + 1, &style, &out);
    put(world->err, &out);
}

static const char pick_help[] =
    "\n  y take   n leave   k back   A what is marked y of the rest   q write nothing\n";

/* Goes through the lines with single keys. Returns false if the person gave up. */
static bool pick_with_keys(const struct world *world, struct lesson *lesson, struct answering *answering)
{
    struct learnt *learnt = &lesson->learnt;
    for (size_t at = next_line(learnt, 0, true); at < learnt->list.count;) {
        show_one(world, lesson, at);
        const char *line = learnt->list.at[at].is_picked ? "      Take this line? [y,n,k,A,q,?] (y) "
                                                         : "      Take this line? [y,n,k,A,q,?] (n) ";
        char key = answer_key(answering, line);
        bool is_answer = key == 'y' || key == 'n' || key == '\n' || key == '\r';
        fprintf(world->err, "%c\n", is_answer && (key == 'y' || key == 'n') ? key : ' ');
        if (key == 'q' || key == KEY_CANCEL || key == KEY_END || key == KEY_UNSURE)
            return false;
        if (key == 'y' || key == 'n')
            learnt->list.at[at].is_picked = key == 'y';
        if (key == 'A')
            return true;
        if (is_answer || key == 'j') {
            at = next_line(learnt, at + 1, true);
        } else if (key == 'k') {
            size_t before = next_line(learnt, at - 1, false);
            at = before < learnt->list.count ? before : at;
        } else {
            fputs(pick_help, world->err);
        }
    }
    return true;
}

bool lesson_pick(const struct world *world, struct lesson *lesson)
{
    struct answering answering;
    vec_each (struct proposal, proposal, &lesson->learnt.list)
        proposal->is_picked = proposal->class == PROPOSAL_NEEDED && proposal->line;
    if (!answer_begin(world, world->err, &answering))
        return true;
    bool is_picked = pick_with_keys(world, lesson, &answering);
    answer_end(&answering);
    return is_picked;
}
