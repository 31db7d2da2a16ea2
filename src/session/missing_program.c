/* Why the command was not found, and what the user can do about it. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"
#include "policy/profile.h"
#include "session/run_parts.h"

enum { WORDS_MOST = 256 };

/* The verb or the agent that was probably meant; NULL: none. */
static const char *closest_word(const struct run *run, const struct profile_finder *finder,
                                const char *command)
{
    const char *words[WORDS_MOST];
    size_t count = 0;
    auto_vec fs_names commands = {0};
    profile_commands(finder, &commands);
    for (const char *const *verb = run->request.verbs; verb && *verb && count + 1 < WORDS_MOST; verb++)
        words[count++] = *verb;
    for (size_t i = 0; i < commands.count && count + 1 < WORDS_MOST; i++) {
        if (*commands.at[i] != '@') /* the name of a package */
            words[count++] = commands.at[i];
    }
    words[count] = NULL;
    return text_closest(command, words);
}

/* The command that installs the agent, from the name of its npm package; NULL: not known. */
static const char *install_command(struct arena *arena, const struct profile_finder *finder,
                                   const char *profile)
{
    auto_vec fs_names words = {0};
    profile_words(finder, profile, VERB_MATCH, &words);
    for (size_t i = 0; i < words.count; i++) {
        if (*words.at[i] == '@')
            return arena_printf(arena, "npm install -g %s", words.at[i]);
    }
    return NULL;
}

/* Adds the flag that shows the folder of a path, unless the path is shown. Returns the folder, or NULL. */
static const char *add_flag(const struct policy *policy, const char *path, struct buf *flags)
{
    const char *folder = path_parent(policy->arena, path);
    if (decide_path(policy, path, NULL).access != ACCESS_NONE)
        return NULL;
    buf_printf(flags, "%s--read %s", flags->size ? " " : "", folder);
    return folder;
}

/* The host has a program of that name, perhaps through links: each of them must be shown, too. */
static void explain_unseen(const struct policy *policy, const char *command, const struct fs_place *place,
                           struct err *err)
{
    auto_buf struct buf flags = {0};
    const char *first = NULL;
    for (const struct fs_link *link = place->links; link; link = link->next) {
        const char *folder = add_flag(policy, link->path, &flags);
        first = first ? first : folder;
    }
    const char *folder = add_flag(policy, place->real, &flags);
    first = first ? first : folder;
    if (!first) {
        err_hint(err, "the program itself is shown: is the interpreter that its first line names?");
        return;
    }
    err_set(err, "%s is in %s, which the sandbox does not show", command, first);
    err_hint(err, "%s shows it", buf_text(&flags));
}

void run_explain_missing(struct run *run, struct err *err)
{
    struct policy *policy = &run->loaded.policy;
    const char *command = *run->launch.command;
    struct profile_finder finder = load_finder(&run->loaded);
    const struct fs_place *place = strchr(command, '/') ? NULL : policy_find_command(policy, command);
    auto_vec fs_names names = {0};
    vec_push(&names, command);
    const char *profile = profile_for_command(&finder, &names);
    const char *closest = profile ? NULL : closest_word(run, &finder, command);
    const char *install = profile ? install_command(policy->arena, &finder, profile) : NULL;
    if (strchr(command, '/'))
        return;
    if (place) {
        explain_unseen(policy, command, place, err);
    } else if (profile) {
        err_set(err, "%s is not installed: no folder of your PATH has it", command);
        if (install)
            err_hint(err, "`%s` installs it", install);
        else
            err_hint(err, "install it, then try again");
    } else if (closest) {
        err_hint(err, "did you mean `bawn %s`?", closest);
    }
}
