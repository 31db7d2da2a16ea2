#include "git/obeyed.h"

#include <string.h>

#include "base/path.h"
#include "git/index.h"
#include "git/judge.h"

enum { INDEX_LARGEST = 256 * 1024 * 1024 };

struct index_text {
    int found; /* as fs_read() says */
    char *bytes;
    size_t size;
};

static const struct index_text *index_of(struct fsview *fs, const char *file, struct git_repo *repo)
{
    void **slot = map_at(&repo->indexes, file, strlen(file));
    if (!*slot) {
        struct index_text *text = arena_new(fs->arena, struct index_text);
        struct err ignored;
        text->found = fs_read(fs, file, INDEX_LARGEST, &text->bytes, &text->size, &ignored);
        *slot = text;
    }
    return *slot;
}

/*
 * Does git track it, or something in it? The index says so, which a command can write: what it adds there is flagged then, and hold/seek.c
 * does not take a version of it for an old one unless that is checked out. An index that is not understood tracks nothing: what it names
 * is frozen.
 */
static bool is_tracked(struct fsview *fs, const char *base, const char *git_dir, const char *path,
                       struct git_repo *repo)
{
    if (!path_is_inside(path, base))
        return false;
    const char *file = path_join(fs->arena, git_dir, "index");
    for (int i = 0; i < 2; i++) { /* a split index is the difference to another */
        struct git_position shared;
        const struct index_text *index = index_of(fs, file, repo);
        if (index->found <= 0)
            return false;
        enum git_tracked tracked = git_index_tracks((const unsigned char *)index->bytes, index->size,
                                                    path + strlen(base) + 1, &shared);
        if (tracked == GIT_TRACKED || tracked == GIT_TRACKED_UNKNOWN || !*shared.digits)
            return tracked == GIT_TRACKED;
        file = arena_printf(fs->arena, "%s/sharedindex.%s", git_dir, shared.digits);
    }
    return false;
}

/* A command can plant many: each is looked up, not searched for. */
static void add_once(struct fsview *fs, const struct git_obeyed *obeyed, bool is_flagged,
                     struct git_repo *repo)
{
    const char *key =
        arena_printf(fs->arena, "%c%c%s", is_flagged ? 'f' : 'w', obeyed->is_link ? 'l' : 'p', obeyed->path);
    void **slot = map_at(&repo->known, key, strlen(key));
    if (*slot)
        return;
    *slot = repo;
    if (is_flagged)
        vec_push(&repo->flagged, *obeyed);
    else
        vec_push(&repo->whole, *obeyed);
}

/*
 * What lies in the git directory no honest work rewrites. In the work tree it depends on whether git itself does: a submodule's, or
 * the repository around it.
 */
static void add_target(struct fsview *fs, const struct git_owner *owner, const struct git_obeyed *obeyed,
                       bool is_missing, struct git_repo *repo)
{
    const char *path = obeyed->path;
    bool in_git = path_is_inside(path, owner->git_dir);
    if ((in_git && git_is_control(path + strlen(owner->git_dir) + 1)) || path_is_beneath(owner->base, path))
        return; /* frozen already, or more than a program */
    bool is_git_s =
        !in_git && (is_missing || is_tracked(fs, owner->base, owner->git_dir, path, repo) ||
                    (repo->dirs.count && is_tracked(fs, owner->tree, repo->dirs.at[0], path, repo)));
    add_once(fs, obeyed, is_git_s, repo);
}

const char *git_obeyed_name(struct fsview *fs, const struct git_owner *owner, const char *path)
{
    bool is_below = path_is_inside(path, owner->tree) && owner->tree[1];
    return is_below ? path + strlen(owner->tree) + 1 : arena_str(fs->arena, path);
}

void git_obeyed_add(struct fsview *fs, const struct git_owner *owner, const struct git_trail *trail,
                    const char *because, struct git_repo *repo)
{
    for (size_t i = 0; i < trail->links.count; i++)
        add_target(fs, owner, &(struct git_obeyed){trail->links.at[i], because, .is_link = true}, false,
                   repo);
    if (trail->kind != FILE_LINK)
        add_target(fs, owner,
                   &(struct git_obeyed){trail->end, because, .is_directory = trail->kind == FILE_DIRECTORY},
                   trail->kind == FILE_MISSING, repo);
}

void git_obeyed_follow(struct fsview *fs, const struct git_owner *owner, const char *from, const char *path,
                       const char *because, struct git_repo *repo)
{
    struct git_trail trail;
    git_trail_follow(fs, from, path, &trail);
    git_obeyed_add(fs, owner, &trail, because, repo);
    vec_free(&trail.links);
}
