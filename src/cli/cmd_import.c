/* `bawn import`: prints a file of another tool as lines of a policy. */
#include "base/path.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "translate/translate.h"

const char import_usage[] =
    "bawn import [--from FORMAT] FILE\n"
    "\n"
    "Print the rules in a file of another tool as lines of a policy. Each rule stands\n"
    "below a comment with what the file says. What bawn cannot express, or could\n"
    "express in two ways, is a comment only: read them. docs/TRANSLATE.md has more.\n"
    "\n"
    "  --from FORMAT   the format, if the file's name and text do not tell:\n"
    "    bwrap      a bubblewrap command line\n"
    "    claude     settings.json of Claude Code\n"
    "    codex      config.toml of Codex\n"
    "    firejail   a profile of firejail\n"
    "    nono       a profile of nono\n"
    "    safehouse  .safehouse of Agent Safehouse\n"
    "    seatbelt   a profile for sandbox-exec, as far as it lists paths\n"
    "    srt        settings of the sandbox runtime\n"
    "\n"
    "  bawn import ~/.claude/settings.json >imported.bawn && bawn check imported.bawn\n"
    "  bawn --policy imported.bawn claude\n";

enum { IMPORT_LARGEST = 128 * 1024 };

static int read_file(struct loaded *loaded, const char *name, char **ret_text, size_t *ret_size,
                     struct err *err)
{
    const struct fs_place *place = NULL;
    const char *path = path_clean(&loaded->arena, loaded->request.directory, name);
    if (fs_resolve(&loaded->fs, path, &place, err) < 0)
        return -1;
    int found = fs_read(&loaded->fs, place->real, IMPORT_LARGEST, ret_text, ret_size, err);
    if (found == 0)
        return err_set(err, "there is no file %s", name);
    return found < 0 ? -1 : 0;
}

static void say_what_is_left(const struct world *world, const struct translation *translation)
{
    size_t refusals = 0, left = translation->lost.count;
    vec_each (const struct lost, lost, &translation->lost)
        refusals += lost->kind == LOST_REFUSAL;
    if (left)
        fprintf(world->err,
                "bawn: %zu item%s not translated, %zu of them refusal%s. The comments say which and why.\n",
                left, left == 1 ? " was" : "s were", refusals, refusals == 1 ? "" : "s");
}

int cmd_import(const struct world *world, const struct args *args)
{
    if (args->words.count != 1)
        return say_bad_input(world, "`bawn import` needs one file",
                             "for example: `bawn import ~/.claude/settings.json`");
    auto_loaded struct loaded loaded = {0};
    int status = load_request(&world->caller, &loaded);
    if (status)
        return status;
    struct err err = {0};
    char *text = NULL;
    size_t size = 0;
    if (read_file(&loaded, args->words.at[0], &text, &size, &err) < 0)
        return say_err(world, &err);
    auto_translation struct translation translation = {0};
    if (import_policy(&loaded.arena, args->words.at[0], text, size, args->from, &translation, &err) < 0)
        return say_err(world, &err);
    put(world->out, &translation.text);
    say_what_is_left(world, &translation);
    return EXIT_FINE;
}
