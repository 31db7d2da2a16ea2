/*
 * Finds paths to hide that the plan does not name: matches of patterns (each tree that a pattern reaches is walked
 * once, before the root is assembled) and the host's sockets in trees that are shown.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/unix_sockets.h"
#include "launch/inside.h"

enum { MOST_ENTRIES = 1000000, DEEPEST = 16 }; /* every directory on the way down keeps a descriptor open */

struct walk {
    struct root *root;
    const struct operation *tree;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const struct operation *) patterns; /* that reach into it */
    size_t entries;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) deep; /* directories deeper than DEEPEST: a new walk begins at each */
};

static const char remedy[] = "hide a directory by its name instead of a pattern, or grant less";

static bool is_masked(const struct root *root, const char *path)
{
    return text_is_among(path, root->masked.at, root->masked.count);
}

static void close_folder(struct root *root, const char *path)
{
    if (!text_is_among(path, root->closed.at, root->closed.count))
        vec_push(&root->closed, path);
}

/* Does the plan show a tree at this path? That tree is searched separately. */
static bool is_shown(const struct operations *operations, const char *path)
{
    for (size_t i = 0; i < operations->count; i++) {
        if (operation_shows(&operations->at[i]) && strcmp(operations->at[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Does the plan show or hide something at this path or below it? */
static bool leads_to_named(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->path && !operation->is_pattern && path_is_beneath(operation->path, path))
            return true;
    }
    return false;
}

static int refuse(const struct walk *walk, const char *why, struct err *err)
{
    err_set(err, "%s %s to be searched for %s", walk->tree->path, why, walk->patterns.at[0]->path);
    return err_hint(err, remedy);
}

static bool is_match(const struct walk *walk, const char *path)
{
    for (size_t i = 0; i < walk->patterns.count; i++) {
        if (pattern_matches_path(walk->patterns.at[i]->path, path, strlen(path)))
            return true;
    }
    return false;
}

static bool may_hold_match(const struct walk *walk, const char *directory)
{
    for (size_t i = 0; i < walk->patterns.count; i++) {
        if (pattern_may_match_beneath(walk->patterns.at[i]->path, directory))
            return true;
    }
    return false;
}

static int walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth,
                          struct err *err);
static int enter(struct walk *walk, int fd, const char *path, unsigned depth, struct err *err);

static int visit(struct walk *walk, int parent_fd, const char *path, const struct dirent *entry,
                 unsigned depth, struct err *err)
{
    const char *full = path_join(&walk->root->arena, path, entry->d_name);
    if (++walk->entries > MOST_ENTRIES)
        return refuse(walk, "has too many files", err);
    if (strlen(full) >= PATH_LONGEST)
        return refuse(walk, "has directories that are nested too deep", err);
    if (is_match(walk, full) && !operations_name(walk->root->launch->operations, full)) {
        vec_push(&walk->root->masked, full);
        return 0;
    }
    if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || !may_hold_match(walk, full))
        return 0;
    int fd = depth < DEEPEST ? open_directory_at(parent_fd, entry->d_name) : -1;
    /* Without descriptors left it is opened later, when those of the folders above are closed. */
    if (depth == DEEPEST || (depth > 0 && fd < 0 && errno == EMFILE)) {
        vec_push(&walk->deep, full);
        return 0;
    }
    return enter(walk, fd, full, depth + 1, err);
}

static int cannot_search(const struct walk *walk, const char *path, int errnum, struct err *err)
{
    return err_sys(err, errnum, "cannot search %s for %s", path, walk->patterns.at[0]->path);
}

/*
 * A path that is gone, is no directory, or lies on a dead mount hides nothing. A directory that cannot be listed could
 * still be searched by name, or its owner could open it: it is hidden as a whole. If the plan shows something in it, an
 * empty directory takes its place; that needs a read-only tree around it.
 */
static int enter(struct walk *walk, int fd, const char *path, unsigned depth, struct err *err)
{
    if (fd >= 0)
        return walk_directory(walk, fd, path, depth, err);
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENOTCONN)
        return 0;
    if (errno != EACCES)
        return cannot_search(walk, path, errno, err);
    const struct operations *operations = walk->root->launch->operations;
    bool is_tree = strcmp(path, walk->tree->path) == 0;
    if (is_masked(walk->root, path) || (!is_tree && is_shown(operations, path)))
        return 0;
    if (!leads_to_named(operations, path)) {
        vec_push(&walk->root->masked, path);
        return 0;
    }
    if (!is_tree && walk->tree->kind == OP_BIND_READ) {
        close_folder(walk->root, path);
        return 0;
    }
    cannot_search(walk, path, errno, err);
    return err_hint(err, remedy);
}

/* Owns the descriptor. */
static int walk_directory(struct walk *walk, int directory_fd, const char *path, unsigned depth,
                          struct err *err)
{
    auto_dir DIR *directory = directories_take(directory_fd);
    if (!directory)
        return cannot_search(walk, path, errno, err);
    int result = 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));)
        result = visit(walk, dirfd(directory), path, entry, depth, err);
    return result == 0 && trouble ? cannot_search(walk, path, trouble, err) : result;
}

struct shown_tree {
    const char *path;
    int fd;
};

typedef VEC(struct shown_tree) shown_trees;

static void find_shown_trees(const struct root *root, shown_trees *ret_trees)
{
    const struct operations *operations = root->launch->operations;
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation *operation = &operations->at[i];
        if (operation_shows(operation) && root->shown[i].tree >= 0)
            vec_push(ret_trees, (struct shown_tree){operation->path, root->shown[i].tree});
    }
}

/*
 * Is the path a socket in a shown tree? Looked up in the tree itself: real root has no privileges on the host's paths
 * by now and could not enter a private directory. A path that cannot be examined counts as a socket, so that hiding it
 * reports the error.
 */
static bool is_shown_socket(const shown_trees *trees, const char *path)
{
    vec_each (const struct shown_tree, tree, trees) {
        struct stat status;
        if (!path_is_beneath(path, tree->path))
            continue;
        const char *inside = path + strlen(tree->path);
        inside += *inside == '/';
        if (fstatat(tree->fd, inside, &status, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0)
            return S_ISSOCK(status.st_mode);
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return true;
    }
    return false;
}

/* A daemon of the host answers on its socket through any mount. The list has a server's socket once per client too. */
static void find_sockets(struct root *root)
{
    const char *list = root->socket_list;
    shown_trees trees = {0};
    find_shown_trees(root, &trees);
    for (const char *path; list && (path = unix_sockets_next(&list));) {
        if (*path == '/' && is_shown_socket(&trees, path) &&
            !operations_name(root->launch->operations, path) && !is_masked(root, path))
            vec_push(&root->masked, path);
    }
    vec_free(&trees);
}

static int search(struct walk *walk, int tree_fd, struct err *err)
{
    int fd = open_directory_at(tree_fd, ".");
    int result = enter(walk, fd, walk->tree->path, 0, err);
    for (size_t i = 0; result == 0 && i < walk->deep.count; i++) {
        const char *path = walk->deep.at[i];
        const char *inside = path + strlen(walk->tree->path) + (strcmp(walk->tree->path, "/") != 0);
        result = enter(walk, open_beneath(tree_fd, inside, O_RDONLY | O_DIRECTORY, 0), path, 0, err);
    }
    return result;
}

/* Finds the first directory between a tree and a path shown in it that cannot be searched. */
static void find_closed(struct root *root, const struct shown_tree *tree, const char *path)
{
    for (const char *slash = path + strlen(tree->path); (slash = strchr(slash + 1, '/'));) {
        const char *folder = arena_copy(&root->arena, path, (size_t)(slash - path));
        if (faccessat(tree->fd, folder + strlen(tree->path) + 1, X_OK, 0) == 0 || errno != EACCES)
            continue;
        close_folder(root, folder);
        return;
    }
}

/* In a public tree, real root cannot pass through directories that only root may search. */
static void find_closed_of_root(struct root *root)
{
    const struct operations *operations = root->launch->operations;
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation *operation = &operations->at[i];
        struct shown_tree tree = {operation->path, root->shown[i].tree};
        for (size_t j = 0; operation->is_public && tree.fd >= 0 && j < operations->count; j++) {
            if (operation_shows(&operations->at[j]) && path_is_beneath(operations->at[j].path, tree.path) &&
                j != i)
                find_closed(root, &tree, operations->at[j].path);
        }
    }
}

static int mask_in_tree(struct root *root, size_t number, struct err *err)
{
    const struct operations *operations = root->launch->operations;
    struct walk walk = {.root = root, .tree = &operations->at[number]};
    vec_each (const struct operation, pattern, operations) {
        if (pattern->kind == OP_HIDE && pattern->is_pattern && operation_reaches(pattern, walk.tree))
            vec_push(&walk.patterns, pattern);
    }
    int result = walk.patterns.count ? search(&walk, root->shown[number].tree, err) : 0;
    vec_free(&walk.patterns);
    vec_free(&walk.deep);
    return result;
}

int mask_find(struct root *root, struct err *err)
{
    find_sockets(root);
    find_closed_of_root(root);
    const struct operations *operations = root->launch->operations;
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation *tree = &operations->at[i];
        if (operation_shows(tree) && tree->is_directory && mask_in_tree(root, i, err) < 0)
            return -1;
    }
    return 0;
}
