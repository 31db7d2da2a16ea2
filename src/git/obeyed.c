#include "git/obeyed.h"

#include <string.h>

#include "base/bytes.h"
#include "base/path.h"
#include "git/judge.h"

enum { INDEX_LARGEST = 64 * 1024 * 1024, INDEX_VERSION_AT = 7 };

struct index_text {
    int found; /* as fs_read() says */
    char *bytes;
    size_t size;
};

static const struct index_text *index_of(struct fsview *fs, const char *git_dir, struct git_repo *repo)
{
    void **slot = map_at(&repo->indexes, git_dir, strlen(git_dir));
    if (!*slot) {
        struct index_text *text = arena_new(fs->arena, struct index_text);
        struct err ignored;
        text->found = fs_read(fs, path_join(fs->arena, git_dir, "index"), INDEX_LARGEST, &text->bytes,
                              &text->size, &ignored);
        *slot = text;
    }
    return *slot;
}

/* Does the name stand in the index, as a whole or as a directory? What precedes it there is not looked at. */
static bool has_name(const struct index_text *index, const char *name)
{
    size_t size = strlen(name);
    const char *at = index->bytes, *end = index->bytes + index->size;
    while ((at = memmem(at, (size_t)(end - at), name, size))) {
        at += size;
        if (at == end || *at == '\0' || *at == '/')
            return true;
    }
    return false;
}

/*
 * Does git track it, or something in it? The names in the index are plain text, but for version 4, which shortens them: there
 * the answer is yes. Freezing what git tracks would corrupt branches, so that in doubt it is flagged.
 */
static bool is_tracked(struct fsview *fs, const char *base, const char *git_dir, const char *path,
                       struct git_repo *repo)
{
    if (!path_is_inside(path, base))
        return false;
    const struct index_text *index = index_of(fs, git_dir, repo);
    return index->found != 0 &&
           (index->found < 0 || index->size <= INDEX_VERSION_AT || index->bytes[INDEX_VERSION_AT] == 4 ||
            has_name(index, path + strlen(base) + 1));
}

static bool is_known(const git_obeyed_list *list, const struct git_obeyed *wanted)
{
    vec_each (const struct git_obeyed, obeyed, list) {
        if (obeyed->is_link == wanted->is_link && strcmp(obeyed->path, wanted->path) == 0)
            return true;
    }
    return false;
}

static void add_once(const struct git_obeyed *obeyed, git_obeyed_list *list)
{
    if (!is_known(list, obeyed))
        vec_push(list, *obeyed);
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
    add_once(obeyed, is_git_s ? &repo->flagged : &repo->whole);
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
