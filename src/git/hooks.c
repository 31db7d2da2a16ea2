#include <string.h>

#include "base/path.h"
#include "git/config.h"
#include "git/obeyed.h"

enum { MOST_HOOKS = 4096 };

/* A hook that is a link: what it leads to is what git runs. A directory cannot be run. */
static void follow_hook(struct fsview *fs, const struct git_owner *owner, const char *directory,
                        const char *name, const char *because, struct git_repo *repo)
{
    struct git_trail trail;
    git_trail_follow(fs, directory, name, &trail);
    if (trail.kind != FILE_DIRECTORY)
        git_obeyed_add(fs, owner, &trail, because, repo);
    vec_free(&trail.links);
}

/*
 * Every name of a hook in a directory that holds other things, too: the top of the work tree, or what lies around it. The rest of such a
 * directory is not git's.
 */
static void follow_names(struct fsview *fs, const struct git_owner *owner, const char *directory,
                         const char *because, struct git_repo *repo)
{
    for (const char *const *name = git_hook_names; *name; name++)
        follow_hook(fs, owner, directory, *name, because, repo);
}

/*
 * The directory itself is frozen or flagged as a whole; its links lead elsewhere. Where not all can be
 * listed, git's names are asked for.
 */
static void follow_links(struct fsview *fs, const struct git_owner *owner, const char *directory,
                         struct git_repo *repo)
{
    fs_names names = {0};
    if (!fs_list_links(fs, directory, MOST_HOOKS, &names))
        follow_names(fs, owner, directory, git_obeyed_name(fs, owner, directory), repo);
    for (size_t i = 0; i < names.count; i++) {
        const char *hook = path_join(fs->arena, directory, names.at[i]);
        follow_hook(fs, owner, directory, names.at[i], git_obeyed_name(fs, owner, hook), repo);
    }
    vec_free(&names);
}

void git_follow_hooks(struct fsview *fs, const struct git_owner *owner, const char *from, const char *path,
                      const char *because, struct git_repo *repo)
{
    struct git_trail trail;
    git_trail_follow(fs, from, path, &trail);
    bool is_around = path_is_beneath(owner->base, trail.end) || path_is_beneath(owner->git_dir, trail.end);
    bool is_frozen = !because && !trail.links.count; /* the git directory's own */
    const char *led = because ? because : git_obeyed_name(fs, owner, path_join(fs->arena, from, path));
    if (is_around)
        trail.kind = FILE_LINK; /* only the links on the way count as a whole */
    if (!is_frozen)
        git_obeyed_add(fs, owner, &trail, led, repo);
    if (is_around)
        follow_names(fs, owner, trail.end, led, repo);
    else if (trail.kind == FILE_DIRECTORY)
        follow_links(fs, owner, trail.end, repo);
    vec_free(&trail.links);
}

void git_follow_own_hooks(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo)
{
    git_follow_hooks(fs, owner, owner->git_dir, "hooks", NULL, repo);
}
