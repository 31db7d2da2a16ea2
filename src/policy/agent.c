/* Finds the agent that a command runs: by its name, through a symlink, or through a program that fetches and runs it. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/compose.h"
#include "policy/profile.h"

enum { FRONTS_MOST = 8 }; /* env env env … */

/* Programs that run the package or command named by the next word. */
static const struct {
    const char *name, *subcommand, *second;
} runners[] = {
    {"npx", NULL, NULL},   {"bunx", NULL, NULL}, {"pnpx", NULL, NULL},  {"uvx", NULL, NULL},
    {"npm", "exec", NULL}, {"npm", "x", NULL},   {"pnpm", "dlx", NULL}, {"pnpm", "exec", NULL},
    {"yarn", "dlx", NULL}, {"bun", "x", NULL},   {"pipx", "run", NULL}, {"uv", "tool", "run"},
};

/* Programs that run the script named by the next word. */
static const char *const interpreters[] = {"node", "nodejs", "bun", "python", "python3"};

/* Flags of these programs that take the next word as their value. */
static const char *const flags_with_value[] = {
    "-p",        "--package",    "--from",
    "--with",    "--python",     "--spec",
    "-w",        "--workspace",  "--prefix",
    "--filter",  "--index",      "--index-url",
    "-C",        "--dir",        "-r",
    "--require", "--import",     "--registry",
    "--cache",   "--userconfig", "--with-requirements",
};

/* With these flags, no word names the program that is run. */
static const char *const flags_with_text[] = {"-c", "--call", "-e", "--eval", "-m", "-S", "--split-string"};

static const char *last_name(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

/* Returns the next word that is not a flag; NULL if no word names the program that is run. */
static const char *const *skip_flags(const char *const *at)
{
    for (; *at && **at == '-' && (*at)[1]; at++) {
        if (strcmp(*at, "--") == 0)
            return at + 1;
        if (text_is_among(*at, flags_with_text, array_len(flags_with_text)))
            return NULL;
        if (text_is_among(*at, flags_with_value, array_len(flags_with_value)) && at[1])
            at++;
    }
    return at;
}

/* Returns the words that `env` runs; NULL if they cannot be found. */
static const char *const *skip_env(const char *const *at)
{
    for (at++; *at && (**at == '-' || strchr(*at, '=')); at++) {
        if (text_is_among(*at, flags_with_text, array_len(flags_with_text)))
            return NULL;
        bool takes_next = strcmp(*at, "-u") == 0 || strcmp(*at, "-C") == 0 || strcmp(*at, "--unset") == 0 ||
                          strcmp(*at, "--chdir") == 0 || strcmp(*at, "-a") == 0 ||
                          strcmp(*at, "--argv0") == 0;
        if (takes_next && at[1])
            at++;
    }
    return at;
}

/* Returns the words that a runner runs; `at` itself if it is not a runner. */
static const char *const *skip_runner(const char *const *at, const char *name)
{
    for (size_t i = 0; i < array_len(runners); i++) {
        const char *const *next = at + 1;
        if (strcmp(name, runners[i].name) != 0)
            continue;
        const char *const subcommands[] = {runners[i].subcommand, runners[i].second};
        bool fits = true;
        for (size_t j = 0; fits && j < array_len(subcommands) && subcommands[j]; j++) {
            fits = *next && strcmp(*next, subcommands[j]) == 0;
            next += fits;
        }
        if (fits)
            return skip_flags(next);
    }
    return at;
}

const struct fs_place *policy_find_command(struct policy *policy, const char *command)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    const char *folders = strchr(command, '/') ? "" : text_variable(policy->request.environment, "PATH");
    for (const char *at = folders ? folders : "", *end;; at = end + 1) {
        end = at + strcspn(at, ":");
        const char *folder = arena_copy(policy->arena, at, (size_t)(end - at));
        const char *start = path_clean(policy->arena, policy_start(policy), folder);
        if (fs_resolve(policy->request.fs, path_clean(policy->arena, start, command), &place, &ignored) ==
                0 &&
            place->kind == FILE_REGULAR)
            return place;
        if (!*end)
            return NULL;
    }
}

/* "@scope/name" or "name" of the npm package in which a file lies, or NULL. */
static const char *package_around(struct arena *arena, const char *path)
{
    static const char folder[] = "/node_modules/";
    const char *package = NULL;
    for (const char *at = path; (at = strstr(at, folder)); at++)
        package = at + strlen(folder);
    if (!package)
        return NULL;
    size_t size = strcspn(package, "/");
    if (*package == '@' && package[size] == '/')
        size += 1 + strcspn(package + size + 1, "/");
    return arena_copy(arena, package, size);
}

/*
 * The profile for a program or script on the host: by its name, by the name of a symlink on the way to it, or by its package.
 */
static const char *profile_for_place(const struct profile_finder *finder, const struct fs_place *place,
                                     const char *name)
{
    auto_vec fs_names names = {0};
    vec_push(&names, name);
    for (const struct fs_link *link = place ? place->links : NULL; link; link = link->next)
        vec_push(&names, path_name(link->path));
    const char *package = place ? package_around(finder->fs->arena, place->real) : NULL;
    if (package)
        vec_push(&names, package);
    if (place)
        vec_push(&names, path_name(place->real));
    return profile_for_command(finder, &names);
}

/* "@scope/name@1.2" and "name[extra]==1.2" without version and extras. */
static const char *package_name(struct arena *arena, const char *word)
{
    size_t size = strcspn(word, "[=<>~!;");
    const char *slash = memchr(word, '/', size);
    const char *name = *word == '@' && slash ? slash + 1 : word + 1;
    const char *version = name < word + size ? memchr(name, '@', size - (size_t)(name - word)) : NULL;
    return arena_copy(arena, word, version ? (size_t)(version - word) : size);
}

/* npx and similar programs prefer a package that the project has installed. Such a package is not the agent of its name. */
static bool is_installed_in_workspace(const struct policy *policy, const char *package)
{
    static const char *const folders[] = {"node_modules", "node_modules/.bin"};
    struct arena *arena = policy->arena;
    for (const char *directory = policy_start(policy); policy_in_workspace(policy, directory);
         directory = path_parent(arena, directory)) {
        for (size_t i = 0; i < array_len(folders); i++) {
            const struct fs_place *place = NULL;
            struct err ignored;
            const char *path = path_join(arena, path_join(arena, directory, folders[i]), package);
            if (fs_resolve(policy->request.fs, path, &place, &ignored) < 0 || place->kind != FILE_MISSING)
                return true;
        }
    }
    return false;
}

/* Returns the word that names the program, behind `env`, and the program's place, NULL if it was not found. NULL: no word can be found. */
static const char *const *command_word(struct policy *policy, const char *const *words,
                                       const struct fs_place **ret_place)
{
    for (unsigned i = 0; words && *words && i < FRONTS_MOST; i++) {
        const struct fs_place *place = policy_find_command(policy, *words);
        *ret_place = place;
        if (strcmp(last_name(*words), "env") != 0)
            return words;
        if (place && policy_in_workspace(policy, place->real))
            return NULL;
        words = skip_env(words);
    }
    return NULL;
}

const char *command_name(struct policy *policy, const char *const *words)
{
    const struct fs_place *place = NULL;
    const char *const *word = command_word(policy, words, &place);
    if (!word || (place && policy_in_workspace(policy, place->real)))
        return NULL;
    bool is_module = text_starts_with(last_name(*word), "python") && word[1] && strcmp(word[1], "-m") == 0;
    return is_module && word[2] ? word[2] : last_name(*word);
}

/*
 * Is it an environment of Python's? A run can put a link to any directory of the host into a workspace: whether an environment
 * is there must not be answered.
 */
static bool is_environment(struct policy *policy, const char *directory)
{
    struct fsview *fs = policy->request.fs;
    const struct fs_place *place = NULL;
    struct err ignored; /* a failure of the machine is found by fs_check */
    if (*directory != '/' || fs_resolve(fs, directory, &place, &ignored) < 0)
        return false;
    for (const struct fs_link *link = place->links; link; link = link->next) {
        if (policy_in_workspace(policy, link->path))
            return false;
    }
    return fs_kind(fs, path_join(policy->arena, place->real, ENVIRONMENT_FILE)) == FILE_REGULAR;
}

/* Is it ENVIRONMENT/bin/PROGRAM? Elsewhere than in a workspace and the home, a program is chosen by its name alone. */
static bool is_in_environment(struct policy *policy, const char *path)
{
    const char *folder = path_parent(policy->arena, path);
    bool may_be = policy_in_workspace(policy, path) || path_is_beneath(path, policy->request.home);
    return may_be && strcmp(path_name(folder), "bin") == 0 &&
           is_environment(policy, path_parent(policy->arena, folder));
}

bool command_has_environment(struct policy *policy, const char *const *words)
{
    const char *activated = text_variable(policy->request.environment, "VIRTUAL_ENV");
    const struct fs_place *place = NULL;
    if (activated && is_environment(policy, activated))
        return true;
    if (!command_word(policy, words, &place) || !place)
        return false;
    /* ENVIRONMENT/bin/python is a link to the system's. */
    for (const struct fs_link *link = place->links; link; link = link->next) {
        if (is_in_environment(policy, link->path))
            return true;
        if (policy_in_workspace(policy, link->path))
            return policy_in_workspace(policy, place->real) && is_in_environment(policy, place->real);
    }
    return is_in_environment(policy, place->real);
}

/*
 * A program in a workspace is not the agent of its name, so it does not get that agent's login. If npx, python or another
 * starter lies in the workspace, no agent is chosen either.
 */
const char *agent_for_words(struct policy *policy, const struct profile_finder *finder,
                            const char *const *words, size_t *ret_word)
{
    const char *const *at = words;
    for (unsigned i = 0; at && *at && i < FRONTS_MOST; i++) {
        const char *name = last_name(*at);
        const struct fs_place *place = policy_find_command(policy, *at);
        if (place && policy_in_workspace(policy, place->real))
            return NULL;
        if (strcmp(name, "env") == 0) {
            at = skip_env(at);
            continue;
        }
        const char *const *run = skip_runner(at, name);
        if (run != at) {
            const char *package = run && *run ? package_name(policy->arena, *run) : NULL;
            if (!package || is_installed_in_workspace(policy, package))
                return NULL;
            *ret_word = (size_t)(run - words);
            return profile_for_place(finder, NULL, package);
        }
        if (text_is_among(name, interpreters, array_len(interpreters))) {
            at = skip_flags(at + 1);
            if (!at || !*at || !strchr(*at, '/'))
                return NULL; /* a script name without a directory means the current directory */
            continue;
        }
        *ret_word = (size_t)(at - words);
        return profile_for_place(finder, place, name);
    }
    return NULL;
}
