/* Where decoys stand: in the home, where nothing else is. */
#include <string.h>

#include "base/path.h"
#include "plan/decoys.h"
#include "plan/steps.h"

/* Does the operation put something at or below the decoy's path that the decoy would cover or has no name for? */
static bool clashes(const struct operation *operation, const struct decoy *decoy, const char *place)
{
    if (operation->is_pattern || !operation->path || operation->kind == OP_PRIVATE ||
        operation->kind == OP_HOME)
        return false;
    if (path_is_beneath(place, operation->path))
        return operation->kind != OP_LINK;
    if (!path_is_beneath(operation->path, place))
        return false;
    bool is_mounted = operation->kind == OP_BIND_READ || operation->kind == OP_BIND_WRITE;
    return !is_mounted || operation->is_directory || !decoy_file(decoy, operation->path + strlen(place) + 1);
}

static bool has_room(const struct plan *plan, const struct decoy *decoy, const char *place)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (clashes(&plan->operations.at[i], decoy, place))
            return false;
    }
    return true;
}

bool plan_has_decoy(const struct plan *plan, const char *path)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_DECOY && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

void plan_add_decoys(struct plan *plan)
{
    size_t at = 0;
    while (at < plan->operations.count && plan->operations.at[at].kind != OP_HOME)
        at++;
    if (at++ == plan->operations.count)
        return;
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        const char *place = path_join(plan->policy->arena, plan->policy->request.home, decoys[i].place);
        if (!has_room(plan, &decoys[i], place))
            continue;
        struct operation operation = {
            .kind = OP_DECOY, .path = place, .name = decoys[i].name, .is_directory = true};
        plan_add(plan, operation);
        /* Before the operations below it. */
        struct operation *operations = plan->operations.at;
        memmove(&operations[at + 1], &operations[at],
                (plan->operations.count - 1 - at) * sizeof(*operations));
        operations[at++] = operation;
    }
}
