#include "plan/grant.h"

#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/decide.h"

/* Something of the sandbox's own that a mount at the path would cover; NULL: nothing. */
static const char *covered_by(const struct plan *plan, const char *path)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->path && !operation->is_pattern && path_is_beneath(operation->path, path))
            return operation->path;
    }
    return NULL;
}

/* Landlock cannot be told later what may be written: only a tree that was writable from the start has a rule. */
static bool has_writable_parent(const struct plan *plan, const char *path)
{
    if (walls_have(plan->operations.absent, WALL_LANDLOCK) || walls_have(plan->operations.absent, WALL_FILES))
        return true;
    vec_each (const struct operation, operation, &plan->operations) {
        bool is_writable = operation->kind == OP_HOME || operation->kind == OP_PRIVATE ||
                           operation->kind == OP_BIND_WRITE || operation->kind == OP_ASKABLE;
        if (is_writable && path_is_inside(path, operation->path))
            return true;
    }
    return false;
}

/* Could a flagged path lie in the directory? */
static bool has_flags(const struct policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        if (placed->rule->verb == VERB_FLAG && policy_rule_counts(policy, placed->rule) &&
            (placed->has_wildcard ? pattern_may_match_beneath(placed->path, path)
                                  : path_is_beneath(placed->path, path)))
            return true;
    }
    return false;
}

static const char *problem_with_writing(const struct plan *plan, const char *path, enum file_kind kind)
{
    if (plan->request.nested || plan->policy->request.read_only)
        return "this run writes nothing outside its private home";
    if (decide_path(plan->policy, path, NULL).flagged_by ||
        (kind == FILE_DIRECTORY && has_flags(plan->policy, path)))
        return "new content of flagged files is shown to you at the end of a run, which must know the old one";
    if (!has_writable_parent(plan, path))
        return "a running command can write only below directories that were planned for it: `bawn --ask` plans them at the start";
    return NULL;
}

/* Root inside may be root outside: which of both this run has is not known here. */
static bool gives_up_root(const struct operations *operations)
{
    return walls_have(operations->absent, WALL_ROOT) || walls_have(operations->degraded, WALL_ROOT);
}

static const char *problem_with(const struct plan *plan, struct arena *arena, const char *path,
                                enum file_kind kind, bool writes)
{
    const char *covered = covered_by(plan, path);
    if (covered)
        return arena_printf(arena, "it would cover %s of this sandbox", covered);
    if (kind != FILE_REGULAR && kind != FILE_DIRECTORY)
        return "it is neither a file nor a directory";
    if (plan->request.on == ON_LANDLOCK)
        return "without namespaces nothing can be mounted";
    if (plan->operations.is_root && (plan->request.nested || gives_up_root(&plan->operations)))
        return "root's files cannot be shown with other ids to this run";
    return writes ? problem_with_writing(plan, path, kind) : NULL;
}

/* The policy hides this place; the new rule is less specific and does not open it. */
static bool is_hidden_within(const struct policy *policy, const struct placed *placed, const char *path)
{
    if (placed->has_wildcard || placed->found->kind == FILE_MISSING || !path_is_inside(placed->path, path))
        return false;
    struct path_verdict verdict = decide_path(policy, placed->path, NULL);
    return verdict.decides && verdict.access == ACCESS_NONE;
}

static bool is_pattern_within(const struct policy *policy, const struct placed *placed, const char *path)
{
    enum verb verb = placed->rule->verb;
    return placed->has_wildcard && (verb == VERB_HIDE || verb == VERB_SEAL) &&
           policy_rule_counts(policy, placed->rule) && pattern_may_match_beneath(placed->path, path);
}

const char *plan_grant(const struct plan *plan, struct arena *arena, const char *path, enum file_kind kind,
                       bool writes, struct operations *ret_operations)
{
    const struct policy *policy = plan->policy;
    const char *problem = problem_with(plan, arena, path, kind, writes);
    if (problem)
        return problem;
    struct operations operations = {
        .at = arena_alloc(arena, (1 + policy->places.count) * sizeof(*operations.at))};
    operations.at[operations.count++] = (struct operation){
        .kind = writes ? OP_BIND_WRITE : OP_BIND_READ, .path = path, .is_directory = kind == FILE_DIRECTORY};
    for (size_t i = 0; kind == FILE_DIRECTORY && i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        bool is_pattern = is_pattern_within(policy, placed, path);
        if (!is_pattern && !is_hidden_within(policy, placed, path))
            continue;
        operations.at[operations.count++] =
            (struct operation){.kind = OP_HIDE,
                               .path = placed->path,
                               .is_pattern = is_pattern,
                               .spares_workspaces = text_equal(placed->rule->unless, "workspace")};
    }
    *ret_operations = operations;
    return NULL;
}
