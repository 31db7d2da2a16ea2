#include "hold/nested.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "git/running.h"
#include "kernel/beneath.h"

/* A repository of the plan's is frozen: it is known, and nothing came new into what it runs. */
static bool is_known(const struct flags *flags, const char *git_dir)
{
    const struct policy *policy = flags->hold->plan->policy;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct git_repo *repo = &policy->workspaces.at[i].git;
        for (size_t j = 0; j < repo->dirs.count; j++) {
            if (strcmp(repo->dirs.at[j], git_dir) == 0)
                return true;
        }
        for (size_t j = 0; j < repo->links.count; j++) {
            if (strcmp(repo->links.at[j], git_dir) == 0)
                return true;
        }
    }
    return false;
}

static bool is_repository(int fd)
{
    struct stat status;
    return faccessat(fd, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0 && fstatat(fd, "objects", &status, 0) == 0 &&
           S_ISDIR(status.st_mode) && fstatat(fd, "refs", &status, 0) == 0 && S_ISDIR(status.st_mode);
}

/* All settings that run something, by name; NULL where there is none. */
static const char *running_settings(struct arena *arena, const struct file_content *config)
{
    git_setting_list settings = {0};
    const char *names = NULL;
    if (!config->bytes || git_setting_list_read(arena, config->bytes, config->size, &settings) < 0)
        return "something that is not understood";
    for (size_t i = 0; i < settings.count; i++) {
        if (git_setting_runs(&settings.at[i]))
            names = arena_printf(arena, "%s%s%s = %s", names ? names : "", names ? ", " : "",
                                 git_setting_name(arena, &settings.at[i]), settings.at[i].value);
    }
    vec_free(&settings);
    return names;
}

static void add_change(struct flags *flags, const struct file_content *content, const char *runs)
{
    struct file_content *now = arena_new(flags->hold->arena, struct file_content);
    *now = *content;
    vec_push(&flags->changes, (struct new_content){now, NULL, runs});
}

/* Its configuration where that runs something, and its hooks: each can be held aside without harm to the repository. */
static void look_inside(struct flags *flags, const char *git_dir)
{
    static const char *const configs[] = {"config", "config.worktree"};
    struct arena *arena = flags->hold->arena;
    file_contents found = {0};
    for (size_t i = 0; i < array_len(configs); i++)
        content_add(arena, path_join(arena, git_dir, configs[i]), &found);
    size_t config_count = found.count;
    content_add(arena, path_join(arena, git_dir, "hooks"), &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct file_content *content = &found.at[i];
        const char *runs = i < config_count ? running_settings(arena, content)
                           : content->mode & 0111 && !strstr(content->path, ".sample") ? "a hook"
                                                                                       : NULL;
        if (runs && flags_is_since(flags, content->changed))
            add_change(flags, content, runs);
    }
    vec_free(&found);
}

void nested_look(struct flags *flags, const char *git_dir)
{
    struct statx born;
    struct stat status;
    if (is_known(flags, git_dir) || lstat(git_dir, &status) < 0)
        return;
    auto_fd int fd = open_absolute(git_dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        /* A file or link that says where the repository is. */
        if (!S_ISDIR(status.st_mode) && flags_is_since(flags, status.st_ctim))
            vec_push(&flags->sightings, (struct sighting){"a new link to a git repository", git_dir});
        return;
    }
    if (!is_repository(fd))
        return;
    bool has_birth = statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &born) == 0 && born.stx_mask & STATX_BTIME;
    struct timespec birth = {.tv_sec = (time_t)born.stx_btime.tv_sec, .tv_nsec = born.stx_btime.tv_nsec};
    if (flags_is_since(flags, has_birth ? birth : status.st_ctim))
        vec_push(&flags->sightings, (struct sighting){"a new git repository", git_dir});
    look_inside(flags, git_dir);
}
