/* The walls that this run does without, or may: by a mode, or by name. */
#include "plan/steps.h"

static void give_up(struct plan *plan, enum wall wall, const char *by, bool if_needed)
{
    vec_push(&plan->given_up, (struct given_up){wall, by, if_needed});
    if (!if_needed)
        plan->operations.absent |= 1u << wall;
}

/* Limits of profiles and repositories are for all machines, also for those that cannot enforce them. */
static bool is_by_person(const struct operation *operation)
{
    const struct source *source = operation->because->source;
    return !source->is_profile && source->layer != LAYER_REPOSITORY;
}

const struct operation *plan_unheld_memory(const struct plan *plan)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_LIMIT && operation->held_by == HELD_BY_OOM_SCORE)
            return is_by_person(operation) ? operation : NULL;
    }
    return NULL;
}

const struct operation *plan_unheld_limit(const struct plan *plan, const char **ret_why)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_LIMIT || operation->held_by != HELD_BY_NOTHING ||
            operation->amount == UINT64_MAX || !is_by_person(operation))
            continue;
        enum limit limit = operation->because->limit.limit;
        *ret_why = limit == LIMIT_DISK   ? "with --full-access the command may write everywhere"
                   : limit == LIMIT_RATE ? "with `net open` nothing is between the command and the network"
                                         : NULL;
        if (*ret_why)
            return operation;
    }
    return NULL;
}

/* --degrade only permits: a wall that can be raised is raised. */
static void add_degraded(struct plan *plan, enum wall wall)
{
    const char *by = arena_printf(plan->policy->arena, "--degrade=%s", wall_name(wall));
    bool lacks = walls_have(plan->request.lacking, wall);
    if (wall == WALL_ROOT && plan->request.is_root)
        give_up(plan, wall, by, true); /* only the mount shows which file systems map ids */
    else if (wall == WALL_MEMORY ? plan_unheld_memory(plan) != NULL : lacks)
        give_up(plan, wall, by, false);
}

void plan_add_given_up(struct plan *plan)
{
    if (plan->policy->request.full_access) {
        give_up(plan, WALL_FILES, "--full-access", false);
        if (plan->request.is_root)
            give_up(plan, WALL_ROOT, "--full-access", false);
    }
    if (plan->request.nested)
        give_up(plan, WALL_LANDLOCK, "--nested", false);
    for (enum wall wall = 0; wall < WALL_DEGRADABLE_COUNT; wall++) {
        if (walls_have(plan->request.degraded, wall) && !walls_have(plan->operations.absent, wall))
            add_degraded(plan, wall);
    }
}
