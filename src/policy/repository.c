/* The policies of repositories: read through no symlink, bounded, and only allowed to tighten until trusted. */
#include <string.h>

#include "base/path.h"
#include "policy/compose.h"
#include "policy/parse.h"

enum { REPOSITORY_RULES_MOST = 2000, REPOSITORY_PATTERNS_MOST = 256 };

/* Bounds what an untrusted policy may cost. */
static void check_size(const struct policy *policy, const struct source *source, struct diags *diags)
{
    size_t rules = 0, patterns = 0;
    vec_each (const struct rule, rule, &policy->rules) {
        rules += rule->source == source;
        patterns +=
            rule->source == source && verb_object(rule->verb) == OBJECT_PATH && rule->path.has_wildcard;
    }
    if (rules > REPOSITORY_RULES_MOST || patterns > REPOSITORY_PATTERNS_MOST)
        diag_error(diags, (struct spot){.source = source}, "name directories instead",
                   "a repository may have %d rules and %d patterns", REPOSITORY_RULES_MOST,
                   REPOSITORY_PATTERNS_MOST);
}

/* Opens the .bawn of a directory. A symlink is not followed, because a commit can bring one. Returns NULL if there is none. */
static struct source *open_repository(struct policy *policy, const char *directory, size_t workspace,
                                      struct diags *diags)
{
    struct source *source = arena_new(policy->arena, struct source);
    *source = (struct source){
        .name = path_join(policy->arena, directory, ".bawn"),
        .layer = LAYER_REPOSITORY,
        .asked_by = LAYER_REPOSITORY,
        .workspace = workspace,
        .start = directory,
        .only_tightens = true,
    };
    struct err err;
    char *text = NULL;
    int found = fs_read(policy->request.fs, source->name, POLICY_LARGEST, &text, &source->size, &err);
    if (found < 0)
        diag_error(diags, (struct spot){.source = source}, "make it a regular file, or remove it", "%s",
                   err.message);
    source->text = text;
    return found > 0 ? source : NULL;
}

void read_repository(struct policy *policy, size_t index, struct diags *diags)
{
    struct workspace *workspace = &policy->workspaces.at[index];
    const struct policy_request *request = &policy->request;
    struct source *source = open_repository(policy, workspace->path, index, diags);
    if (!source)
        return;
    workspace->own_policy = source;
    workspace->is_trusted =
        request->is_trusted &&
        request->is_trusted(request->trust_context, workspace->path, source->text, source->size);
    source->only_tightens = !workspace->is_trusted;
    compose_source(policy, source, diags);
    check_size(policy, source, diags);
}

/* Reads the policy of one directory, which only tightens. */
static void read_tightening(struct policy *policy, const char *directory, size_t index, struct diags *diags)
{
    struct source *source = open_repository(policy, directory, index, diags);
    if (!source)
        return;
    compose_source(policy, source, diags);
    check_size(policy, source, diags);
}

/* Reads the policies of the parts of a workspace, and of the directories between them and its top. They only tighten. */
void read_parts(struct policy *policy, size_t index, struct diags *diags)
{
    const char *top = policy->workspaces.at[index].path;
    fs_names read = {0};
    for (size_t i = 0; i < policy->workspaces.at[index].parts.count; i++) {
        const char *part = policy->workspaces.at[index].parts.at[i];
        for (size_t size = strlen(part); size > strlen(top); size = path_parent_size(part, size)) {
            const char *directory = arena_copy(policy->arena, part, size);
            if (fs_has_name(&read, directory))
                break;
            vec_push(&read, directory);
            read_tightening(policy, directory, index, diags);
        }
    }
    vec_free(&read);
}

/*
 * Reads the policies of the directories around a workspace that was found and not named. They only tighten. A repository made
 * inside another one must not escape what the outer one hides.
 */
void read_enclosing(struct policy *policy, size_t index, struct diags *diags)
{
    const char *path = policy->workspaces.at[index].path, *home = policy->request.home;
    for (size_t size = path_parent_size(path, strlen(path)); size > 1; size = path_parent_size(path, size)) {
        const char *directory = arena_copy(policy->arena, path, size);
        if (path_is_beneath(home, directory))
            return;
        read_tightening(policy, directory, index, diags);
    }
}
