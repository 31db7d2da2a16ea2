#include "git/trail.h"

#include <string.h>

#include "base/path.h"

/* Takes the first name of the rest of a path. "" where nothing but slashes is left. */
static const char *next_name(struct arena *arena, const char **rest)
{
    *rest += strspn(*rest, "/");
    size_t size = strcspn(*rest, "/");
    const char *name = arena_copy(arena, *rest, size);
    *rest += size;
    return name;
}

static const char *step(struct arena *arena, const char *at, const char *name)
{
    if (!*name || strcmp(name, ".") == 0)
        return at;
    if (strcmp(name, "..") != 0)
        return path_join(arena, at, name);
    const char *parent = path_parent(arena, at);
    return *parent ? parent : "/";
}

void git_trail_follow(struct fsview *fs, const char *from, const char *path, struct git_trail *ret_trail)
{
    struct git_trail trail = {.end = *path == '/' ? "/" : from, .kind = FILE_DIRECTORY};
    const char *rest = path;
    while (*rest) {
        const char *next = step(fs->arena, trail.end, next_name(fs->arena, &rest));
        if (strlen(next) >= PATH_LONGEST)
            break; /* the kernel would not take it */
        trail.kind = fs_kind(fs, next);
        const char *target = trail.kind == FILE_LINK ? fs_link_target(fs, next) : NULL;
        if (trail.kind == FILE_LINK)
            vec_push(&trail.links, next);
        if (!target || trail.links.count > GIT_TRAIL_MOST_LINKS) {
            trail.end = next;
            if (trail.kind == FILE_LINK)
                break;
            continue;
        }
        trail.end = *target == '/' ? "/" : trail.end;
        rest = arena_printf(fs->arena, "%s/%s", target, rest);
    }
    *ret_trail = trail;
}
