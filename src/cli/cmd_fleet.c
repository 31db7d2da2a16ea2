/* `bawn fleet`: many tasks, each in its own sandbox on its own copy of the project. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "fleet/bounds.h"
#include "fleet/engine.h"
#include "fleet/overview.h"
#include "fleet/work.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

const char fleet_usage[] =
    "bawn fleet run [--jobs N] [--out DIR] [--RULE OBJECT]... TASKS -- CMD...\n"
    "       bawn fleet status|logs|diff|apply|retry|cancel|report DIR [ID...]\n"
    "\n"
    "Run CMD once for each line of the file TASKS, in a sandbox of its own, on a copy\n"
    "of the project. {name} in CMD is replaced by that member of the line: {prompt}.\n"
    "  status    how many tasks are done, and why others failed\n"
    "  logs      what tasks printed\n"
    "  diff      what tasks changed\n"
    "  apply     bring the changes of tasks into the project, as `bawn apply` does\n"
    "  retry     run tasks that have no result; with ID, also one that failed\n"
    "  cancel    end tasks, and do not begin others\n"
    "  report    print a page of HTML about all tasks\n"
    "\n"
    "  --jobs N       run N tasks at once; the default is one for each processor\n"
    "  --out DIR      put the results into DIR, which must be empty or missing\n"
    "  --engine NAME  what runs the tasks: local or slurm\n"
    "  --all, --json  let `status` list every task, or print JSON\n"
    "  --yes, --allow-risky, --merge, --markers, --ours, --theirs   for `apply`\n"
    "\n"
    "  bawn fleet run --jobs 4 tasks.jsonl -- claude -p {prompt}\n";

/* --- running ---------------------------------------------------------------------------------------------------------- */

struct display {
    const struct world *world;
    const struct fleet *fleet;
    size_t shown; /* columns of the line on the terminal */
};

/* One line that is overwritten, on a terminal only. */
static void show_progress(void *context)
{
    struct display *display = context;
    if (!display->world->err_is_terminal)
        return;
    auto_overview struct overview overview = {0};
    auto_buf struct buf line = {0};
    overview_look(display->fleet, NULL, 0, &overview);
    buf_add_char(&line, '\r');
    overview_add_line(&overview, &line);
    line.size--; /* the newline */
    size_t columns = line.size;
    buf_pad(&line, 0, display->shown);
    display->shown = columns;
    put(display->world->err, &line);
    fflush(display->world->err);
}

static size_t processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (size_t)count : 1;
}

/* Returns 0 for a --jobs that is no number. */
static size_t jobs_of(const struct args *args)
{
    enum { MOST_JOBS = 1024 };
    const char *at = args->jobs;
    uint64_t number;
    if (!at)
        return processors();
    return text_take_number(&at, &number) && !*at && number <= MOST_JOBS ? (size_t)number : 0;
}

/* The end of `run` and `retry`. Exit status 1 if a task is not done. */
static int tell_end(const struct world *world, const struct fleet *fleet)
{
    auto_overview struct overview overview = {0};
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world, NULL);
    overview_look(fleet, NULL, 0, &overview);
    overview_add_text(&overview, &style, false, &out);
    put(world->out, &out);
    auto_arena struct arena arena = {0};
    fprintf(world->out, "Results are in %s\n", style_path(&style, &arena, fleet->path));
    return overview.counts[TASK_DONE] == overview.tasks.count ? EXIT_FINE : 1;
}

static int run_tasks(const struct world *world, const struct args *args, const struct fleet *fleet,
                     const char *const *ids, size_t count)
{
    struct err err = {0};
    const struct fleet_engine *engine = engine_find(fleet->engine);
    size_t jobs = jobs_of(args);
    if (!jobs)
        return say_bad_input(world, "--jobs needs a number from 1 to 1024", NULL);
    if (!engine)
        return say_bad_input(world, "there is no such engine", "the engines are " ENGINE_NAMES);
    struct display display = {world, fleet, 0};
    struct fleet_job job = {.fleet = fleet,
                            .ids = ids,
                            .count = count,
                            .at_once = jobs,
                            .environment = world->caller.environment,
                            .wake_fd = -1,
                            .progress = show_progress,
                            .context = &display};
    fflush(world->out);
    int ended = fleet_run(engine, &job, &err);
    if (display.shown)
        fputc('\n', world->err);
    if (ended < 0)
        return say_refused(world, &err);
    int status = tell_end(world, fleet);
    if (ended > 0)
        say_problem(world, "the fleet was interrupted", "`bawn fleet retry DIR` continues it");
    return ended > 0 ? 128 + SIGINT : status;
}

/* Paths of rules are relative to the directory of the fleet, and a task may run in another one. */
static void add_rules(const struct args *args, struct fleet *fleet)
{
    vec_each (const struct argument, rule, &args->rules) {
        bool is_path = rule->verb == VERB_NONE || verb_object(rule->verb) == OBJECT_PATH;
        bool is_relative = is_path && *rule->text != '/' && *rule->text != '~' && *rule->text != '$';
        const char *start = fleet->directory, *text = rule->text;
        for (; is_relative && text_starts_with(text, "../"); text += strlen("../"))
            start = path_parent(&fleet->arena, start);
        struct argument added = {rule->verb, is_relative ? arena_printf(&fleet->arena, "%s/%s", start, text)
                                                         : rule->text};
        vec_push(&fleet->rules, added);
    }
}

/* A folder for each fleet, below bawn's own, which no sandbox sees. */
static const char *default_folder(struct arena *arena, const struct loaded *loaded, const char *tasks)
{
    const char *fleets = fleets_folder(arena, loaded->request.starts[START_STATE]);
    const char *name = path_name(tasks);
    size_t size = text_ends_with(name, ".jsonl") ? strlen(name) - strlen(".jsonl") : strlen(name);
    const char *stem = arena_copy(arena, name, size);
    for (unsigned number = 1;; number++) {
        const char *path = arena_printf(arena, "%s/%s-%u", fleets, stem, number);
        struct stat status;
        if (lstat(path, &status) < 0)
            return path;
    }
}

static int read_tasks(const struct args *args, const char *path, struct arena *arena, struct buf *text,
                      task_list *ret_tasks, struct err *err)
{
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    auto_tasks task_list tasks = {0};
    if (fd < 0 || buf_read(text, fd, TASK_FILE_LARGEST) < 0)
        return err_sys(err, errno, "cannot read %s", path);
    if (text->size == TASK_FILE_LARGEST)
        return err_set(err, "%s is larger than %d MiB", path, TASK_FILE_LARGEST / 1024 / 1024);
    if (tasks_parse(bytes_of(buf_text(text), text->size), arena, &tasks, err) < 0)
        return -1;
    vec_each (const struct task, task, &tasks) {
        auto_arena struct arena scratch = {0};
        if (!task_command(task, args->command, &scratch, err))
            return -1;
    }
    *ret_tasks = tasks;
    tasks = (task_list){0};
    return 0;
}

static int cmd_run_fleet(const struct world *world, const struct args *args)
{
    auto_fleet struct fleet fleet = FLEET_NONE;
    auto_loaded struct loaded loaded = {0};
    auto_buf struct buf text = {0};
    auto_tasks task_list tasks = {0};
    struct err err = {0};
    if (args->words.count != 2 || !*args->command)
        return say_bad_input(world, "`bawn fleet run` needs a task file, `--` and a command",
                             "`bawn fleet --help` shows an example");
    if (args->flags &
        (FLAGS_MODES & ~(FLAG(AGENT) | FLAG(DEGRADE) | FLAG(WALLS) | FLAG(REVIEW) | FLAG(FRESH_HOME))))
        return say_bad_input(
            world, "a task of a fleet runs with --review and --fresh-home, and takes no other mode", NULL);
    int status = load_request(&world->caller, &loaded);
    if (status)
        return status;
    fleet.engine = args->engine ? args->engine : engine_local.name;
    if (!engine_find(fleet.engine))
        return say_bad_input(world, arena_printf(&fleet.arena, "there is no engine '%s'", fleet.engine),
                             "the engines are " ENGINE_NAMES);
    if (!jobs_of(args))
        return say_bad_input(world, "--jobs needs a number from 1 to 1024", NULL);
    if (read_tasks(args, args->words.at[1], &fleet.arena, &text, &tasks, &err) < 0)
        return say_err(world, &err);
    fleet.directory = loaded.request.directory;
    fleet.agent = args->agent;
    fleet.degraded = args->degraded;
    fleet.has_walls = args->walls != NULL;
    fleet.on = args->on;
    fleet.command = args->command;
    fleet.path = args->out ? load_path(&fleet.arena, &loaded.request, args->out)
                           : default_folder(&fleet.arena, &loaded, args->words.at[1]);
    add_rules(args, &fleet);
    if (bounds_check_all(&world->caller, &fleet, &tasks, &err) < 0 ||
        fleet_make(&fleet, loaded.request.starts[START_STATE], &tasks, &err) < 0)
        return say_err(world, &err);
    return run_tasks(world, args, &fleet, fleet.ids.at, fleet.ids.count);
}

/* --- the other verbs -------------------------------------------------------------------------------------------------- */

struct chosen {
    struct fleet fleet;
    const char *const *ids; /* the named ones, or all */
    size_t count;
    bool is_named;
};

static int each_retry(const struct world *world, const struct args *args, const struct chosen *chosen)
{
    struct err err = {0};
    auto_vec VEC(const char *) ids = {0};
    for (size_t i = 0; i < chosen->count; i++) {
        bool runs = false;
        if (fleet_reset(&chosen->fleet, chosen->ids[i], chosen->is_named, &runs, &err) < 0)
            return say_refused(world, &err);
        if (runs)
            vec_push(&ids, chosen->ids[i]);
    }
    const struct fleet_engine *engine = engine_find(chosen->fleet.engine);
    if (engine && engine->withdraw)
        engine->withdraw(&chosen->fleet, world->caller.environment, false);
    return run_tasks(world, args, &chosen->fleet, ids.at, ids.count);
}

static int each_cancel(const struct world *world, const struct args *args not_used,
                       const struct chosen *chosen)
{
    struct err err = {0};
    size_t cancelled = 0;
    const struct fleet_engine *engine = engine_find(chosen->fleet.engine);
    if (engine && engine->withdraw && !chosen->is_named)
        engine->withdraw(&chosen->fleet, world->caller.environment, true);
    for (size_t i = 0; i < chosen->count; i++) {
        if (fleet_forbid(&chosen->fleet, chosen->ids[i], &err) < 0)
            return say_refused(world, &err);
    }
    for (size_t i = 0; i < chosen->count; i++) {
        bool is_cancelled = false;
        if (fleet_cancel(&chosen->fleet, chosen->ids[i], &is_cancelled, &err) < 0)
            return say_refused(world, &err);
        cancelled += is_cancelled;
    }
    fprintf(world->out, "%zu task%s cancelled.\n", cancelled, cancelled == 1 ? " is" : "s are");
    return EXIT_FINE;
}

static int each_status(const struct world *world, const struct args *args, const struct chosen *chosen)
{
    auto_overview struct overview overview = {0};
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world, NULL);
    overview_look(&chosen->fleet, chosen->ids, chosen->count, &overview);
    if (args->flags & FLAG(JSON))
        overview_add_json(&overview, &out);
    else
        overview_add_text(&overview, &style, chosen->is_named || args->flags & FLAG(ALL), &out);
    put(world->out, &out);
    return overview.counts[TASK_DONE] == overview.tasks.count ? EXIT_FINE : 1;
}

static int each_report(const struct world *world, const struct args *args not_used,
                       const struct chosen *chosen)
{
    auto_overview struct overview overview = {0};
    auto_buf struct buf out = {0};
    overview_look(&chosen->fleet, chosen->ids, chosen->count, &overview);
    overview_add_page(&overview, &out);
    put(world->out, &out);
    return EXIT_FINE;
}

/* Prints a file that a command wrote. On a terminal everything is escaped that a terminal would obey. */
static void print_file(const struct world *world, int folder_fd, const char *name)
{
    auto_fd int fd = open_beneath(folder_fd, name, O_RDONLY | O_NONBLOCK, 0);
    enum { STEP = 64 * 1024 };
    while (fd >= 0) {
        auto_buf struct buf text = {0}, shown = {0};
        if (buf_read(&text, fd, STEP) < 0 || text.size == 0)
            return;
        struct bytes rest = bytes_of(text.bytes, text.size), line;
        while (world->out_is_terminal && bytes_take_line(&rest, &line)) {
            text_add_printable(&shown, line.at, line.size);
            if (line.at + line.size < text.bytes + text.size)
                buf_add_char(&shown, '\n');
        }
        put(world->out, world->out_is_terminal ? &shown : &text);
    }
}

static void print_titled(const struct world *world, int folder_fd, const char *id, const char *name)
{
    struct stat status;
    if (folder_fd < 0 || fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || status.st_size == 0)
        return;
    fprintf(world->out, "# %s %s\n", id, name);
    print_file(world, folder_fd, name);
}

static int each_logs(const struct world *world, const struct args *args not_used, const struct chosen *chosen)
{
    struct err ignored; /* a task that has not begun has no output */
    for (size_t i = 0; i < chosen->count; i++) {
        auto_fd int fd = fleet_open_output(&chosen->fleet, chosen->ids[i], false, &ignored);
        print_titled(world, fd, chosen->ids[i], "stdout");
        print_titled(world, fd, chosen->ids[i], "stderr");
    }
    return EXIT_FINE;
}

/* The patches that bawn keeps itself: what is shown is what `apply` brings. */
static int each_diff(const struct world *world, const struct args *args not_used, const struct chosen *chosen)
{
    struct err err = {0};
    for (size_t i = 0; i < chosen->count; i++) {
        auto_fd int fd = fleet_open_task(&chosen->fleet, chosen->ids[i], &err);
        if (fd < 0)
            return say_refused(world, &err);
        print_titled(world, fd, chosen->ids[i], FLEET_PATCH);
    }
    return EXIT_FINE;
}

/* Has everything that the session kept aside been applied? */
static bool is_applied(int sessions_fd, struct arena *arena, const char *session)
{
    auto_fd int fd = sessions_fd < 0 ? -1 : session_open(sessions_fd, session);
    struct record record = {0};
    struct err ignored; /* `bawn apply` says it */
    return fd >= 0 && record_load(fd, arena, &record, &ignored) > 0 && record.mode == RECORD_REVIEW &&
           record.state == STATE_DONE;
}

/* As `bawn apply SESSION` would. */
static int apply_task(const struct world *world, const struct args *args, const struct overview_task *task)
{
    if (task->result.branch) {
        auto_buf struct buf branch = {0};
        text_add_printable(&branch, task->result.branch, strlen(task->result.branch));
        fprintf(world->out, "# %s\nIts commits are on the branch %s. `git merge %s` brings them in.\n",
                task->id, buf_text(&branch), buf_text(&branch));
        return EXIT_FINE;
    }
    struct args one = *args;
    const char *session = task->result.session;
    one.words.at = &session;
    one.words.count = one.words.capacity = 1;
    one.flags &= FLAG(YES) | FLAG(ALLOW_RISKY) | FLAG(MERGE) | FLAG(MARKERS) | FLAG(OURS) | FLAG(THEIRS);
    one.rules.count = 0;
    fprintf(world->out, "# %s\n", task->id);
    return cmd_apply(world, &one);
}

/* Applies the sessions of the tasks one after the other. */
static int each_apply(const struct world *world, const struct args *args, const struct chosen *chosen)
{
    auto_overview struct overview overview = {0};
    auto_loaded struct loaded loaded = {0};
    int worst = load_request(&world->caller, &loaded);
    size_t found = 0, before = 0;
    if (worst)
        return worst;
    auto_fd int sessions_fd = sessions_open(&loaded);
    overview_look(&chosen->fleet, chosen->ids, chosen->count, &overview);
    vec_each (const struct overview_task, task, &overview.tasks) {
        if (chosen->is_named && !task->result.id) {
            say_problem(world,
                        arena_printf(&loaded.arena, "task %s is %s: it has no result to apply", task->id,
                                     task_state_name(task->state)),
                        "`bawn fleet retry DIR` runs what has no result");
            worst = worst ? worst : 1;
        }
        if (!task->result.changes || !task->result.session || (task->state != TASK_DONE && !chosen->is_named))
            continue;
        found++;
        if (is_applied(sessions_fd, &loaded.arena, task->result.session)) {
            before++;
            continue;
        }
        int status = apply_task(world, args, task);
        worst = status > worst ? status : worst;
    }
    if (!found && !worst)
        return say_bad_input(world, "none of these tasks has changes to apply",
                             "`bawn fleet status --all DIR` shows which have");
    if (before)
        fprintf(world->out, "%zu task%s applied before.\n", before, before == 1 ? " was" : "s were");
    return worst;
}

/* A descriptor of the engine's, which a worker inherits. Nothing that it executes does. */
static int engine_descriptor(const struct chosen *chosen, size_t place)
{
    const char *word = chosen->count > place ? chosen->ids[place] : "";
    uint64_t number;
    if (!text_take_number(&word, &number) || *word || number > INT_MAX ||
        fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    return (int)number;
}

static int each_work(const struct world *world, const struct args *args, const struct chosen *chosen)
{
    struct err err = {0};
    if (!chosen->is_named)
        return say_bad_input(world, "a worker needs the id of a task", NULL);
    auto_arena struct arena arena = {0};
    const char *id = chosen->ids[0];
    if (*id == '@')
        id = slurm_task(&chosen->fleet, &arena, id + 1,
                        caller_variable(&world->caller, "SLURM_ARRAY_TASK_ID"));
    if (!id)
        return say_bad_input(world, "this is not an element of one of the fleet's array jobs", NULL);
    const struct engine_words words = {.tell_fd = engine_descriptor(chosen, 1),
                                       .go_fd = engine_descriptor(chosen, 2)};
    int worked = fleet_work(&world->caller, &chosen->fleet, id, &words, args->typed, &err);
    return worked < 0 ? say_refused(world, &err) : worked;
}

static const struct {
    const char *name;
    int (*act)(const struct world *world, const struct args *args, const struct chosen *chosen);
} verbs[] = {
    {"status", each_status}, {"logs", each_logs},   {"diff", each_diff},
    {"apply", each_apply},   {"retry", each_retry}, {"cancel", each_cancel},
    {"report", each_report}, {"work", each_work}, /* for engines */
};

static int act_on(const struct world *world, const struct args *args, size_t verb)
{
    struct chosen chosen = {.fleet = FLEET_NONE};
    auto_loaded struct loaded loaded = {0};
    struct err err = {0};
    if (args->words.count < 2)
        return say_bad_input(world, "this needs the folder of a fleet", "`bawn fleet run` says where it is");
    int status = load_request(&world->caller, &loaded);
    if (status)
        return status;
    if (fleet_open(load_path(&loaded.arena, &loaded.request, args->words.at[1]),
                   loaded.request.starts[START_STATE], &chosen.fleet, &err) < 0)
        return say_err(world, &err);
    chosen.is_named = args->words.count > 2;
    chosen.ids = chosen.is_named ? args->words.at + 2 : chosen.fleet.ids.at;
    chosen.count = chosen.is_named ? args->words.count - 2 : chosen.fleet.ids.count;
    for (size_t i = 0; chosen.is_named && verbs[verb].act != each_work && status == 0 && i < chosen.count;
         i++) {
        auto_fd int fd = fleet_open_task(&chosen.fleet, chosen.ids[i], &err);
        status = fd < 0 ? say_err(world, &err) : 0;
    }
    if (status == 0)
        status = verbs[verb].act(world, args, &chosen);
    fleet_free(&chosen.fleet);
    return status;
}

int cmd_fleet(const struct world *world, const struct args *args)
{
    const char *word = args->words.count ? args->words.at[0] : "";
    if (strcmp(word, "run") == 0)
        return cmd_run_fleet(world, args);
    for (size_t i = 0; i < array_len(verbs); i++) {
        if (strcmp(word, verbs[i].name) == 0)
            return act_on(world, args, i);
    }
    return say_bad_input(world, "`bawn fleet` needs to know what to do",
                         "write run, status, logs, diff, apply, retry, cancel or report");
}
