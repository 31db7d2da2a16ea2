/* `bawn learn`: runs a command, and proposes the lines of a policy that it would have needed. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/learn_steps.h"
#include "cli/say.h"
#include "trust/trust.h"

const char learn_usage[] =
    "bawn learn [--for TIME] [--json] [--write WHERE [--yes]]\n"
    "                  [--RULE OBJECT]... -- CMD...\n"
    "       bawn learn --from SESSION [--json] [--write WHERE [--yes]]\n"
    "\n"
    "Run CMD in the usual sandbox, and show what it wanted and did not get: files,\n"
    "hosts, sockets, limits. Each is a line for a policy, with what it gives away.\n"
    "Nothing is opened meanwhile. Sealed paths are listed, and never proposed. On a\n"
    "terminal pick the lines with keys. Each path that CMD names costs a round trip,\n"
    "so CMD is slower. Exit status: that of CMD. docs/LEARN.md has more.\n"
    "\n"
    "  --for TIME      end CMD after 90s, 10m, 1h\n"
    "  --from SESSION  learn from the journal of an earlier run\n"
    "  --write WHERE   add the lines to a policy: user (your own), repo (.bawn of the\n"
    "                  workspace) or a file\n"
    "  --yes           write the needed lines without asking; wide ones are left out\n"
    "  --json          print the proposals as JSON\n"
    "\n"
    "  bawn learn --for 10m -- npm test\n"
    "  bawn learn --from my-app-3 --write user\n";

/* --- writing -------------------------------------------------------------------------------------------------------- */

/*
 * The file that --write names. A symlink there, or on the way there, could be the command's: only to the
 * user's own policy is one followed. NULL after refusing one.
 */
static const char *target_of(const struct world *world, struct lesson *lesson, const char *where)
{
    struct loaded *loaded = &lesson->loaded;
    struct stat status;
    if (strcmp(where, "user") == 0)
        return path_join(&loaded->arena, loaded->request.starts[START_CONFIG], "bawn/policy.bawn");
    const char *path = strcmp(where, "repo") == 0
                           ? path_join(&loaded->arena, policy_first_named(&loaded->policy), ".bawn")
                           : load_path(&loaded->arena, &loaded->request, where);
    if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        say_problem(world, arena_printf(&loaded->arena, "%s is not a regular file", path),
                    "name the file itself");
        return NULL;
    }
    return path;
}

static int write_lines(const struct world *world, struct lesson *lesson, const char *where)
{
    struct loaded *loaded = &lesson->loaded;
    struct style style = {.home = loaded->request.home};
    struct err err = {0};
    const char *path = target_of(world, lesson, where);
    bool is_own = strcmp(where, "user") == 0, is_repository = strcmp(where, "repo") == 0;
    size_t added = 0;
    if (!path)
        return EXIT_BAD_INPUT;
    vec_each (const struct proposal, proposal, &lesson->learnt.list) {
        int result = !proposal->is_picked ? 0
                     : is_own             ? own_policy_add(&loaded->arena, path, proposal->line, &err)
                                          : repository_policy_add(&loaded->arena, path, proposal->line, &err);
        if (result < 0)
            return say_err(world, &err);
        added += result > 0;
    }
    fprintf(lesson->out, "Added %zu line%s to %s.%s\n", added, added == 1 ? "" : "s",
            style_path(&style, &loaded->arena, path),
            is_repository && added ? " They apply after `bawn trust`." : "");
    return EXIT_FINE;
}

/* Where the picked lines go. On a terminal without --write the person is asked. NULL: nowhere. */
static const char *destination(const struct world *world, const struct args *args,
                               const struct lesson *lesson)
{
    size_t count = lesson_count_picked(lesson);
    auto_arena struct arena arena = {0};
    if (args->write_to || count == 0)
        return args->write_to;
    bool is_agreed = ask(
        world, arena_printf(&arena, "Add %zu line%s to your own policy file?", count, count == 1 ? "" : "s"));
    return is_agreed ? "user" : NULL;
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static int offer(const struct world *world, const struct args *args, struct lesson *lesson)
{
    bool has_person = world->in_is_terminal && world->out_is_terminal && !(args->flags & FLAG(YES));
    if (args->flags & FLAG(JSON)) {
        auto_buf struct buf out = {0};
        learnt_add_json(&lesson->learnt, lesson->session, &out);
        buf_add_char(&out, '\n');
        put(lesson->out, &out);
    } else {
        lesson_print(world, lesson, args->write_to != NULL);
    }
    if (!has_person && !args->write_to)
        return EXIT_FINE;
    if (!has_person && !(args->flags & FLAG(YES)))
        return say_bad_input(world, "no terminal to ask on", "pass --yes to write the needed lines");
    struct world deaf = *world;
    deaf.in_is_terminal = has_person; /* with --yes no key is read */
    if (!lesson_pick(&deaf, lesson))
        return EXIT_FINE;
    const char *where = destination(world, args, lesson);
    return where ? write_lines(world, lesson, where) : EXIT_FINE;
}

int cmd_learn(const struct world *world, const struct args *args)
{
    bool has_command = *args->command;
    if (has_command == (args->from != NULL))
        return say_bad_input(world, "`bawn learn` needs a command, or --from SESSION",
                             "for example: `bawn learn -- npm test`");
    if (args->flags & (FLAG(NESTED) | FLAG(FULL_ACCESS)))
        return say_bad_input(world, "`bawn learn` watches the usual sandbox",
                             "leave out --nested and --full-access");
    auto_lesson struct lesson lesson = {0};
    int status = args->from ? lesson_read(world, args->from, &lesson) : lesson_run(world, args, &lesson);
    if (status == 0)
        status = offer(world, args, &lesson);
    return status ? status : lesson.status;
}
