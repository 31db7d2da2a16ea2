/*
 * Finds what must be hidden beside what the plan names: what patterns match (the trees that they reach are walked once,
 * before the root is assembled), and the sockets of the host that lie in trees which are shown.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/pattern.h"
#include "kernel/unix_sockets.h"
#include "launch/inside.h"

enum { MOST_ENTRIES = 1000000, DEEPEST = 128 };

struct walk {
    struct root *root;
    const struct operation *pattern;
    size_t entries;
};

static bool is_named(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->path && !operation->is_pattern && strcmp(operation->path, path) == 0)
            return true;
    }
    return false;
}

static int walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth,
                          struct err *err);

static int visit(struct walk *walk, int parent_fd, const char *path, const struct dirent *entry,
                 unsigned depth, struct err *err)
{
    if (++walk->entries > MOST_ENTRIES || depth > DEEPEST) {
        err_set(err, "%s is too large to be searched for %s", path, walk->pattern->path);
        return err_hint(err, "hide a directory by its name instead of with a pattern, or grant less");
    }
    const char *full = path_join(&walk->root->arena, path, entry->d_name);
    if (pattern_matches_path(walk->pattern->path, full, strlen(full))) {
        if (!is_named(walk->root->launch->plan, full))
            vec_push(&walk->root->masked, full);
        return 0;
    }
    if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
        !pattern_may_match_beneath(walk->pattern->path, full))
        return 0;
    auto_fd int fd = openat(parent_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? 0 : walk_directory(walk, fd_take(&fd), full, depth + 1, err);
}

/* Takes the descriptor over. */
static int walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth,
                          struct err *err)
{
    DIR *directory = fdopendir(directory_fd);
    if (!directory) {
        close(directory_fd);
        return 0;
    }
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = visit(walk, dirfd(directory), path, entry, depth, err);
    }
    closedir(directory);
    return result;
}

/* The same trees that the plan meant when it kept the pattern: with ** of a profile not those that a profile grants by name. */
static bool is_searched(const struct operation *pattern, const struct operation *tree)
{
    return operation_shows(tree) && tree->is_directory &&
           !(tree->is_of_profile && pattern->is_of_profile && pattern_is_deep(pattern->path)) &&
           !(pattern->spares_workspaces && tree->is_workspace) &&
           pattern_may_match_beneath(pattern->path, tree->path);
}

struct shown_tree {
    const char *path;
    int fd;
};

typedef VEC(struct shown_tree) shown_trees;

static void find_shown_trees(const struct root *root, shown_trees *ret_trees)
{
    const struct plan *plan = root->launch->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation_shows(operation) && root->shown[i].tree >= 0)
            vec_push(ret_trees, (struct shown_tree){operation->path, root->shown[i].tree});
    }
}

/*
 * Is it a socket, in a tree that is shown? Looked up in the tree itself: by its path on the host real root, who is nobody
 * there by now, would not find what lies in a private directory.
 */
static bool is_shown_socket(const shown_trees *trees, const char *path)
{
    for (size_t i = 0; i < trees->count; i++) {
        const struct shown_tree *tree = &trees->at[i];
        struct stat status;
        if (!path_is_beneath(path, tree->path))
            continue;
        const char *inside = path + strlen(tree->path);
        inside += *inside == '/';
        if (fstatat(tree->fd, inside, &status, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0)
            return S_ISSOCK(status.st_mode);
    }
    return false;
}

static bool is_masked(const struct root *root, const char *path)
{
    size_t i = 0;
    while (i < root->masked.count && strcmp(root->masked.at[i], path) != 0)
        i++;
    return i < root->masked.count;
}

/* In a tree that is shown, a daemon's socket would answer through every mount. A server's stands there for each client too. */
static void find_sockets(struct root *root)
{
    const char *list = root->socket_list;
    shown_trees trees = {0};
    find_shown_trees(root, &trees);
    for (const char *path; list && (path = unix_sockets_next(&list));) {
        if (*path == '/' && is_shown_socket(&trees, path) && !is_named(root->launch->plan, path) &&
            !is_masked(root, path))
            vec_push(&root->masked, path);
    }
    vec_free(&trees);
}

int mask_find(struct root *root, struct err *err)
{
    find_sockets(root);
    const struct plan *plan = root->launch->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *pattern = &plan->operations.at[i];
        for (size_t j = 0; pattern->kind == OP_HIDE && pattern->is_pattern && j < plan->operations.count;
             j++) {
            const struct operation *tree = &plan->operations.at[j];
            if (!is_searched(pattern, tree))
                continue;
            struct walk walk = {root, pattern, 0};
            int fd = openat(root->shown[j].tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (fd >= 0 && walk_directory(&walk, fd, tree->path, 0, err) < 0)
                return -1;
        }
    }
    return 0;
}
