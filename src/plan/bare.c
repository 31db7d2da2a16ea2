/* Plans on Landlock alone: what these walls cannot hold, and what a run says about them. */
#include <string.h>

#include "base/path.h"
#include "plan/steps.h"
#include "policy/decide.h"

/* With `spares_workspaces`: in a tree that is written itself. */
static bool lies_in_written(const struct plan *plan, const char *path, bool spares_workspaces)
{
    vec_each (const struct operation, tree, &plan->operations) {
        if (tree->kind == OP_BIND_WRITE && path && path_is_beneath(path, tree->path) &&
            !(spares_workspaces && tree->is_workspace))
            return true;
    }
    return false;
}

/*
 * The file that has the secret must be out of reach. That of a login is, unless a tree around it is shown:
 * with namespaces the file inside covers it there. A copy within a tree that may only be read is no problem,
 * because Landlock leaves its original out.
 */
static const char *why_not_secret(const struct plan *plan, const struct secret_object *secret)
{
    const char *file = secret_source_file(plan->policy, secret);
    enum access access = file ? decide_path(plan->policy, file, NULL).access : ACCESS_NONE;
    bool is_out_of_reach = access == ACCESS_NONE || access == ACCESS_COPY || access == ACCESS_SIFT ||
                           (access == ACCESS_SYNC && !operations_show(&plan->operations, file));
    return is_out_of_reach
               ? NULL
               : arena_printf(
                     plan->policy->arena,
                     "a rule shows %s, which has the secret (--secrets inside gives it to the command)",
                     file);
}

/* Why Landlock cannot hold this operation; NULL: it can, or gives less than was asked for. */
static const char *why_not(const struct plan *plan, const struct operation *operation, bool copies)
{
    static const char no_exception[] =
        "it lies in a tree that may be written, and Landlock makes no exception within one";
    switch (operation->kind) {
    case OP_HOST:
        return "--full-access needs namespaces";
    case OP_HIDE:
        return !operation->is_pattern && lies_in_written(plan, operation->path, copies) ? no_exception : NULL;
    case OP_BIND_READ:
        return !operation->because->source->may_lose && operations_cover(&plan->operations, operation)
                   ? no_exception
                   : NULL;
    case OP_COPY:
    case OP_SIFT:
        return lies_in_written(plan, operation->source, false) ? no_exception : NULL;
    case OP_SECRET:
        return why_not_secret(plan, operation->because->secret);
    case OP_FORGE:
        return operation->because->forge->token ? why_not_secret(plan, operation->because->forge->token)
                                                : NULL;
    case OP_REQUIRE:
        return arena_printf(plan->policy->arena, "%s requires namespaces",
                            rule_origin(plan->policy->arena, operation->because));
    default:
        return NULL;
    }
}

const struct operation *plan_unheld_on_landlock(const struct plan *plan, bool copies, const char **ret_why)
{
    vec_each (const struct operation, operation, &plan->operations) {
        *ret_why = plan->request.on == ON_LANDLOCK ? why_not(plan, operation, copies) : NULL;
        if (*ret_why)
            return operation;
    }
    return NULL;
}

void plan_note_landlock(struct plan *plan)
{
    if (plan->request.on == ON_LANDLOCK)
        vec_push(&plan->notes,
                 (struct note){.is_loss = true,
                               .text =
                                   "without namespaces the walls are weaker: the names, sizes and dates of "
                                   "all files and the command lines of other programs stay visible, and "
                                   "programs of this machine can reach the command's servers"});
}
