#include "git/indirect.h"

#include <string.h>

#include "base/path.h"
#include "git/running.h"

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
static bool is_tracked(struct fsview *fs, const char *root, const char *git_dir, const char *path)
{
    char *index = NULL;
    size_t size = 0;
    struct err ignored;
    int found = fs_read(fs, path_join(fs->arena, git_dir, "index"), INDEX_LARGEST, &index, &size, &ignored);
    if (found == 0)
        return false;
    const char *name = path + strlen(root) + 1;
    return found < 0 || size <= INDEX_VERSION_AT || index[INDEX_VERSION_AT] == 4 ||
           memmem(index, size, name, strlen(name));
}

static void add_once(struct fsview *fs, const char *path, git_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (strcmp(paths->at[i], path) == 0)
            return;
    }
    vec_push(paths, arena_str(fs->arena, path));
}

/* What lies in the git directory no honest work rewrites. In the work tree it depends on whether git itself does. */
static void add_target(struct fsview *fs, const char *root, const char *git_dir, const char *path,
                       struct git_repo *repo)
{
    bool in_tree = path_is_beneath(path, root) && strcmp(path, root) != 0;
    bool in_git = path_is_beneath(path, git_dir) && strcmp(path, git_dir) != 0;
    bool is_git_s =
        in_tree && !in_git && (fs_kind(fs, path) == FILE_MISSING || is_tracked(fs, root, git_dir, path));
    if (is_git_s)
        add_once(fs, path, &repo->flagged);
    else if (in_tree || in_git)
        add_once(fs, path, &repo->whole);
}

static void follow(struct fsview *fs, const char *root, const char *git_dir, const char *config,
                   unsigned depth, struct git_repo *repo)
{
    char *text = NULL;
    size_t size = 0;
    struct err ignored;
    git_setting_list settings = {0};
    if (fs_read(fs, config, CONFIG_LARGEST, &text, &size, &ignored) <= 0 ||
        git_setting_list_read(fs->arena, text, size, &settings) < 0)
        return; /* git does not obey a file that it cannot read either */
    for (size_t i = 0; i < settings.count; i++) {
        const struct git_setting *setting = &settings.at[i];
        bool is_include =
            (strcmp(setting->section, "include") == 0 || strcmp(setting->section, "includeif") == 0) &&
            strcmp(setting->name, "path") == 0;
        bool is_hooks = strcmp(setting->section, "core") == 0 && !*setting->subsection &&
                        strcmp(setting->name, "hookspath") == 0;
        if ((!is_include && !is_hooks) || !*setting->value || *setting->value == '~' ||
            strlen(setting->value) >= PATH_LONGEST)
            continue; /* the home is not in here */
        const char *from = is_include ? path_parent(fs->arena, config) : root;
        const char *target = path_clean(fs->arena, from, setting->value);
        add_target(fs, root, git_dir, target, repo);
        if (is_include && depth < DEEPEST_INCLUDE)
            follow(fs, root, git_dir, target, depth + 1, repo);
    }
    vec_free(&settings);
}

void git_follow_config(struct fsview *fs, const char *root, const char *git_dir, struct git_repo *repo)
{
    follow(fs, root, git_dir, path_join(fs->arena, git_dir, "config"), 0, repo);
    follow(fs, root, git_dir, path_join(fs->arena, git_dir, "config.worktree"), 0, repo);
}
