/* Throws away what a session kept aside. */
#include "cli/carry.h"
#include "cli/commands.h"

static int discard(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = NULL;
    int status = choose_waiting(world, choice, "discard", &record);
    if (status)
        return status;
    struct arena *arena = choice->loaded.policy.arena;
    if (choice->paths.count) {
        say_problem(world, "`bawn discard` throws away a whole session",
                    "`bawn apply PATH...` takes what you want of it first");
        return EXIT_BAD_INPUT;
    }
    const char *question = arena_printf(arena, "Throw away what %s wrote, %llu file%s?", record->name,
                                        (unsigned long long)record->changes, record->changes == 1 ? "" : "s");
    if (!(args->flags & FLAG_YES) && world->in_is_terminal && !ask(world, question)) {
        fprintf(world->out, "Nothing was discarded.\n");
        return EXIT_FINE;
    }
    mark_state(choice, record->name, STATE_DISCARDED);
    fprintf(world->out, "%s is discarded. The workspace was never changed by it.\n", record->name);
    return EXIT_FINE;
}

int cmd_discard(const struct world *world, const struct args *args)
{
    struct choice choice;
    int status = choose_begin(world, args, &choice);
    if (status == 0)
        status = discard(world, args, &choice);
    choose_end(&choice);
    return status;
}
