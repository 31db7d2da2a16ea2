#include "outside/wildcards.h"

#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/directories.h"

enum { MOST_MATCHES = 4096 };

int judge_in_role(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                  const char *file, enum judge_role role, struct err *err)
{
    struct judged judged = {.fd = -1};
    enum judge_kind kind = role == JUDGE_WORD ? JUDGE_FILE : JUDGE_PROGRAM;
    int found = role == JUDGE_AS_PROGRAM ? judge_program(trees, arena, path, file, &judged, err)
                                         : judge_open(trees, arena, file, kind, &judged, err);
    fd_close(judged.fd);
    return found < 0 ? -1 : 0;
}

/* A name of a pattern without its backslashes; NULL: it has a wildcard. */
static const char *plain_name(struct arena *arena, const char *name)
{
    char *plain = arena_str(arena, name), *to = plain;
    for (; *name; name++) {
        if (strchr("*?[", *name))
            return NULL;
        if (*name == '\\' && name[1])
            name++;
        *to++ = *name;
    }
    *to = '\0';
    return plain;
}

static int judge_rest(const struct wildcards *wildcards, const char *directory, const char *pattern,
                      unsigned *left, struct err *err);

/* Goes on below an entry whose name the wildcards match. */
static int judge_match(const struct wildcards *wildcards, const char *directory, const char *name,
                       const char *rest, unsigned *left, struct err *err)
{
    if (!*left)
        return err_set(err, "%s is not used: it matches too many files", wildcards->shown);
    --*left;
    return judge_rest(wildcards, arena_printf(wildcards->arena, "%s/%s", directory, name), rest, left, err);
}

/* A tree that is not there now, or that may not be listed. */
static int judge_trees(const struct wildcards *wildcards, const char *directory, const char *name,
                       const char *rest, unsigned *left, struct err *err)
{
    const char *real = directories_resolve(wildcards->arena, *directory ? directory : "/");
    vec_each (const struct written_tree, tree, &wildcards->trees->list) {
        if (!path_is_inside(tree->path, real))
            continue;
        const char *below = tree->path + strlen(real) + (real[1] != '\0');
        const char *next = arena_copy(wildcards->arena, below, strcspn(below, "/"));
        if (fnmatch(name, next, FNM_PERIOD) == 0 &&
            judge_match(wildcards, directory, next, rest, left, err) < 0)
            return -1;
    }
    return 0;
}

static int judge_entries(const struct wildcards *wildcards, const char *directory, const char *name,
                         const char *rest, unsigned *left, struct err *err)
{
    int trouble = 0;
    auto_dir DIR *entries = opendir(*directory ? directory : "/");
    for (const struct dirent *entry; entries && (entry = directories_next(entries, &trouble));) {
        if (fnmatch(name, entry->d_name, FNM_PERIOD) == 0 &&
            judge_match(wildcards, directory, entry->d_name, rest, left, err) < 0)
            return -1;
    }
    return trouble ? err_sys(err, trouble, "cannot read %s", directory) : 0;
}

/* The directory ends without a slash; "" is the root. */
static int judge_rest(const struct wildcards *wildcards, const char *directory, const char *pattern,
                      unsigned *left, struct err *err)
{
    enum judge_role around = wildcards->role == JUDGE_WORD ? JUDGE_WORD : JUDGE_SCRIPT;
    pattern += strspn(pattern, "/");
    size_t size = strcspn(pattern, "/");
    const char *name = arena_copy(wildcards->arena, pattern, size), *rest = pattern + size;
    const char *plain = plain_name(wildcards->arena, name);
    if (!size)
        return judge_in_role(wildcards->trees, wildcards->arena, wildcards->path, directory, wildcards->role,
                             err);
    if (plain)
        return judge_rest(wildcards, arena_printf(wildcards->arena, "%s/%s", directory, plain), rest, left,
                          err);
    if (judge_in_role(wildcards->trees, wildcards->arena, wildcards->path, directory, around, err) < 0 ||
        judge_trees(wildcards, directory, name, rest, left, err) < 0)
        return -1;
    return judge_entries(wildcards, directory, name, rest, left, err);
}

int wildcards_judge(const struct wildcards *wildcards, const char *directory, const char *pattern,
                    struct err *err)
{
    unsigned left = MOST_MATCHES;
    bool is_whole = *pattern == '/' || strcmp(directory, "/") == 0;
    return judge_rest(wildcards, is_whole ? "" : directory, pattern, &left, err);
}
