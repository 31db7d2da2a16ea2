/*
 * A sandbox made of mounts: what bubblewrap, docker and systemd have in common.
 *
 * A mount over a path keeps the path as it is, but its parents can be renamed, and the mount goes along: after
 * `mv .git x; mkdir .git` a new .git/config would be writable. The kernel refuses to rename a mount point. So every directory
 * between a writable tree and a path that is covered in it becomes a mount point of its own, an anchor.
 */
#include <string.h>

#include "base/path.h"
#include "translate/export.h"

static int compare_mounts(const void *a, const void *b)
{
    const struct mount *left = a, *right = b;
    int result = path_compare(left->path, right->path);
    if (result)
        return result;
    return left->order < right->order ? -1 : 1;
}

static void add(mount_list *mounts, struct mount mount)
{
    mount.order = mounts->count;
    vec_push(mounts, mount);
}

static bool has_path(const text_list *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (strcmp(paths->at[i], path) == 0)
            return true;
    }
    return false;
}

/* Is something mounted at the operation's path? */
static bool is_mounted(const struct operation *operation)
{
    bool covers = operation->kind == OP_FREEZE || operation->kind == OP_HIDE;
    return operation_shows(operation) || operation->kind == OP_COPY ||
           (covers && !operation->missing && !operation->is_pattern);
}

/* The writable tree that the path lies in; NULL if the deepest mount around it is another one: nothing can be renamed there. */
static const char *tree_around(const struct export *export, const char *path)
{
    const struct operation *around = NULL;
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (is_mounted(operation) && path_is_inside(path, operation->path) &&
            (!around || path_is_beneath(operation->path, around->path)))
            around = operation; /* of two at the same path the later one */
    }
    return around && around->kind == OP_BIND_WRITE ? around->path : NULL;
}

void export_anchors(const struct export *export, bool with_missing, text_list *ret_paths)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        bool covers = operations_cover(&export->plan->operations, operation) ||
                      (with_missing && operation->kind == OP_FREEZE);
        const char *tree = covers ? tree_around(export, operation->path) : NULL;
        const char *parent = covers ? path_parent(export->arena, operation->path) : NULL;
        for (; tree && path_is_inside(parent, tree); parent = path_parent(export->arena, parent)) {
            if (!has_path(ret_paths, parent))
                vec_push(ret_paths, parent);
        }
    }
}

const char *export_link_target(const struct export *export, const struct mount *mount)
{
    const char *target = path_clean(export->arena, path_parent(export->arena, mount->path), mount->source);
    return operations_show(&export->plan->operations, target) ? target : NULL;
}

static void add_anchors(const struct export *export, mount_list *mounts)
{
    auto_vec text_list paths = {0};
    export_anchors(export, false, &paths);
    for (size_t i = 0; i < paths.count; i++)
        add(mounts,
            (struct mount){
                .kind = MOUNT_WRITE, .path = paths.at[i], .source = paths.at[i], .is_directory = true});
}

/* Returns false if a mount cannot express the operation. */
static bool add_operation(const struct export *export, const struct operation *operation, mount_list *mounts)
{
    struct mount mount = {.path = operation->path,
                          .source = operation->source ? operation->source : operation->path,
                          .is_directory = operation->is_directory,
                          .make = operation->make};
    switch (operation->kind) {
    case OP_PRIVATE:
    case OP_HOME:
        mount.kind = MOUNT_EMPTY;
        mount.is_directory = true;
        break;
    case OP_LINK:
        mount.kind = MOUNT_LINK;
        break;
    case OP_BIND_WRITE:
        mount.kind = MOUNT_WRITE;
        mount.source = operation->path;
        break;
    case OP_BIND_READ:
    case OP_SEED:
    case OP_COPY:
    case OP_SOCKET:
        mount.kind = MOUNT_READ;
        break;
    case OP_FREEZE:
        mount.kind = MOUNT_READ;
        if (operation->missing)
            return false;
        break;
    case OP_HIDE:
        mount.kind = MOUNT_HIDE;
        if (operation->is_pattern)
            return false;
        break;
    case OP_SIFT: /* the file with its secrets must not be visible in a tree around it */
        mount.kind = MOUNT_HIDE;
        mount.path = mount.source;
        if (!operations_show(&export->plan->operations, mount.path))
            return true;
        break;
    default:
        return true;
    }
    add(mounts, mount);
    return true;
}

void export_mounts(struct export *export, mount_list *ret_mounts)
{
    auto_vec text_list unfrozen = {0}, patterns = {0};
    bool is_public = false;
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (!add_operation(export, operation, ret_mounts))
            vec_push(operation->is_pattern ? &patterns : &unfrozen, operation->path);
        is_public |= operation->is_public;
    }
    add_anchors(export, ret_mounts);
    if (ret_mounts->count)
        qsort(ret_mounts->at, ret_mounts->count, sizeof(*ret_mounts->at), compare_mounts);
    lose_each(export, LOST_REFUSAL, &unfrozen, "paths that do not exist yet can be made");
    lose_each(export, LOST_REFUSAL, &patterns, "hidden patterns");
    auto_vec text_list missing = {0};
    export_hidden_missing(export, &missing);
    lose_each(export, LOST_REFUSAL, &missing, "hidden paths that do not exist yet");
    if (is_public)
        lose(export, LOST_REFUSAL, "files that only root may read, in trees that root shows to the command");
    lose_operations(export, LOST_GRANT, OP_COPY, "writing the private copies of");
    lose_operations(export, LOST_GRANT, OP_SEED, "writing the private caches over");
    lose_operations(export, LOST_GRANT, OP_SYNC, "logins");
    lose_operations(export, LOST_GRANT, OP_SIFT, "copies without secrets of");
    lose(export, LOST_GRANT, "the private home: this one is empty at each start");
}
