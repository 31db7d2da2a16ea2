#include "git/repo.h"

#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "git/command.h"
#include "git/config.h"
#include "git/obeyed.h"

enum {
    CONFIG_LARGEST = 1024 * 1024,
    ACCOUNTS_LARGEST = 1024 * 1024,
    DEEPEST_INCLUDE = 10,
    MOST_INCLUDED = 200,
    MOST_UNFOLLOWED = 20
};

/* A file of settings, and for whom it is read. */
struct follower {
    struct fsview *fs;
    const struct git_owner *owner;
    const char *config;
    const char *
        command; /* the setting whose command gives the one at hand to git; NULL: it stands in the file itself */
    unsigned depth;
    unsigned *included; /* files, for this owner: what includes itself ends */
    struct git_repo *repo;
};

/* "filter.x.clean in .git/config", "core.hookspath of alias.ci in .git/config" */
static const char *said_by(const struct follower *follower, const struct git_setting *setting)
{
    struct arena *arena = follower->fs->arena;
    const char *name = git_setting_name(arena, setting);
    if (follower->command)
        return arena_printf(arena, "%s of %s", name, follower->command);
    return arena_printf(arena, "%s in %s", name,
                        git_obeyed_name(follower->fs, follower->owner, follower->config));
}

/* What cannot be followed is named: nobody else would say that it is neither frozen nor flagged. */
static void leave_unfollowed(const struct follower *follower, const struct git_setting *setting)
{
    git_paths *unfollowed = &follower->repo->unfollowed;
    const char *said = said_by(follower, setting);
    if (unfollowed->count < MOST_UNFOLLOWED && !text_is_among(said, unfollowed->at, unfollowed->count))
        vec_push(unfollowed, said);
}

/*
 * The home of an account. Only /etc/passwd is asked: other sources are plug-ins. The user's own account may
 * be in one of those; its home mostly bears its name.
 */
static const char *home_of(const struct follower *follower, const char *name, size_t size)
{
    enum { HOME_FIELD = 5 };
    const char *own = follower->owner->home;
    struct err ignored;
    char *text = NULL;
    size_t text_size = 0;
    if (fs_read(follower->fs, "/etc/passwd", ACCOUNTS_LARGEST, &text, &text_size, &ignored) <= 0)
        text = arena_str(follower->fs->arena, "");
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        const char *home = strncmp(line, name, size) == 0 && line[size] == ':' ? line : NULL;
        for (int i = 0; i < HOME_FIELD && home; i++)
            home = (home = strchr(home, ':')) ? home + 1 : NULL;
        if (home && *home == '/')
            return arena_copy(follower->fs->arena, home, strcspn(home, ":"));
    }
    bool is_own = own && strncmp(path_name(own), name, size) == 0 && !path_name(own)[size];
    return is_own ? own : NULL;
}

/* Takes a "~/", "~NAME/" or ":(optional)" off a path, and says where the rest begins; NULL where the path cannot be followed. */
static const char *start_of(const struct follower *follower, const char *from, const char **path)
{
    static const char optional[] = ":(optional)", prefix[] = "%(prefix)/";
    if (text_starts_with(*path, optional))
        *path += strlen(optional);
    if (!**path || strlen(*path) >= PATH_LONGEST || text_starts_with(*path, prefix))
        return NULL;
    if (**path != '~')
        return from;
    size_t size = strcspn(*path + 1, "/");
    const char *home = size ? home_of(follower, *path + 1, size) : follower->owner->home;
    *path += 1 + size;
    *path += strspn(*path, "/");
    return home;
}

/* The same for the path that a setting holds. An empty one is none. */
static const char *start_of_value(const struct follower *follower, const char *from,
                                  const struct git_setting *setting, const char **ret_path)
{
    *ret_path = setting->value;
    const char *start = start_of(follower, from, ret_path);
    if (!start && *setting->value)
        leave_unfollowed(follower, setting);
    return start;
}

static void follow_path(const struct follower *follower, const char *from, const struct git_setting *setting)
{
    const char *path, *start = start_of_value(follower, from, setting, &path);
    if (start)
        git_obeyed_follow(follower->fs, follower->owner, start, path, said_by(follower, setting),
                          follower->repo);
}

static void follow_hooks_path(const struct follower *follower, const struct git_setting *setting)
{
    const char *path, *start = start_of_value(follower, follower->owner->base, setting, &path);
    if (start)
        git_follow_hooks(follower->fs, follower->owner, start, path, said_by(follower, setting),
                         follower->repo);
}

/* Does the word name something that could be run, in this directory? */
static bool word_counts(const struct git_word *word, const struct git_trail *trail)
{
    if (word->is_command && !strchr(word->text, '/'))
        return false; /* from PATH */
    return trail->kind == FILE_REGULAR || trail->kind == FILE_LINK ||
           (trail->kind == FILE_MISSING && (word->may_be_made || trail->links.count));
}

/* Where a word without a slash at its beginning begins. `is_sure`: programs may also be made there. */
struct start {
    const char *directory;
    bool is_sure;
};

typedef VEC(struct start) start_list;

static void follow_word(const struct follower *follower, const struct git_setting *setting,
                        const struct git_word *word, const start_list *starts)
{
    for (size_t i = 0; i < starts->count; i++) {
        const char *path = word->text, *start = start_of(follower, starts->at[i].directory, &path);
        struct git_trail trail;
        if (!start && *word->text == '~' && strchr(word->text, '/'))
            leave_unfollowed(follower, setting);
        if (!start || strstr(path, "://"))
            return;
        git_trail_follow(follower->fs, start, path, &trail);
        bool is_elsewhere = !starts->at[i].is_sure && trail.kind == FILE_MISSING;
        if (word_counts(word, &trail) && !is_elsewhere)
            git_obeyed_add(follower->fs, follower->owner, &trail, said_by(follower, setting), follower->repo);
        vec_free(&trail.links);
        if (*path == '/' || path != word->text)
            return; /* it is the same from everywhere */
    }
}

static bool read_settings(struct fsview *fs, const char *config, char **ret_text, size_t *ret_size);

/* The work tree of a submodule, by its name. */
static const char *submodule_of(const struct follower *follower, const char *name)
{
    struct arena *arena = follower->fs->arena;
    const char *path = name;
    char *text = NULL;
    size_t size = 0;
    git_setting_list settings = {0};
    bool is_read =
        read_settings(follower->fs, path_join(arena, follower->owner->base, ".gitmodules"), &text, &size) &&
        git_setting_list_read(arena, text, size, &settings) == 0;
    for (size_t i = 0; is_read && i < settings.count; i++) {
        const struct git_setting *setting = &settings.at[i];
        if (strcmp(setting->section, "submodule") == 0 && strcmp(setting->subsection, name) == 0 &&
            strcmp(setting->name, "path") == 0)
            path = setting->value;
    }
    vec_free(&settings);
    return path_clean(arena, follower->owner->base, path);
}

/* git runs most programs at the top of the work tree, some in the git directory, and what updates a submodule in that. */
static void list_starts(const struct follower *follower, const struct git_setting *setting,
                        start_list *starts)
{
    const struct git_owner *owner = follower->owner;
    if (strcmp(setting->section, "submodule") == 0 && *setting->value == '!')
        vec_push(starts, (struct start){submodule_of(follower, setting->subsection), .is_sure = true});
    vec_push(starts, (struct start){owner->base, .is_sure = true});
    if (strcmp(owner->base, owner->git_dir) != 0)
        vec_push(starts, (struct start){owner->git_dir});
}

static void follow_setting(const struct follower *follower, const struct git_setting *setting);

static const char *in_lower_case(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_copy(arena, text, size);
    for (char *byte = copy; *byte; byte++)
        *byte = (char)tolower((unsigned char)*byte);
    return copy;
}

/* A setting that a command gives to git: `git -c SECTION.SUBSECTION.NAME=VALUE`. */
static void follow_given(const struct follower *follower, const struct git_setting *setting,
                         const struct git_word *word)
{
    struct arena *arena = follower->fs->arena;
    bool is_unknown = !*word->key;
    const char *key = is_unknown ? word->text : word->key;
    const char *first = strchr(key, '.'), *last = strrchr(key, '.');
    if (!first)
        return;
    struct git_setting given = {
        .section = in_lower_case(arena, key, (size_t)(first - key)),
        .subsection = first == last ? "" : arena_copy(arena, first + 1, (size_t)(last - first - 1)),
        .name = in_lower_case(arena, last + 1, strlen(last + 1)),
        .value = is_unknown ? "" : word->text};
    struct follower inner = *follower;
    inner.command = said_by(follower, setting);
    inner.depth++;
    bool is_too_deep = inner.depth > DEEPEST_INCLUDE;
    if ((is_unknown || is_too_deep) && git_setting_value(&given) != GIT_VALUE_PLAIN)
        leave_unfollowed(&inner, &given);
    else if (!is_too_deep)
        follow_setting(&inner, &given);
}

static void follow_command(const struct follower *follower, const struct git_setting *setting)
{
    struct arena *arena = follower->fs->arena;
    const char *command = git_setting_command(setting);
    bool is_git_s = strcmp(setting->section, "alias") == 0 && *setting->value != '!';
    git_words words = {0};
    start_list starts = {0};
    if (strpbrk(command, " \t")) /* the path of a program may hold spaces */
        vec_push(&words, (struct git_word){.text = command});
    git_command_words(arena, is_git_s ? arena_printf(arena, "git %s", command) : command, &words);
    list_starts(follower, setting, &starts);
    vec_each (const struct git_word, word, &words) {
        if (word->key)
            follow_given(follower, setting, word);
        else
            follow_word(follower, setting, word, &starts);
    }
    vec_free(&starts);
    vec_free(&words);
}

static void follow_file(const struct follower *follower);

static void follow_include(const struct follower *follower, const struct git_setting *setting)
{
    const char *path,
        *start = start_of_value(follower, path_parent(follower->fs->arena, follower->config), setting, &path);
    if (!start)
        return;
    follow_path(follower, start, setting);
    struct follower included = *follower;
    included.config = path_clean(follower->fs->arena, start, path);
    included.depth++;
    if (follower->depth < DEEPEST_INCLUDE && ++*follower->included < MOST_INCLUDED)
        follow_file(&included);
}

static void follow_setting(const struct follower *follower, const struct git_setting *setting)
{
    switch (git_setting_value(setting)) {
    case GIT_VALUE_INCLUDE:
        follow_include(follower, setting);
        break;
    case GIT_VALUE_HOOKS:
        follow_hooks_path(follower, setting);
        break;
    case GIT_VALUE_PATH:
        follow_path(follower, follower->owner->base, setting);
        break;
    case GIT_VALUE_COMMAND:
        follow_command(follower, setting);
        break;
    case GIT_VALUE_PLAIN:
        break;
    }
}

static void follow_settings(const struct follower *follower, const char *text, size_t size)
{
    git_setting_list settings = {0};
    if (git_setting_list_read(follower->fs->arena, text, size, &settings) < 0)
        return; /* git does not obey a file that it cannot read either */
    vec_each (const struct git_setting, setting, &settings)
        follow_setting(follower, setting);
    vec_free(&settings);
}

/* The text of a file of settings, which may lie behind links; paths in it begin where it was named. */
static bool read_settings(struct fsview *fs, const char *config, char **ret_text, size_t *ret_size)
{
    struct err ignored;
    const struct fs_place *place = NULL;
    return fs_resolve(fs, config, &place, &ignored) == 0 && place->kind == FILE_REGULAR &&
           fs_read(fs, place->real, CONFIG_LARGEST, ret_text, ret_size, &ignored) > 0;
}

static void follow_file(const struct follower *follower)
{
    char *text = NULL;
    size_t size = 0;
    if (read_settings(follower->fs, follower->config, &text, &size))
        follow_settings(follower, text, size);
}

void git_follow_user_config(struct fsview *fs, const struct git_owner *owners, size_t count,
                            const struct git_user *user, struct git_repo *repo)
{
    const char *const configs[] = {"/etc/gitconfig", path_join(fs->arena, user->config_home, "git/config"),
                                   path_join(fs->arena, user->home, ".gitconfig")};
    for (size_t i = 0; i < array_len(configs); i++) {
        char *text = NULL;
        size_t size = 0;
        if (!read_settings(fs, configs[i], &text, &size))
            continue;
        for (size_t j = 0; j < count; j++) {
            unsigned included = 0;
            follow_settings(&(struct follower){fs, &owners[j], configs[i], NULL, 0, &included, repo}, text,
                            size);
        }
    }
}

void git_follow_text(struct fsview *fs, const struct git_owner *owner, const char *config, const char *text,
                     size_t size, struct git_repo *repo)
{
    unsigned included = 0;
    follow_settings(&(struct follower){fs, owner, config, NULL, 0, &included, repo}, text, size);
}

void git_follow_config(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo)
{
    static const char *const names[] = {"config", "config.worktree"};
    for (size_t i = 0; i < array_len(names); i++) {
        const char *config = path_join(fs->arena, owner->git_dir, names[i]);
        unsigned included = 0;
        follow_file(&(struct follower){fs, owner, config, NULL, 0, &included, repo});
    }
    git_follow_own_hooks(fs, owner, repo);
}
