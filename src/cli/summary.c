#include "cli/commands.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/say.h"

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

bool summary_is_wanted(const struct world *world, const struct args *args)
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

void summary_print(const struct world *world, const struct args *args, const struct run_summary *summary)
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
    put(world->err, &out);
}
