#include "cli/commands.h"
#include "cli/load.h"

/* Fail closed: a sandbox that cannot be raised must not run anything without one. */
int cmd_run(const struct world *world, const struct args *args)
{
    if (!*args->command && (args->rules.count || args->verb_is_named)) {
        say_problem(world, "there is no command to run", "`bawn --help` shows how one is given");
        return EXIT_BAD_INPUT;
    }
    if (!*args->command)
        return cmd_help(world, args);
    struct loaded loaded = {0};
    int status = load_plan(world, args, &loaded);
    if (status == 0)
        say_problem(world, "this version cannot run commands yet: it plans and explains, and raises no walls",
                    "`bawn show -- CMD` shows what would hold");
    loaded_free(&loaded);
    return EXIT_REFUSED;
}
