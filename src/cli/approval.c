#include "cli/approval.h"
#include "cli/answer.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/say.h"
#include "git/refs.h"
#include "git/repo.h"
#include "policy/decide.h"

enum { MOST_COMMITS_NAMED = 5, MOST_FILES_NAMED = 3, SHORT_HASH = 10, APPROVED_LARGEST = 64 * 1024 * 1024 };

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

/* Has the commit the file exactly as the person was shown it and took it? */
static bool is_taken(const struct approval *approval, const struct new_commit *commit, size_t number)
{
    const char *file = commit->files.at[number], *content = commit->contents.at[number];
    const struct change *change = approval ? map_get(&approval->taken, file, strlen(file)) : NULL;
    const struct entry *after = change ? change->after : NULL;
    if (!after)
        return change && text_starts_with(content, "000000 ");
    const char *mode = S_ISLNK(after->mode) ? "120000 " : (after->mode & S_IXUSR) ? "100755 " : "100644 ";
    const char *hash = content + strlen(mode);
    auto_buf struct buf bytes = {0};
    struct err ignored;
    if (!text_starts_with(content, mode))
        return false;
    if (S_ISLNK(after->mode))
        return git_object_is("blob", bytes_of(after->target, strlen(after->target)), hash, strlen(hash));
    return S_ISREG(after->mode) && after->content == CONTENT_STORED &&
           store_read(approval->patch.store, &after->blob, APPROVED_LARGEST, &bytes, &ignored) > 0 &&
           git_object_is("blob", bytes_of(buf_text(&bytes), bytes.size), hash, strlen(hash));
}

/* "1234567890 (CLAUDE.md, .envrc)", or NULL if no file of it needs approval. */
static const char *name_commit(const struct patch *patch, const struct approval *approval,
                               const struct map *risky, const struct new_commit *commit)
{
    const char *files = "";
    size_t count = 0;
    for (size_t i = 0; i < commit->files.count; i++) {
        if (is_marked(patch, risky, commit->files.at[i]) && !is_taken(approval, commit, i) &&
            count++ < MOST_FILES_NAMED)
            files = arena_printf(patch->arena, "%s%s%s", files, *files ? ", " : "", commit->files.at[i]);
    }
    if (!count)
        return NULL;
    const char *more =
        count > MOST_FILES_NAMED ? arena_printf(patch->arena, " and %zu more", count - MOST_FILES_NAMED) : "";
    return arena_printf(patch->arena, "%.*s (%s%s)", SHORT_HASH, commit->name, files, more);
}

static const char *reason_of_commits(const struct patch *patch, const struct approval *approval,
                                     const struct arrivals *arrivals, const decision_list *decisions)
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
        const char *name = name_commit(patch, approval, &risky, commit);
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

const char *approval_reason_of_commits(const struct patch *patch, const struct arrivals *arrivals,
                                       const decision_list *decisions)
{
    return reason_of_commits(patch, NULL, arrivals, decisions);
}

const char *approval_commit_of(struct arena *arena, const struct arrivals *arrivals, const char *path)
{
    const struct new_commits *found = &arrivals->found;
    vec_each (const struct new_commit, commit, &found->commits) {
        if (text_is_among(path, commit->files.at, commit->files.count))
            return arena_printf(arena, "the commit %.*s changes it", SHORT_HASH, commit->name);
    }
    return found->unchecked ? "the commits could not be checked" : NULL;
}

/* A path has one decision: commits that would bring what the person has just left out wait, too. NULL: none would. */
static const char *reason_of_left(const struct approval *approval, const struct arrivals *arrivals,
                                  const decision_list *decisions)
{
    struct arena *arena = approval->patch.arena;
    vec_each (const struct decision, decision, decisions) {
        const char *path = decision->judged.change.path;
        const char *why =
            map_get(&approval->left, path, strlen(path)) ? approval_commit_of(arena, arrivals, path) : NULL;
        if (why)
            return arena_printf(arena, "you left out %s, and %s", path, why);
    }
    return NULL;
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
    struct approval *approval = context;
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
        bool is_yes = ask(world, "Apply this anyway?");
        *map_at(is_yes ? &approval->taken : &approval->left, change->path, strlen(change->path)) =
            (void *)change;
        if (is_yes)
            return NULL;
    }
    return arena_printf(patch->arena, "could run on your machine: %s (%s)", reasons.at[0],
                        approval->override);
}

/* Not asked about what the person was asked about as a file, unless a commit has it with another content. */
const char *approval_of_commits(void *context, const struct arrivals *arrivals,
                                const decision_list *decisions)
{
    const struct approval *approval = context;
    const struct world *world = approval->world;
    const char *left = arrivals->are_asked_for ? reason_of_left(approval, arrivals, decisions) : NULL;
    const char *why = left ? left : reason_of_commits(&approval->patch, approval, arrivals, decisions);
    if (!why || left)
        return left;
    if (world->in_is_terminal && world->out_is_terminal) {
        auto_buf struct buf shown = {0};
        style_add(&approval->patch.style, &shown, COLOUR_YELLOW, "! the repository: ");
        style_add(&approval->patch.style, &shown, COLOUR_YELLOW, why);
        buf_add_char(&shown, '\n');
        put(world->out, &shown);
        if (ask(world, "Apply the commits anyway?"))
            return NULL;
    }
    return arena_printf(approval->patch.arena, "needs your approval: %s (%s)", why, approval->override);
}

void approval_free(struct approval *approval)
{
    map_free(&approval->taken);
    map_free(&approval->left);
}
