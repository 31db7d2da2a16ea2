#include "hold/programs.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/decide.h"
#include "workspace/compare.h"

enum { MOST_NAMED = 5, MOST_ASKED = 1000 };

static bool became_program(const struct policy *policy, const struct change *change)
{
    const struct entry *before = change->before, *after = change->after;
    return after && S_ISREG(after->mode) && after->mode & 0111 &&
           !(before && S_ISREG(before->mode) && before->mode & 0111) &&
           !decide_artifacts(policy, change->path, false) &&
           strncmp(change->path, ".git/", strlen(".git/")) != 0;
}

void programs_look(struct flags *flags, const char *workspace, const struct tree *start,
                   const struct tree *end)
{
    struct arena *arena = flags->hold->arena;
    change_list changes = {0};
    file_contents contents = {0};
    VEC(struct version) found = {0};
    compare_trees(start, end, &changes);
    for (size_t i = 0; i < changes.count && found.count < MOST_ASKED; i++) {
        if (!became_program(flags->hold->plan->policy, &changes.at[i]))
            continue;
        const char *path = arena_str(arena, changes.at[i].path);
        size_t count = contents.count;
        content_add(arena, path_join(arena, workspace, path), &contents);
        const struct file_content *now = contents.count > count ? &contents.at[count] : NULL;
        vec_push(&found, (struct version){path, now && now->bytes ? now->bytes : "", now ? now->size : 0});
    }
    versions_find(&flags->versions, workspace, found.at, found.count);
    const char *names = "";
    size_t count = 0;
    bool is_first = flags->past.workspace && strcmp(workspace, flags->past.workspace) == 0;
    for (size_t i = 0; i < found.count; i++) {
        if (!found.at[i].was_there && count++ < MOST_NAMED)
            names = arena_printf(arena, "%s%s%s", names, *names ? ", " : "",
                                 is_first ? found.at[i].path : path_join(arena, workspace, found.at[i].path));
    }
    if (count > MOST_NAMED)
        names = arena_printf(arena, "%s and %zu more", names, count - MOST_NAMED);
    if (count)
        flags_add_sighting(flags, (struct sighting){count == 1 ? "a new program" : "new programs", names});
    vec_free(&changes);
    vec_free(&contents);
    vec_free(&found);
}
