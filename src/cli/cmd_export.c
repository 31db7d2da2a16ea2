/* `bawn export`: prints the policy that applies here in another tool's format. */
#include "cli/commands.h"
#include "cli/say.h"
#include "translate/translate.h"

const char export_usage[] = "bawn export --to FORMAT [--strict] [--RULE OBJECT]... [-- CMD...]\n"
                            "\n"
                            "Print what CMD may do here in the format of another tool:\n"
                            "\n"
                            "  bwrap      a shell script that runs bubblewrap\n"
                            "  claude     settings.json of Claude Code\n"
                            "  codex      config.toml of Codex\n"
                            "  docker     a shell script that runs docker\n"
                            "  nono       a profile of nono\n"
                            "  seatbelt   a profile for sandbox-exec of macOS\n"
                            "  srt        settings of the sandbox runtime\n"
                            "  systemd    the [Service] section of a unit\n"
                            "\n"
                            "No format says all that a policy says. What is lost stands at the top, or on\n"
                            "standard error if the format has no comments (docs/TRANSLATE.md).\n"
                            "\n"
                            "  --strict   print nothing and exit with status 2 if a refusal would be lost\n"
                            "\n"
                            "  bawn export --to bwrap -- make >sandboxed; sh sandboxed make\n"
                            "  bawn export --to seatbelt -- claude >app.sb\n";

/* The losses that make --strict refuse, on standard error. */
static int refuse(const struct world *world, const char *format, const struct translation *translation)
{
    auto_arena struct arena arena = {0};
    auto_buf struct buf out = {0};
    lost_add_text(translation, "  ", &out);
    int status =
        say_bad_input(world, arena_printf(&arena, "%s cannot refuse all that this policy refuses", format),
                      "leave out --strict to export it anyway");
    put(world->err, &out);
    return status;
}

int cmd_export(const struct world *world, const struct args *args)
{
    if (!args->to)
        return say_bad_input(world, "`bawn export` needs --to FORMAT",
                             "for example: `bawn export --to bwrap`");
    if (args->flags & FLAGS_MODES & ~(FLAG(READ_ONLY) | FLAG(AGENT) | FLAG(FRESH_HOME)))
        return say_bad_input(world, "no other tool has this mode",
                             "export with --read-only, --agent or no mode");
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    if (status)
        return status;
    auto_translation struct translation translation = {0};
    struct err err = {0};
    if (export_plan(&loaded.arena, &loaded.plan, args->to, &translation, &err) < 0)
        return say_err(world, &err);
    if (args->flags & FLAG(STRICT) && lost_any_refusal(&translation))
        return refuse(world, args->to, &translation);
    put(world->out, &translation.text);
    if (!translation.says_losses) {
        auto_buf struct buf lost = {0};
        lost_add_text(&translation, "", &lost);
        put(world->err, &lost);
    }
    return EXIT_FINE;
}
