/* Finds the folder of Claude Code's settings, history and login, which the user's CLAUDE_CONFIG_DIR names. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/compose.h"

/*
 * Why the folder cannot be used; NULL: it can. What is copied into the private home must come from the home. A login in the workspace
 * would be readable inside, beside its placeholders.
 */
static const char *problem_with(const struct policy *policy, const struct fs_place *place)
{
    const char *home = policy->request.home;
    if (!path_is_beneath(place->real, home) || strcmp(place->real, home) == 0)
        return "is not a directory below your home";
    if (place->kind != FILE_DIRECTORY && place->kind != FILE_MISSING)
        return "is not a directory";
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (path_is_beneath(place->real, workspace->path))
            return "is in the workspace";
        if (path_is_beneath(workspace->path, place->real))
            return "contains the workspace";
    }
    return NULL;
}

void find_agent_folder(struct policy *policy)
{
    struct policy_request *request = &policy->request;
    const char *value = text_variable(request->environment, "CLAUDE_CONFIG_DIR");
    const struct fs_place *place = NULL;
    struct err ignored;
    request->starts[START_CLAUDE] = path_join(policy->arena, request->home, ".claude");
    request->starts[START_CLAUDE_STATE] = request->home;
    if (!value || !*value)
        return;
    if (*value != '/')
        policy->folder_problem = "is not an absolute path";
    else if (fs_resolve(request->fs, path_clean(policy->arena, "/", value), &place, &ignored) < 0)
        policy->folder_problem = "cannot be followed";
    else
        policy->folder_problem = problem_with(policy, place);
    if (!policy->folder_problem)
        request->starts[START_CLAUDE] = request->starts[START_CLAUDE_STATE] = place->real;
}
