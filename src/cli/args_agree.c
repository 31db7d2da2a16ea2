/* Flags that are right by themselves and contradict each other. */
#include "cli/args.h"
#include "cli/say.h"
#include "report/time_text.h"

/* Of the answers to a conflict one can be given. */
static int check_conflicts(const struct world *world, const struct args *args)
{
    flag_set answers = args->flags & (FLAG_THEIRS | FLAG_OURS | FLAG_MERGE | FLAG_MARKERS);
    if ((answers & (answers - 1)) == 0)
        return 0;
    say_problem(world, "--theirs, --ours, --merge and --markers contradict each other",
                "leave all but one of them out");
    return EXIT_BAD_INPUT;
}

static int check_modes(const struct world *world, const struct args *args)
{
    bool is_aside = args->flags & (FLAG_REVIEW | FLAG_DISCARD);
    if (args->flags & FLAG_BRANCH &&
        args->flags & (FLAG_REVIEW | FLAG_DISCARD | FLAG_READ_ONLY | FLAG_NESTED | FLAG_FULL_ACCESS)) {
        say_problem(world, "--branch is a mode of its own, and goes with no other", "leave one of them out");
        return EXIT_BAD_INPUT;
    }
    if (is_aside && (args->flags & FLAG_REVIEW && args->flags & FLAG_DISCARD)) {
        say_problem(world, "--review and --discard contradict each other", "leave one of them out");
        return EXIT_BAD_INPUT;
    }
    if (is_aside && args->flags & (FLAG_READ_ONLY | FLAG_FULL_ACCESS)) {
        say_problem(world, "what is written cannot be kept aside with --read-only or --full-access",
                    "leave one of them out");
        return EXIT_BAD_INPUT;
    }
    if (!(args->flags & FLAG_FULL_ACCESS && args->flags & (FLAG_READ_ONLY | FLAG_NESTED)))
        return 0;
    say_problem(world,
                "--full-access and a mode that keeps the host's files as they are contradict each other",
                "leave one of them out");
    return EXIT_BAD_INPUT;
}

/* Only what is written at once has states in between. */
static int check_checkpoint(const struct world *world, struct arena *arena, struct args *args)
{
    if (!args->checkpoint)
        return 0;
    if (!duration_parse(args->checkpoint, &args->checkpoint_seconds) || args->checkpoint_seconds == 0) {
        say_problem(world, arena_printf(arena, "'%s' is no length of time", args->checkpoint),
                    "a number and one of s, m, h, d: --checkpoint 15m");
        return EXIT_BAD_INPUT;
    }
    if (!(args->flags & (FLAG_REVIEW | FLAG_DISCARD | FLAG_BRANCH | FLAG_READ_ONLY | FLAG_NESTED)))
        return 0;
    say_problem(
        world,
        "--checkpoint is for a run that writes the workspace itself, and goes with no mode that does not",
        "leave one of them out");
    return EXIT_BAD_INPUT;
}

int args_agree(const struct world *world, struct arena *arena, struct args *args)
{
    int status = check_modes(world, args);
    if (status == 0)
        status = check_checkpoint(world, arena, args);
    return status ? status : check_conflicts(world, args);
}
