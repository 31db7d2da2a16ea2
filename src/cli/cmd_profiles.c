/* `bawn profiles`: lists the profiles, or prints one. */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "policy/parse.h"
#include "session/load.h"

const char profiles_usage[] =
    "bawn profiles [--json] [NAME]\n"
    "       bawn profiles --guide\n"
    "\n"
    "List the profiles, or print one. Yours in ~/.config/bawn/profiles come first,\n"
    "then /etc/bawn/profiles, then the built-in ones.\n"
    "\n"
    "  --json    print the list as JSON\n"
    "  --guide   print how to write a profile, for a person or a language model\n"
    "\n"
    "  bawn profiles\n"
    "  bawn profiles agent/claude\n";

/* docs/PROFILES.md, embedded by the build. */
extern const char profiles_guide[];

static void list_profiles(const struct world *world, const struct profile_finder *finder, bool as_json)
{
    auto_vec fs_names names = {0};
    profile_names(finder, &names);
    struct style style = style_for_out(world, NULL);
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    if (as_json)
        json_open(&json, NULL, '[');
    for (size_t i = 0; i < names.count; i++) {
        const char *about = profile_about(finder, names.at[i]);
        if (as_json) {
            json_open(&json, NULL, '{');
            json_str(&json, "name", names.at[i]);
            json_str(&json, "about", about);
            json_close(&json, '}');
            continue;
        }
        style_add_column(&style, &out, COLOUR_BOLD, names.at[i], 22);
        buf_add_char(&out, ' ');
        style_add(&style, &out, COLOUR_PLAIN, about);
        buf_add_char(&out, '\n');
    }
    if (as_json)
        json_close(&json, ']');
    put(world->out, &out);
}

static int print_profile(const struct world *world, const struct profile_finder *finder, const char *name)
{
    struct source source;
    struct err err = {0};
    int found = profile_name_is_valid(name) ? profile_find(finder, name, &source, &err) : 0;
    if (found == 0) {
        const char *closest = profile_closest(finder, name);
        err_set(&err, "there is no profile '%s'", name);
        if (closest)
            err_hint(&err, "did you mean '%s'?", closest);
        else
            err_hint(&err, "`bawn profiles` lists them");
    }
    if (found <= 0)
        return say_err(world, &err);
    fwrite(source.text, 1, source.size, world->out);
    return EXIT_FINE;
}

int cmd_profiles(const struct world *world, const struct args *args)
{
    if (args->flags & FLAG(GUIDE)) {
        fputs(profiles_guide, world->out);
        return EXIT_FINE;
    }
    auto_loaded struct loaded loaded = {0};
    int status = load_request(&world->caller, &loaded);
    if (status)
        return status;
    struct profile_finder finder = load_finder(&loaded);
    if (args->words.count == 0)
        list_profiles(world, &finder, args->flags & FLAG(JSON));
    for (size_t i = 0; i < args->words.count && status == 0; i++)
        status = print_profile(world, &finder, args->words.at[i]);
    return status;
}
