/* `bawn profile new`: makes a profile for an unknown agent or tool from what a run of it wanted. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/learn_steps.h"
#include "cli/say.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "policy/parse.h"

const char profile_usage[] =
    "bawn profile new [--for TIME] [--RULE OBJECT]... NAME -- CMD...\n"
    "\n"
    "Run CMD in the usual sandbox, and make a profile of what it wanted and did not\n"
    "get (`bawn learn`). On a terminal pick the lines with keys; without one, those\n"
    "that are needed are taken. The profile is written to\n"
    "~/.config/bawn/profiles/agent/NAME.bawn, and used when a command has CMD's name.\n"
    "`bawn profiles --guide` tells how to write one by hand.\n"
    "\n"
    "  --for TIME   end CMD after 90s, 10m, 1h\n"
    "\n"
    "  bawn profile new my-agent -- my-agent --version\n";

static int write_new(const char *path, const struct buf *text, struct arena *arena, struct err *err)
{
    if (directories_make(path_parent(arena, path), err) < 0)
        return -1;
    auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        err_set(err, "%s exists already", path);
        return err_hint(err, "it was not changed; choose another name, or remove it");
    }
    if (fd < 0 || write_whole(fd, text->bytes, text->size) < 0)
        return err_sys(err, errno, "cannot write %s", path);
    return 0;
}

/* The profile must parse: what bawn wrote itself is checked as a person's file would be. */
static int check_text(const char *name, const struct buf *text, struct arena *arena, struct err *err)
{
    struct source source = {.name = name,
                            .text = buf_text(text),
                            .size = text->size,
                            .layer = LAYER_AGENT,
                            .asked_by = LAYER_AGENT,
                            .is_profile = true,
                            .all_workspaces = true};
    struct diags diags = {.arena = arena};
    auto_vec rule_list rules = {0};
    parse_source(arena, &source, &rules, &diags);
    int result = diags.errors ? err_set(err, "the profile has a mistake: %s", diags.list.at[0].message) : 0;
    diags_free(&diags);
    return result;
}

static int write_profile(const struct world *world, struct lesson *lesson, const char *name)
{
    struct arena *arena = &lesson->loaded.arena;
    struct style style = {.home = lesson->loaded.request.home};
    struct err err = {0};
    auto_buf struct buf text = {0};
    const char *program = path_name(lesson->command);
    const char *path =
        arena_printf(arena, "%s/bawn/profiles/%s.bawn", lesson->loaded.request.starts[START_CONFIG], name);
    learnt_add_profile(&lesson->learnt,
                       arena_printf(arena, "%s, learnt from the run %s", program, lesson->session),
                       word_quote(arena, program, false), &text);
    if (check_text(name, &text, arena, &err) < 0 || write_new(path, &text, arena, &err) < 0)
        return say_err(world, &err);
    const char *shown = style_path(&style, arena, path);
    fprintf(world->err, "Wrote %s with %zu line%s. `bawn check %s` checks it, `bawn show -- %s` shows it.\n",
            shown, lesson_count_picked(lesson), lesson_count_picked(lesson) == 1 ? "" : "s", shown, program);
    return EXIT_FINE;
}

int cmd_profile(const struct world *world, const struct args *args)
{
    auto_arena struct arena arena = {0};
    if (args->words.count != 2 || strcmp(args->words.at[0], "new") != 0 || !*args->command)
        return say_bad_input(world, "`bawn profile new` needs a name and a command",
                             "for example: `bawn profile new my-agent -- my-agent --version`");
    const char *name = args->words.at[1];
    name = strchr(name, '/') ? name : arena_printf(&arena, "agent/%s", name);
    if (!profile_name_is_valid(name))
        return say_bad_input(world, arena_printf(&arena, "'%s' is not a name for a profile", name),
                             "use letters, digits, - and _");
    auto_lesson struct lesson lesson = {0};
    int status = lesson_run(world, args, &lesson);
    if (status)
        return status;
    lesson_print(world, &lesson, true); /* the profile has them */
    if (!lesson_pick(world, &lesson))
        return EXIT_FINE;
    return write_profile(world, &lesson, name);
}
