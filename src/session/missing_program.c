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

/* What a program needs: where its modules lie, if it is npm's or of a Python environment. Else its folder. */
static const char *needs_of_program(const struct policy *policy, const char *path)
{
    static const char modules[] = "/node_modules/";
    struct arena *arena = policy->arena;
    struct fsview *fs = policy->request.fs;
    const char *folder = path_parent(arena, path), *package = NULL;
    for (const char *at = path; (at = strstr(at, modules)); at += strlen(modules) - 1)
        package = at;
    if (package) {
        const char *all = arena_copy(arena, path, (size_t)(package - path) + strlen(modules) - 1);
        const char *name = package + strlen(modules);
        size_t size = strcspn(name, "/");
        if (*name == '@' && name[size])
            size += 1 + strcspn(name + size + 1, "/");
        const char *root = path_join(arena, all, arena_copy(arena, name, size));
        /* `npm install -g` puts what a package needs into it, other installations beside it. */
        bool is_whole = strcmp(path_name(path_parent(arena, all)), "lib") == 0 ||
                        fs_kind(fs, path_join(arena, root, "node_modules")) == FILE_DIRECTORY;
        return *name != '.' && is_whole ? root : all;
    }
    const char *around = path_parent(arena, folder);
    bool is_environment = strcmp(path_name(folder), "bin") == 0 &&
                          fs_kind(fs, path_join(arena, around, "pyvenv.cfg")) == FILE_REGULAR;
    const char *shown = is_environment ? around : folder;
    return path_is_beneath(policy->request.home, shown) ? path : shown; /* never all of the home */
}

/* Adds the flag that shows a program, unless it is shown or one of the folders before is around it. Returns its folder, or NULL. */
static const char *add_flag(const struct policy *policy, const char *path, fs_names *folders)
{
    if (decide_path(policy, path, NULL).access != ACCESS_NONE)
        return NULL;
    for (size_t i = 0; i < folders->count; i++) {
        if (path_is_beneath(path, folders->at[i]))
            return folders->at[i];
    }
    vec_push(folders, needs_of_program(policy, path));
    return path_parent(policy->arena, path);
}

/* The host has a program of that name, perhaps through links: each of them must be shown, too. */
static void explain_unseen(const struct policy *policy, const char *command, const struct fs_place *place,
                           struct err *err)
{
    auto_buf struct buf flags = {0};
    auto_vec fs_names folders = {0};
    const char *first = NULL;
    bool is_led = false;
    for (const struct fs_link *link = place->links; link; link = link->next) {
        const char *folder = add_flag(policy, link->path, &folders);
        first = first ? first : folder;
        is_led |= policy_in_workspace(policy, link->path);
    }
    const char *folder = add_flag(policy, place->real, &folders);
    first = first ? first : folder;
    if (!first) {
        err_hint(err, "the program itself is shown: is the interpreter that its first line names?");
        return;
    }
    for (size_t i = 0; i < folders.count; i++)
        buf_printf(&flags, "%s--read %s", i ? " " : "", shell_word(policy->arena, folders.at[i]));
    err_set(err, "%s is in %s, which the sandbox does not show", command, first);
    if (is_led) /* a run can have put it there, to be shown what it leads to */
        err_hint(err, "a link in the workspace leads there: is it yours?");
    else
        err_hint(err, "%s shows it", buf_text(&flags));
}

void run_explain_missing(struct run *run, struct err *err)
{
    struct policy *policy = &run->loaded.policy;
    const char *command = *run->launch.command;
    const struct fs_place *place = policy_find_command(policy, command);
    if (place)
        explain_unseen(policy, command, place, err);
    if (place || strchr(command, '/'))
        return;
    struct profile_finder finder = load_finder(&run->loaded);
    auto_vec fs_names names = {0};
    vec_push(&names, command);
    const char *profile = profile_for_command(&finder, &names);
    const char *closest = profile ? NULL : closest_word(run, &finder, command);
    const char *install = profile ? install_command(policy->arena, &finder, profile) : NULL;
    if (profile) {
        err_set(err, "%s is not installed: no folder of your PATH has it", command);
        if (install)
            err_hint(err, "`%s` installs it", install);
        else
            err_hint(err, "install it, then try again");
    } else if (strcmp(command, "version") == 0) {
        err_hint(err, "did you mean `bawn --version`?");
    } else if (closest) {
        err_hint(err, "did you mean `bawn %s`?", closest);
    }
}
