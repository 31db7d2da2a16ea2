#include "policy/profile.h"

#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/builtin.h"
#include "policy/parse.h"

enum { MOST_PROFILES = 1024, DEEPEST_FOLDER = 4, WORKSPACE_NAMES_MOST = 4096 };

static const char suffix[] = ".bawn";

static enum layer layer_of(const char *name)
{
    if (strcmp(name, "base") == 0)
        return LAYER_BASE;
    return text_starts_with(name, "agent/") ? LAYER_AGENT : LAYER_PROFILE;
}

static const struct builtin_profile *find_builtin(const char *name)
{
    for (size_t i = 0; i < builtin_profile_count; i++) {
        if (strcmp(builtin_profiles[i].name, name) == 0)
            return &builtin_profiles[i];
    }
    return NULL;
}

int profile_find(const struct profile_finder *finder, const char *name, struct source *ret_source,
                 struct err *err)
{
    struct arena *arena = finder->fs->arena;
    struct source source = {
        .layer = layer_of(name), .asked_by = layer_of(name), .is_profile = true, .all_workspaces = true};
    const char *file = arena_printf(arena, "%s%s", name, suffix);
    const char *directories[] = {finder->user_directory, finder->admin_directory};
    for (size_t i = 0; i < array_len(directories); i++) {
        const struct fs_place *place = NULL;
        char *text = NULL;
        /* The view remembers lookups: most users have no profiles of their own. */
        if (!directories[i] ||
            (fs_resolve(finder->fs, directories[i], &place, err) == 0 && place->kind == FILE_MISSING))
            continue;
        source.name = path_join(arena, directories[i], file);
        if (fs_resolve(finder->fs, source.name, &place, err) < 0)
            return -1;
        if (place->kind == FILE_MISSING)
            continue;
        if (fs_read(finder->fs, place->real, POLICY_LARGEST, &text, &source.size, err) < 0)
            return -1;
        source.text = text;
        if (text) {
            *ret_source = source;
            return 1;
        }
    }
    const struct builtin_profile *builtin = find_builtin(name);
    if (!builtin)
        return 0;
    source.name = file;
    source.builtin = builtin;
    source.text = builtin->text;
    source.size = builtin->size;
    *ret_source = source;
    return 1;
}

/* Lists the profiles in a directory and below it. */
static void list_folder(const struct profile_finder *finder, const char *folder, const char *prefix,
                        unsigned depth, fs_names *names)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    auto_vec fs_names entries = {0};
    if (fs_resolve(finder->fs, folder, &place, &ignored) == 0 && place->kind == FILE_DIRECTORY)
        fs_list(finder->fs, place->real, MOST_PROFILES, &entries);
    for (size_t i = 0; i < entries.count && names->count < MOST_PROFILES; i++) {
        struct arena *arena = finder->fs->arena;
        char *name = arena_printf(arena, "%s%s", prefix, entries.at[i]);
        if (text_ends_with(name, suffix)) {
            name[strlen(name) - strlen(suffix)] = '\0';
            vec_push(names, name);
        } else if (depth < DEEPEST_FOLDER) {
            list_folder(finder, path_join(arena, folder, entries.at[i]), arena_printf(arena, "%s/", name),
                        depth + 1, names);
        }
    }
}

void profile_names(const struct profile_finder *finder, fs_names *ret_names)
{
    auto_vec fs_names names = {0};
    if (finder->user_directory)
        list_folder(finder, finder->user_directory, "", 0, &names);
    list_folder(finder, finder->admin_directory, "", 0, &names);
    for (size_t i = 0; i < builtin_profile_count; i++)
        vec_push(&names, builtin_profiles[i].name);
    fs_sort_names(&names);
    for (size_t i = 0; i < names.count; i++) {
        if (i == 0 || strcmp(names.at[i], names.at[i - 1]) != 0)
            vec_push(ret_names, names.at[i]);
    }
}

const char *profile_closest(const struct profile_finder *finder, const char *name)
{
    auto_vec fs_names names = {0};
    profile_names(finder, &names);
    vec_push(&names, NULL);
    return text_closest(name, names.at);
}

static const char *find_in_builtin(const struct source *source, enum verb verb,
                                   bool (*fits)(const char *text, void *context), void *context)
{
    for (size_t i = 0; i < source->builtin->rule_count; i++) {
        const struct builtin_rule *builtin = &source->builtin->rules[i];
        if (builtin->verb != verb)
            continue;
        const char *text = builtin_rule_of(source, builtin).text;
        if (!fits || fits(text, context))
            return text;
    }
    return NULL;
}

/* The text of the first rule of a verb in a profile's own lines that `fits` accepts; NULL accepts any. */
static const char *find_text_rule(const struct profile_finder *finder, const char *name, enum verb verb,
                                  bool (*fits)(const char *text, void *context), void *context)
{
    struct source source;
    struct err ignored;
    if (profile_find(finder, name, &source, &ignored) <= 0)
        return NULL;
    if (source.builtin)
        return find_in_builtin(&source, verb, fits, context);
    /* Parses only lines that begin with the verb: this runs over every agent at each start. */
    const char *word = verb_word(verb), *found = NULL;
    for (const char *line = source.text; line && *line && !found; line = strchr(line, '\n')) {
        line += strspn(line, "\n");
        line += strspn(line, " \t");
        if (!text_starts_with(line, word))
            continue;
        struct source one = source;
        auto_vec rule_list rules = {0};
        struct diags diags = {.arena = finder->fs->arena};
        one.text = line;
        one.size = strcspn(line, "\n");
        parse_source(finder->fs->arena, &one, &rules, &diags);
        for (size_t i = 0; i < rules.count && !found; i++) {
            bool is_it = rules.at[i].verb == verb && (!fits || fits(rules.at[i].text, context));
            found = is_it ? rules.at[i].text : NULL;
        }
        diags_free(&diags);
    }
    return found;
}

static bool is_one_of(const char *text, void *context)
{
    return fs_has_name(context, text);
}

const char *profile_for_command(const struct profile_finder *finder, fs_names *commands)
{
    auto_vec fs_names names = {0};
    const char *chosen = NULL;
    profile_names(finder, &names);
    for (size_t i = 0; i < names.count && !chosen; i++) {
        if (text_starts_with(names.at[i], "agent/") &&
            find_text_rule(finder, names.at[i], VERB_MATCH, is_one_of, commands))
            chosen = names.at[i];
    }
    return chosen;
}

/* Collects every text and accepts none. */
static bool take_name(const char *text, void *context)
{
    vec_push((fs_names *)context, text);
    return false;
}

void profile_words(const struct profile_finder *finder, const char *name, enum verb verb, fs_names *ret_words)
{
    find_text_rule(finder, name, verb, take_name, ret_words);
}

void profile_commands(const struct profile_finder *finder, fs_names *ret_commands)
{
    auto_vec fs_names names = {0};
    profile_names(finder, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (text_starts_with(names.at[i], "agent/"))
            profile_words(finder, names.at[i], VERB_MATCH, ret_commands);
    }
}

/* Directories, and the names in them. */
struct searched {
    struct fsview *fs;
    const fs_names *directories;
    fs_names names;
};

/* ".venv/pyvenv.cfg": a file, reached through no link. A run can put a link to any place of the host there. */
static bool has_file_below(const struct searched *searched, const char *pattern)
{
    struct arena *arena = searched->fs->arena;
    const char *path = pattern_literal(arena, pattern);
    bool is_there = fs_has_name(&searched->names, arena_copy(arena, path, strcspn(path, "/")));
    for (size_t i = 0; is_there && i < searched->directories->count; i++) {
        const struct fs_place *place = NULL;
        struct err ignored; /* a failure of the machine is found by fs_check */
        const char *file = path_join(arena, searched->directories->at[i], path);
        if (fs_resolve(searched->fs, file, &place, &ignored) == 0 && !place->links &&
            place->kind == FILE_REGULAR)
            return true;
    }
    return false;
}

static bool is_name_of_one(const char *pattern, void *context)
{
    const struct searched *searched = context;
    if (strchr(pattern, '/'))
        return !text_starts_with(pattern, "~/") && has_file_below(searched, pattern);
    for (size_t i = 0; i < searched->names.count; i++) {
        if (pattern_matches_name(pattern, searched->names.at[i], strlen(searched->names.at[i])))
            return true;
    }
    return false;
}

/* Does the pattern match one of the names? A directory's pattern never matches a file name, nor the reverse. */
static bool is_pattern_of_one(const char *pattern, void *context)
{
    const fs_names *folders = context;
    for (size_t i = 0; text_starts_with(pattern, "~/") && i < folders->count; i++) {
        if (pattern_matches_path(pattern + 1, folders->at[i], strlen(folders->at[i])))
            return true;
    }
    return false;
}

static void find_toolchains(const struct profile_finder *finder, enum verb verb,
                            bool (*fits)(const char *text, void *context), void *context, fs_names *ret_found)
{
    auto_vec fs_names all = {0};
    profile_names(finder, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (text_starts_with(all.at[i], "toolchain/") &&
            find_text_rule(finder, all.at[i], verb, fits, context))
            vec_push(ret_found, all.at[i]);
    }
}

void profiles_detected(const struct profile_finder *finder, const fs_names *directories, fs_names *ret_found)
{
    struct searched searched = {.fs = finder->fs, .directories = directories};
    for (size_t i = 0; i < directories->count; i++)
        fs_list(finder->fs, directories->at[i], WORKSPACE_NAMES_MOST, &searched.names);
    find_toolchains(finder, VERB_DETECT, is_name_of_one, &searched, ret_found);
    vec_free(&searched.names);
}

static void find_by_name(const struct profile_finder *finder, enum verb verb, const char *name,
                         fs_names *ret_found)
{
    fs_names names = {0};
    vec_push(&names, name);
    find_toolchains(finder, verb, is_one_of, &names, ret_found);
    vec_free(&names);
}

void profiles_for_file(const struct profile_finder *finder, const char *name, fs_names *ret_found)
{
    find_by_name(finder, VERB_DETECT, name, ret_found);
}

void profiles_for_command(const struct profile_finder *finder, const char *command, fs_names *ret_found)
{
    find_by_name(finder, VERB_MATCH, command, ret_found);
}

void profiles_on_path(const struct profile_finder *finder, fs_names *folders, fs_names *ret_found)
{
    find_toolchains(finder, VERB_DETECT, is_pattern_of_one, folders, ret_found);
}

const char *profile_about(const struct profile_finder *finder, const char *name)
{
    const char *about = find_text_rule(finder, name, VERB_ABOUT, NULL, NULL);
    return about ? about : "";
}
