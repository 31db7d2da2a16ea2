/* From the command line to the function of a verb. */
#include "cli/commands.h"
#include "session/upkeep.h"

int bawn_main(const struct world *world, int argument_count, char **arguments)
{
    auto_arena struct arena arena = {0};
    struct args args = {0};
    int status = args_parse(world, verb_table, argument_count, arguments, &arena, &args);
    if (status == 0 && args.flags & FLAG(VERSION)) {
        fprintf(world->out, "bawn %s\n", BAWN_VERSION);
    } else if (status == 0 && args.flags & FLAG(HELP)) {
        status = cmd_help(world, &args);
    } else if (status == 0) {
        if (args.verb->repairs && world->repairs)
            repair_killed(&world->caller);
        status = args.verb->run(world, &args);
    }
    args_free(&args);
    return status;
}
