#include "cli/approval.h"
#include "cli/answer.h"

#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/path.h"
#include "cli/say.h"
#include "git/repo.h"
#include "policy/decide.h"

enum { MOST_COMMITS_NAMED = 5, MOST_FILES_NAMED = 3, SHORT_HASH = 10 };

/* The paths of the session's own changes that are risky. */
static void find_risky(const struct patch *patch, const decision_list *decisions, struct map *ret_paths)
{
    vec_each (const struct decision, decision, decisions) {
        const struct change *change = &decision->judged.change;
        if (arrivals_concern(change->path))
            continue;
        auto_vec gate_reasons reasons = patch_reasons(patch, change);
        if (reasons.count)
            *map_at(ret_paths, change->path, strlen(change->path)) = ret_paths;
    }
}

static bool is_marked(const struct patch *patch, const struct map *risky, const char *file)
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
        if (is_marked(patch, risky, commit->files.at[i]) && count++ < MOST_FILES_NAMED)
            files = arena_printf(patch->arena, "%s%s%s", files, *files ? ", " : "", commit->files.at[i]);
    }
    if (!count)
        return NULL;
    const char *more =
        count > MOST_FILES_NAMED ? arena_printf(patch->arena, " and %zu more", count - MOST_FILES_NAMED) : "";
    return arena_printf(patch->arena, "%.*s (%s%s)", SHORT_HASH, commit->name, files, more);
}

const char *approval_reason_of_commits(const struct patch *patch, const struct arrivals *arrivals,
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
    return arena_printf(patch->arena, "its commits change files that need your approval: %s%s", named, more);
}

/* Would a live run leave it as it is? */
static bool is_left_by_live_run(const struct approval *approval, const struct change *change)
{
    const struct map none = {0};
    if (!approval->known)
        return false;
    if (!git_directory_size(change->path) && !is_marked(&approval->patch, &none, change->path))
        return true;
    const struct entry *before = tree_find(approval->known, change->path);
    const struct entry *after = change->after;
    return before && after && before->mode == after->mode && strcmp(before->target, after->target) == 0 &&
           (!S_ISREG(after->mode) || (before->content == CONTENT_STORED && after->content == CONTENT_STORED &&
                                      memcmp(&before->blob, &after->blob, sizeof(before->blob)) == 0));
}

const char *approval_of_change(void *context, const struct change *change)
{
    const struct approval *approval = context;
    const struct world *world = approval->world;
    const struct patch *patch = &approval->patch;
    if (is_left_by_live_run(approval, change))
        return NULL;
    auto_vec gate_reasons reasons = patch_reasons(patch, change);
    if (!reasons.count)
        return NULL;
    if (world->in_is_terminal && world->out_is_terminal) {
        auto_buf struct buf shown = {0};
        patch_add_diff(patch, change, &shown);
        put(world->out, &shown);
        if (ask(world, "Apply this anyway?"))
            return NULL;
    }
    return arena_printf(patch->arena, "risky, because: %s (%s)", reasons.at[0], approval->override);
}

/* Asked whatever was said of the files: a commit may have them with another content. */
const char *approval_of_commits(void *context, const struct arrivals *arrivals,
                                const decision_list *decisions)
{
    const struct approval *approval = context;
    const struct world *world = approval->world;
    const char *why = approval_reason_of_commits(&approval->patch, arrivals, decisions);
    if (!why)
        return NULL;
    if (world->in_is_terminal && world->out_is_terminal) {
        auto_buf struct buf shown = {0};
        style_add(&approval->patch.style, &shown, COLOUR_YELLOW, "! the repository: ");
        style_add(&approval->patch.style, &shown, COLOUR_YELLOW, why);
        buf_add_char(&shown, '\n');
        put(world->out, &shown);
        if (ask(world, "Apply the commits anyway?"))
            return NULL;
    }
    return arena_printf(approval->patch.arena, "risky, because: %s (%s)", why, approval->override);
}
