/* From the command line to the function of a verb. */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "kernel/process.h"
#include "session/upkeep.h"

/*
 * For programs: what this bawn is, and what it can be asked for. `build` is "static" where bawn-egress looks names up in /etc/hosts
 * and DNS only, "host" where it does so as the host does.
 */
static void add_version(struct buf *out, struct arena *arena)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_str(&json, "version", BAWN_VERSION);
    json_str(&json, "architecture", BAWN_ARCHITECTURE);
    json_str(&json, "build", BAWN_BUILD);
    json_open(&json, "features", '[');
    for (size_t i = 0; verb_table[i].name; i++)
        json_str(&json, NULL, verb_table[i].name);
    json_close(&json, ']');
    json_open(&json, "programs", '{');
    json_str(&json, "bawn-egress", libexec_find(arena, "bawn-egress"));
    json_str(&json, "bawn-prove", libexec_find(arena, "bawn-prove"));
    json_str(&json, "bawn-vault", libexec_find(arena, "bawn-vault"));
    json_str(&json, "bawn-web", libexec_find(arena, "bawn-web"));
    json_close(&json, '}');
    json_close(&json, '}');
}

static void say_version(const struct world *world, bool as_json)
{
    auto_arena struct arena arena = {0};
    auto_buf struct buf out = {0};
    if (as_json)
        add_version(&out, &arena);
    else
        buf_add_str(&out, "bawn " BAWN_VERSION "\n");
    put(world->out, &out);
}

int bawn_main(const struct world *world, int argument_count, char **arguments)
{
    auto_arena struct arena arena = {0};
    struct args args = {0};
    int status = args_parse(world, verb_table, argument_count, arguments, &arena, &args);
    if (status == 0 && args.flags & FLAG(VERSION)) {
        say_version(world, args.flags & FLAG(JSON));
    } else if (status == 0 && args.flags & FLAG(HELP)) {
        status = cmd_help(world, &args);
    } else if (status == 0) {
        struct run_request run = args_request(&args);
        if (args.verb->repairs && world->repairs)
            repair_killed(&world->caller, args.verb->takes_command ? &run : NULL);
        status = args.verb->run(world, &args);
    }
    args_free(&args);
    return status;
}
