#include "cli/commits.h"

#include "base/map.h"
#include "base/path.h"
#include "policy/decide.h"

enum { MOST_COMMITS_NAMED = 5, MOST_FILES_NAMED = 3, SHORT_HASH = 10 };

/* The paths of the session's own changes that are risky. */
static void find_risky(const struct patch *patch, const decision_list *decisions, struct map *ret_paths)
{
    vec_each (const struct decision, decision, decisions) {
        const struct change *change = &decision->judged.change;
        reason_list reasons = {0};
        if (!arrivals_concern(change->path))
            patch_reasons(patch, change, &reasons);
        if (reasons.count)
            *map_at(ret_paths, change->path, strlen(change->path)) = ret_paths;
        vec_free(&reasons);
    }
}

static bool needs_approval(const struct patch *patch, const struct map *risky, const char *file)
{
    const struct policy *policy = patch->policy;
    if (!*file || map_get(risky, file, strlen(file)))
        return *file;
    if (policy->workspaces.count == 0)
        return false;
    struct path_verdict verdict =
        decide_path(policy, path_join(patch->arena, policy->workspaces.at[0].path, file), NULL);
    return verdict.access == ACCESS_FROZEN || verdict.flagged_by;
}

/* "1234567890 (CLAUDE.md, .envrc)", or NULL if no file of it needs approval. */
static const char *name_commit(const struct patch *patch, const struct map *risky,
                               const struct new_commit *commit)
{
    const char *files = "";
    size_t count = 0;
    for (size_t i = 0; i < commit->files.count; i++) {
        if (needs_approval(patch, risky, commit->files.at[i]) && count++ < MOST_FILES_NAMED)
            files = arena_printf(patch->arena, "%s%s%s", files, *files ? ", " : "", commit->files.at[i]);
    }
    if (!count)
        return NULL;
    const char *more =
        count > MOST_FILES_NAMED ? arena_printf(patch->arena, " and %zu more", count - MOST_FILES_NAMED) : "";
    return arena_printf(patch->arena, "%.*s (%s%s)", SHORT_HASH, commit->name, files, more);
}

const char *commits_reason(const struct patch *patch, const struct arrivals *arrivals,
                           const decision_list *decisions)
{
    if (!arrivals->are_asked_for)
        return NULL;
    if (arrivals->found.unchecked)
        return arena_printf(patch->arena, "its commits could not be checked: %s", arrivals->found.unchecked);
    struct map risky = {0};
    const char *named = "";
    size_t count = 0;
    find_risky(patch, decisions, &risky);
    vec_each (const struct new_commit, commit, &arrivals->found.commits) {
        const char *name = name_commit(patch, &risky, commit);
        if (name && count++ < MOST_COMMITS_NAMED)
            named = arena_printf(patch->arena, "%s%s%s", named, *named ? ", " : "", name);
    }
    map_free(&risky);
    if (!count)
        return NULL;
    const char *more = count > MOST_COMMITS_NAMED
                           ? arena_printf(patch->arena, " and %zu more", count - MOST_COMMITS_NAMED)
                           : "";
    return arena_printf(patch->arena, "its commits change files that wait for your word: %s%s", named, more);
}
