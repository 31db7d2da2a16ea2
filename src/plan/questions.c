/* What is asked of a plan that is made. */
#include <string.h>

#include "base/path.h"
#include "plan/plan.h"
#include "policy/sift.h"

const char *plan_destination(const struct plan *plan, const struct operation *operation)
{
    const char *home = "", *path = operation->path;
    const char *elsewhere = operation->kind == OP_SIFT ? sifted_destination(sifted_file(path)) : NULL;
    if (elsewhere)
        return elsewhere;
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *other = &plan->operations.at[i];
        if (other->kind == OP_HOME)
            home = other->path;
        /* A link of the host's that is shown inside leads there to the real place. */
        if (other->kind == OP_LINK && path_is_beneath(path, other->path))
            path = operation->source;
    }
    size_t size = strlen(home);
    return size && path_is_beneath(path, home) && path[size] == '/' ? path + size : NULL;
}

bool operation_shows(const struct operation *operation)
{
    return operation->kind == OP_BIND_READ || operation->kind == OP_BIND_WRITE || operation->kind == OP_SEED;
}

bool plan_shows(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation_shows(operation) && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

static bool lies_in_written(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *tree = &plan->operations.at[i];
        if (tree->kind == OP_BIND_WRITE && path_is_beneath(path, tree->path) && strcmp(path, tree->path) != 0)
            return true;
    }
    return false;
}

bool plan_covers(const struct plan *plan, const struct operation *operation)
{
    switch (operation->kind) {
    case OP_FREEZE:
        return !operation->missing;
    case OP_HIDE:
        return !operation->is_pattern;
    case OP_BIND_READ:
        return lies_in_written(plan, operation->path);
    default:
        return false;
    }
}
