/* `bawn run`: runs a command behind the walls and reports the result. */
#include <inttypes.h>

#include "cli/commands.h"
#include "cli/say.h"
#include "session/hook.h"
#include "session/run.h"

/* Runs the command of --on-exit, after the session has ended. */
static void run_hook(const struct world *world, const char *command, const struct run_summary *summary)
{
    struct arena *arena = summary->plan->policy->arena;
    auto_buf struct buf text = {0};
    run_summary_add_line(summary, &text);
    text.size -= text.size > 0; /* the newline */
    struct hook hook = {
        .command = command,
        .text = arena_copy(arena, text.bytes, text.size),
        .facts = {{"BAWN_EVENT", "end"},
                  {"BAWN_SESSION", summary->session},
                  {"BAWN_STATUS", arena_printf(arena, "%d", summary->status)},
                  {"BAWN_CHANGES", arena_printf(arena, "%" PRIu64, summary->changed->count)}},
    };
    int status = hook_run(&world->caller, &hook);
    if (status)
        say_problem(world, arena_printf(arena, "the command of --on-exit ended with status %d", status),
                    NULL);
}

int cmd_run(const struct world *world, const struct args *args)
{
    if (!*args->command && (args->rules.count || args->verb_is_named))
        return say_bad_input(world, "there is no command to run", "`bawn --help` shows how one is given");
    if (!*args->command)
        return cmd_help(world, args);
    if (args->flags & FLAG(FULL_ACCESS) && !(args->flags & FLAG(I_KNOW)))
        return say_bad_input(
            world, "--full-access takes the walls around your files away",
            "add --i-know if that is what you want; to give more than the workspace, --write PATH does");
    struct run_request request = args_request(args);
    request.wants_changes = summary_is_wanted(world, args);
    struct run run;
    run_command(&world->caller, &request, &run);
    if (run.result.loaded) {
        summary_print(world, args, &run.result.summary);
        if (args->on_exit)
            run_hook(world, args->on_exit, &run.result.summary);
    }
    int status = run.result.summary.status;
    run_finish(&run);
    return status;
}
