#include "plan/operations.h"

#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/vec.h"

const char *operations_destination(const struct operations *operations, const struct operation *operation)
{
    const char *home = "", *path = operation->path;
    vec_each (const struct operation, other, operations) {
        if (other->kind == OP_HOME)
            home = other->path;
        /* A symlink that is shown inside leads to the real place. */
        if (other->kind == OP_LINK && path_is_beneath(path, other->path))
            path = operation->source;
    }
    if (operation->elsewhere)
        return operation->elsewhere;
    size_t size = strlen(home);
    return size && path_is_beneath(path, home) && path[size] == '/' ? path + size : NULL;
}

bool operation_is_file_inside(const struct operation *operation)
{
    return (operation->kind == OP_SYNC || operation->kind == OP_COPY) && !operation->is_directory;
}

bool operation_shows(const struct operation *operation)
{
    return operation->kind == OP_BIND_READ || operation->kind == OP_BIND_WRITE || operation->kind == OP_SEED;
}

const struct operation *operations_find(const struct operations *operations, enum operation_kind kind)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == kind)
            return operation;
    }
    return NULL;
}

const char *operations_net(const struct operations *operations)
{
    const struct operation *net = operations_find(operations, OP_NET);
    return net ? net->value : "off";
}

bool operations_show(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, operation, operations) {
        if (operation_shows(operation) && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

bool operations_write_above(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, tree, operations) {
        if (tree->kind == OP_BIND_WRITE && path_is_beneath(path, tree->path) && strcmp(path, tree->path) != 0)
            return true;
    }
    return false;
}

static bool is_live(const struct operation *operation)
{
    return operation->kind == OP_BIND_WRITE && !operation->source && !operation->overlay;
}

/* Does the operation protect its path from the command, though a tree around it is written? */
static bool is_spared(const struct operations *operations, const struct operation *operation)
{
    if (operation->missing || operation->is_pattern)
        return false;
    if (operation->kind == OP_FREEZE)
        return true;
    return operations->on == ON_NAMESPACES &&
           (operation->kind == OP_BIND_READ || (operation->kind == OP_BIND_WRITE && !is_live(operation)));
}

const struct operation *operations_written(const struct operations *operations, const char *path)
{
    const struct operation *deepest = NULL;
    vec_each (const struct operation, operation, operations) {
        if (is_live(operation) && path_is_beneath(path, operation->path) &&
            (!deepest || path_is_beneath(operation->path, deepest->path)))
            deepest = operation;
    }
    vec_each (const struct operation, operation, operations) {
        if (deepest && is_spared(operations, operation) && path_is_beneath(path, operation->path) &&
            path_is_beneath(operation->path, deepest->path))
            return NULL;
    }
    return deepest;
}

bool operations_cover(const struct operations *operations, const struct operation *operation)
{
    switch (operation->kind) {
    case OP_FREEZE:
        return !operation->missing;
    case OP_HIDE:
        return !operation->is_pattern;
    case OP_BIND_READ:
        return operations_write_above(operations, operation->path);
    default:
        return false;
    }
}

bool operations_name(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->path && !operation->is_pattern && strcmp(operation->path, path) == 0)
            return true;
    }
    return false;
}

bool operation_reaches(const struct operation *pattern, const struct operation *tree)
{
    return !(tree->is_of_profile && pattern->is_of_profile && pattern_is_deep(pattern->path)) &&
           !(pattern->spares_workspaces && tree->is_workspace) &&
           pattern_may_match_beneath(pattern->path, tree->path);
}

bool operations_hide(const struct operations *operations, const struct operation *tree, const char *path)
{
    bool is_matched = false;
    vec_each (const struct operation, operation, operations) {
        if (operation->kind != OP_HIDE)
            continue;
        if (!operation->is_pattern && strcmp(operation->path, path) == 0)
            return true;
        is_matched |= operation->is_pattern && operation_reaches(operation, tree) &&
                      pattern_matches_path(operation->path, path, strlen(path));
    }
    return is_matched && !operations_name(operations, path);
}
