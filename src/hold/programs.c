#include "hold/flags.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/decide.h"
#include "workspace/compare.h"

/* git is asked about the first programs only; more of them count as new. */
enum { MOST_NAMED = 5, MOST_ASKED = 1000 };

struct named {
    const char *names; /* of the first few */
    size_t count;
};

static bool became_program(const struct policy *policy, const struct change *change)
{
    const struct entry *before = change->before, *after = change->after;
    return after && S_ISREG(after->mode) && after->mode & 0111 &&
           !(before && S_ISREG(before->mode) && before->mode & 0111) &&
           !decide_artifacts(policy, change->path, false) &&
           strncmp(change->path, ".git/", strlen(".git/")) != 0;
}

static void add_name(struct flags *flags, const char *workspace, const char *path, struct named *named)
{
    struct arena *arena = flags->hold->arena;
    bool is_first = flags->past.workspace && strcmp(workspace, flags->past.workspace) == 0;
    if (named->count++ < MOST_NAMED)
        named->names = arena_printf(arena, "%s%s%s", named->names, *named->names ? ", " : "",
                                    is_first ? path : path_join(arena, workspace, path));
}

static void add_sighting(struct flags *flags, const struct named *named, const char *one, const char *several,
                         const char *hint)
{
    const char *names = named->count <= MOST_NAMED ? named->names
                                                   : arena_printf(flags->hold->arena, "%s and %zu more",
                                                                  named->names, named->count - MOST_NAMED);
    if (named->count)
        flags_add_sighting(flags, (struct sighting){named->count == 1 ? one : several, names, hint});
}

static void look_for_new(struct flags *flags, const char *workspace, const change_list *changes)
{
    struct arena *arena = flags->hold->arena;
    file_contents contents = {0};
    VEC(struct version) found = {0};
    struct named named = {.names = ""};
    for (size_t i = 0; i < changes->count; i++) {
        if (!became_program(flags->hold->plan->policy, &changes->at[i]))
            continue;
        struct version version = {.path = arena_str(arena, changes->at[i].path)};
        size_t count = contents.count;
        if (found.count < MOST_ASKED)
            content_add(arena, path_join(arena, workspace, version.path), &contents);
        if (contents.count > count)
            version.content = contents.at[count].bytes;
        vec_push(&found, version);
    }
    versions_find(&flags->versions, workspace, found.at, found.count);
    for (size_t i = 0; i < found.count; i++) {
        if (!found.at[i].was_there)
            add_name(flags, workspace, found.at[i].path, &named);
    }
    add_sighting(flags, &named, "a new program", "new programs", NULL);
    vec_free(&contents);
    vec_free(&found);
}

/* Any user who runs such a file acts as this user: reported always, also in build directories. */
static void look_for_set_id(struct flags *flags, const char *workspace, const change_list *changes)
{
    struct named named = {.names = ""};
    vec_each (const struct change, change, changes) {
        if (change->after && entry_new_ids(change->before, change->after))
            add_name(flags, workspace, arena_str(flags->hold->arena, change->path), &named);
    }
    add_sighting(flags, &named, "a file that runs as its owner (set-id)",
                 "files that run as their owner (set-id)", "`chmod ug-s` removes that");
}

void programs_look(struct flags *flags, const char *workspace, const struct tree *start,
                   const struct tree *end)
{
    change_list changes = {0};
    compare_trees(start, end, &changes);
    look_for_new(flags, workspace, &changes);
    look_for_set_id(flags, workspace, &changes);
    vec_free(&changes);
}
