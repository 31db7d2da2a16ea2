/* Plans on Landlock alone: what these walls cannot hold, and what a run says about them. */
#include <string.h>

#include "base/path.h"
#include "plan/steps.h"

static bool lies_in_written(const struct plan *plan, const char *path)
{
    vec_each (const struct operation, tree, &plan->operations) {
        if (tree->kind == OP_BIND_WRITE && path && path_is_beneath(path, tree->path))
            return true;
    }
    return false;
}

/* Why Landlock cannot hold this operation; NULL: it can, or gives less than was asked for. */
static const char *why_not(const struct plan *plan, const struct operation *operation)
{
    static const char no_exception[] =
        "it lies in a tree that may be written, and Landlock makes no exception within one";
    switch (operation->kind) {
    case OP_HOST:
        return "--full-access needs namespaces";
    case OP_HIDE:
        return !operation->is_pattern && lies_in_written(plan, operation->path) ? no_exception : NULL;
    case OP_BIND_READ:
        return operations_cover(&plan->operations, operation) ? no_exception : NULL;
    case OP_COPY:
    case OP_SIFT:
        return lies_in_written(plan, operation->source) ? no_exception : NULL;
    case OP_SECRET:
        return arena_printf(plan->policy->arena,
                            "%s stays outside only with namespaces; --secrets inside passes it",
                            operation->name);
    case OP_REQUEST:
        return "requests can be judged by their path only with namespaces";
    case OP_FORGE:
        return "git can ask for your keys outside only with namespaces";
    case OP_SSH_KEY:
        return "programs can ask for your keys outside only with namespaces";
    case OP_GUARD:
        return "without namespaces nothing tells of the programs that are executed";
    case OP_REQUIRE:
        return arena_printf(plan->policy->arena, "%s requires namespaces",
                            rule_origin(plan->policy->arena, operation->because));
    default:
        return NULL;
    }
}

const struct operation *plan_unheld_on_landlock(const struct plan *plan, const char **ret_why)
{
    vec_each (const struct operation, operation, &plan->operations) {
        *ret_why = plan->request.on == ON_LANDLOCK ? why_not(plan, operation) : NULL;
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
