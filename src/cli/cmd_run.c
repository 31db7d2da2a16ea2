/* `bawn run`: runs a command behind the walls and reports the result. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/say.h"
#include "session/hook.h"
#include "session/run.h"

enum { VERBS_MOST = 64 };

static bool is_in_ci(const struct world *world)
{
    const char *ci = caller_variable(&world->caller, "CI");
    return ci && *ci && strcmp(ci, "false") != 0 && strcmp(ci, "0") != 0;
}

static const char *step_summary(const struct world *world)
{
    const char *path = caller_variable(&world->caller, "GITHUB_STEP_SUMMARY");
    return path && *path == '/' ? path : NULL;
}

/* Will the summary list the changed files? Finding them takes time. */
static bool summary_is_wanted(const struct world *world, const struct args *args)
{
    return args->flags & FLAG(JSON) || step_summary(world) ||
           (!(args->flags & FLAG(QUIET)) && (world->err_is_terminal || is_in_ci(world)));
}

/* GitHub creates this file. A symlink in its place is somebody else's. */
static void write_step_summary(const struct world *world, const struct run_summary *summary, const char *path)
{
    auto_fd int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    auto_buf struct buf out = {0};
    run_summary_add_markdown(summary, &out);
    if (fd < 0 || write(fd, out.bytes, out.size) != (ssize_t)out.size)
        say_problem(world,
                    arena_printf(summary->plan->policy->arena, "cannot write the step's summary to %s", path),
                    NULL);
}

/* In a pipe too: what waits is in no workspace yet, and somebody must know. */
static void say_waiting(const struct world *world, const struct run_summary *summary)
{
    struct arena *arena = summary->plan->policy->arena;
    uint64_t count = summary->changed->count;
    say_problem(world,
                arena_printf(arena, "%" PRIu64 " file%s in %s", count, count == 1 ? " waits" : "s wait",
                             summary->session),
                arena_printf(arena, "`bawn review %s` goes through %s", summary->session,
                             count == 1 ? "it" : "them"));
}

/*
 * Prints the summary of a run on standard error:
 *
 *   on a terminal    a few lines, or none if there is nothing to tell
 *   with --json      one line of JSON
 *   if CI is set     one sentence
 *   in a pipe        nothing, unless changes of a review wait
 *
 * A step of GitHub's gets Markdown as well, in the file that it names.
 */
static void summary_print(const struct world *world, const struct args *args,
                          const struct run_summary *summary)
{
    struct style style = style_for_err(world);
    auto_buf struct buf out = {0};
    if (step_summary(world))
        write_step_summary(world, summary, step_summary(world));
    if (args->flags & FLAG(JSON))
        run_summary_add_json(summary, &out);
    else if (args->flags & FLAG(QUIET))
        return;
    else if (world->err_is_terminal)
        run_summary_add_text(summary, &style, &out);
    else if (is_in_ci(world))
        run_summary_add_line(summary, &out);
    else if (summary->changed->mode == RECORD_REVIEW && summary->changed->count)
        say_waiting(world, summary);
    put_err(world, &out);
}

/* Runs the command of --on-exit, after the session has ended. */
static void run_hook(const struct world *world, const char *command, const struct run_summary *summary)
{
    struct arena *arena = summary->plan->policy->arena;
    auto_buf struct buf text = {0};
    run_summary_add_line(summary, &text);
    text.size -= text.size > 0; /* the newline */
    struct hook hook = {
        .plan = summary->plan,
        .command = command,
        .text = arena_copy(arena, text.bytes, text.size),
        .facts = {{"BAWN_EVENT", "end"},
                  {"BAWN_SESSION", summary->session},
                  {"BAWN_STATUS", arena_printf(arena, "%d", summary->status)},
                  {"BAWN_CHANGES", arena_printf(arena, "%" PRIu64, summary->changed->count)}},
    };
    int status = hook_run(&world->caller, &hook);
    if (status > 0)
        say_problem(world, arena_printf(arena, "the --on-exit command ended with status %d", status), NULL);
}

/* --- --session-file --------------------------------------------------------------------------------------------------- */

/*
 * A script reads the name of its own session there, and acts on that session. The file is empty until the
 * session has its name, so that no name of an earlier run is read, and it must lie where no run can write: a
 * command could name another session, whose work the script would deliver or throw away.
 */
struct session_file {
    const struct world *world;
    const struct run *run;
    const char *asked;   /* as it was typed; NULL: none */
    struct loaded *here; /* the directory in which it was typed: with --branch the run has another one */
};

static int session_file_write(struct session_file *file, const char *text, struct err *err)
{
    auto_buf struct buf bytes = {0};
    buf_add_str(&bytes, text);
    return destination_write(&file->here->arena, &file->here->request, file->asked, &bytes, err);
}

static int session_file_name(void *context, const char *session, struct err *err)
{
    struct session_file *file = context;
    const struct outside outside = caller_outside(&file->world->caller, &file->run->loaded.plan);
    const char *const files[] = {load_path(&file->here->arena, &file->here->request, file->asked), NULL};
    const char *const texts[] = {NULL};
    if (outside_check(&outside, files, texts, err) < 0)
        return -1;
    return session_file_write(file, arena_printf(&file->here->arena, "%s\n", session), err);
}

/* Returns 0, or the exit status after saying what is wrong. */
static int session_file_begin(struct session_file *file, struct run_request *request)
{
    struct err err = {0};
    if (!file->asked)
        return 0;
    int status = load_request(&file->world->caller, file->here);
    if (status)
        return status;
    request->begun = session_file_name;
    request->watcher = file;
    return session_file_write(file, "", &err) < 0 ? say_refused(file->world, &err) : 0;
}

/* --- the verb ----------------------------------------------------------------------------------------------------------- */

int cmd_run(const struct world *world, const struct args *args)
{
    /* `bawn --review $CMD` of a script whose variable is empty has not succeeded. */
    if (!*args->command && args->typed[0] && args->typed[1])
        return say_bad_input(world, "there is no command to run",
                             "write one, such as `bawn claude`; `bawn --help` shows more");
    if (!*args->command)
        return cmd_help(world, args);
    if (args->flags & FLAG(FULL_ACCESS) && !(args->flags & FLAG(I_KNOW)))
        return say_bad_input(world, "--full-access lets the command write all your files",
                             "pass --i-know, too, if you want that; --write PATH opens a single directory");
    if (args->flags & FLAG(FULL_ACCESS) && args->session_file)
        return say_bad_input(world, "with --full-access the command could write the file of --session-file",
                             "leave one of them out");
    struct run_request request = args_request(args);
    request.wants_changes = summary_is_wanted(world, args);
    const char *verbs[VERBS_MOST + 1] = {NULL};
    for (size_t i = 0; i < VERBS_MOST && args->verbs[i].name; i++)
        verbs[i] = args->verbs[i].name;
    request.verbs = verbs;
    struct world quiet = *world;
    world_set_speaker(&quiet);
    quiet.speaker.is_quiet = args->flags & (FLAG(QUIET) | FLAG(JSON));
    struct run run;
    auto_loaded struct loaded here = {0};
    struct session_file file = {world, &run, args->session_file, &here};
    int status = session_file_begin(&file, &request);
    if (status)
        return status;
    run_command(&quiet.caller, &request, &run);
    if (run.result.loaded) {
        summary_print(world, args, &run.result.summary);
        if (args->on_exit && !run.refuses_outside)
            run_hook(world, args->on_exit, &run.result.summary);
    }
    status = run.result.summary.status;
    run_finish(&run);
    return status;
}
