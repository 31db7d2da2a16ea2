/* Repositories inside a workspace. A run does not look for them; who asks about a path of theirs hears what git would run there. */
#include <string.h>

#include "base/path.h"
#include "policy/compose.h"
#include "policy/decide.h"

static const struct git_repo *repository_at(const struct policy *policy, const char *directory)
{
    void **slot = map_at(policy->nested, directory, strlen(directory));
    if (!*slot) {
        const struct git_user user = {policy->request.home, policy->request.starts[START_CONFIG]};
        struct git_repo *repo = arena_new(policy->arena, struct git_repo);
        git_find(policy->request.fs, directory, &user, repo);
        *slot = repo;
    }
    return *slot;
}

static const struct git_obeyed *find_obeyed(const git_obeyed_list *list, const char *path)
{
    vec_each (const struct git_obeyed, obeyed, list) {
        bool is_meant =
            obeyed->is_link ? strcmp(path, obeyed->path) == 0 : path_is_beneath(path, obeyed->path);
        if (is_meant && obeyed->because)
            return obeyed;
    }
    return NULL;
}

/* The workspace around the path, or NULL. */
static const char *workspace_of(const struct policy *policy, const char *path)
{
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (path_is_inside(path, workspace->path))
            return workspace->path;
    }
    return NULL;
}

const char *decide_nested_cause(const struct policy *policy, const char *path)
{
    const char *workspace = workspace_of(policy, path);
    for (size_t size = path_parent_size(path, strlen(path)); workspace && size > strlen(workspace);
         size = path_parent_size(path, size)) {
        const char *directory = arena_copy(policy->arena, path, size);
        if (!git_is_root(policy->request.fs, directory))
            continue;
        const struct git_repo *repo = repository_at(policy, directory);
        const struct git_obeyed *obeyed = find_obeyed(&repo->whole, path);
        obeyed = obeyed ? obeyed : find_obeyed(&repo->flagged, path);
        if (obeyed)
            return arena_printf(policy->arena, "%s of %s", obeyed->because,
                                directory + strlen(workspace) + 1);
    }
    return NULL;
}

void nested_free(struct policy *policy)
{
    for (size_t i = 0; policy->nested && i < policy->nested->capacity; i++) {
        if (policy->nested->slots[i].value)
            git_repo_free(policy->nested->slots[i].value);
    }
    if (policy->nested)
        map_free(policy->nested);
}
