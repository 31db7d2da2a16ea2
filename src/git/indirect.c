#include "git/repo.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "git/config.h"

enum {
    CONFIG_LARGEST = 1024 * 1024,
    INDEX_LARGEST = 64 * 1024 * 1024,
    DEEPEST_INCLUDE = 4,
    INDEX_VERSION_AT = 7
};

/*
 * Does git track it, or something in it? The names in the index are plain text, but for version 4, which shortens them: there
 * the answer is yes. Freezing what git tracks would corrupt branches, so that in doubt it is flagged.
 */
static bool is_tracked(struct fsview *fs, const char *base, const char *git_dir, const char *path)
{
    char *index = NULL;
    size_t size = 0;
    struct err ignored;
    if (!path_is_beneath(path, base))
        return false;
    int found = fs_read(fs, path_join(fs->arena, git_dir, "index"), INDEX_LARGEST, &index, &size, &ignored);
    if (found == 0)
        return false;
    const char *name = path + strlen(base) + 1;
    return found < 0 || size <= INDEX_VERSION_AT || index[INDEX_VERSION_AT] == 4 ||
           memmem(index, size, name, strlen(name));
}

static void add_once(struct fsview *fs, const char *path, git_paths *paths)
{
    if (!text_is_among(path, paths->at, paths->count))
        vec_push(paths, arena_str(fs->arena, path));
}

/*
 * What lies in the git directory no honest work rewrites. In the work tree it depends on whether git itself does: a submodule's, or
 * the repository around it.
 */
static void add_target(struct fsview *fs, const struct git_owner *owner, const char *path,
                       struct git_repo *repo)
{
    bool in_tree = path_is_beneath(path, owner->tree) && !path_is_beneath(owner->base, path);
    bool in_git = path_is_beneath(path, owner->git_dir) && strcmp(path, owner->git_dir) != 0;
    bool is_git_s = in_tree && !in_git &&
                    (fs_kind(fs, path) == FILE_MISSING || is_tracked(fs, owner->base, owner->git_dir, path) ||
                     (repo->dirs.count && is_tracked(fs, owner->tree, repo->dirs.at[0], path)));
    if (is_git_s)
        add_once(fs, path, &repo->flagged);
    else if (in_tree || in_git)
        add_once(fs, path, &repo->whole);
}

static bool is_of_core(const struct git_setting *setting, const char *name)
{
    return strcmp(setting->section, "core") == 0 && !*setting->subsection && strcmp(setting->name, name) == 0;
}

/* What a setting names, from where it is meant; NULL where that is no file of a tree. */
static const char *named_path(struct arena *arena, const struct git_owner *owner, const char *config,
                              const struct git_setting *setting)
{
    const char *value = setting->value, *from = owner->base;
    if (strcmp(setting->section, "include") == 0 || strcmp(setting->section, "includeif") == 0) {
        from = path_parent(arena, config);
        value = strcmp(setting->name, "path") == 0 ? value : "";
    } else if (is_of_core(setting, "fsmonitor")) { /* a command: its program, unless that is on PATH */
        value = arena_copy(arena, value, strcspn(value, " \t"));
        value = strchr(value, '/') ? value : "";
    } else if (!is_of_core(setting, "hookspath")) {
        value = "";
    }
    if (text_starts_with(value, "~/") && owner->home) {
        from = owner->home;
        value += strlen("~/");
    }
    return *value && *value != '~' && strlen(value) < PATH_LONGEST ? path_clean(arena, from, value) : NULL;
}

static void follow(struct fsview *fs, const struct git_owner *owner, const char *config, unsigned depth,
                   struct git_repo *repo);

static void follow_text(struct fsview *fs, const struct git_owner *owner, const char *config,
                        const char *text, size_t size, unsigned depth, struct git_repo *repo)
{
    git_setting_list settings = {0};
    if (git_setting_list_read(fs->arena, text, size, &settings) < 0)
        return; /* git does not obey a file that it cannot read either */
    for (size_t i = 0; i < settings.count; i++) {
        const char *target = named_path(fs->arena, owner, config, &settings.at[i]);
        if (!target)
            continue;
        add_target(fs, owner, target, repo);
        if (text_starts_with(settings.at[i].section, "include") && depth < DEEPEST_INCLUDE)
            follow(fs, owner, target, depth + 1, repo);
    }
    vec_free(&settings);
}

static void follow(struct fsview *fs, const struct git_owner *owner, const char *config, unsigned depth,
                   struct git_repo *repo)
{
    char *text = NULL;
    size_t size = 0;
    struct err ignored;
    if (fs_read(fs, config, CONFIG_LARGEST, &text, &size, &ignored) > 0)
        follow_text(fs, owner, config, text, size, depth, repo);
}

void git_follow_user_config(struct fsview *fs, const struct git_owner *owner, const struct git_user *user,
                            struct git_repo *repo)
{
    const char *const configs[] = {"/etc/gitconfig", path_join(fs->arena, user->config_home, "git/config"),
                                   path_join(fs->arena, user->home, ".gitconfig")};
    for (size_t i = 0; i < array_len(configs); i++) {
        char *text = NULL;
        size_t size = 0;
        struct err ignored;
        const struct fs_place *place = NULL;
        /* Dotfiles are often links; paths in them begin where the link lies. */
        if (fs_resolve(fs, configs[i], &place, &ignored) == 0 && place->kind == FILE_REGULAR &&
            fs_read(fs, place->real, CONFIG_LARGEST, &text, &size, &ignored) > 0)
            follow_text(fs, owner, configs[i], text, size, 0, repo);
    }
}

void git_follow_text(struct fsview *fs, const struct git_owner *owner, const char *config, const char *text,
                     size_t size, struct git_repo *repo)
{
    follow_text(fs, owner, config, text, size, 0, repo);
}

void git_follow_config(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo)
{
    follow(fs, owner, path_join(fs->arena, owner->git_dir, "config"), 0, repo);
    follow(fs, owner, path_join(fs->arena, owner->git_dir, "config.worktree"), 0, repo);
}
