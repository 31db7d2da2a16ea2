#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/mounts.h"
#include "launch/inside.h"

static int attach_operation(struct root *root, int tree_fd, const struct operation *operation,
                            struct err *err)
{
    bool is_directory = operation->is_directory || operation->kind == OP_HOME;
    return operation->kind == OP_FREEZE ? place_attach_over_name(root, tree_fd, operation->path, err)
                                        : place_attach(root, tree_fd, operation->path, is_directory, err);
}

/*
 * Shows the tree of an operation. If the host replaces the file after its tree was opened (as useradd does with
 * /etc/group), the tree cannot be attached, and the new file is opened instead. Real root's trees were opened outside:
 * there, a read-only file is shown as a copy.
 */
static int attach_tree(struct root *root, size_t index, struct err *err)
{
    enum { TRIES = 8 };
    const struct operation *operation = &root->launch->operations->at[index];
    int *tree = &root->shown[index].tree;
    int result = attach_operation(root, *tree, operation, err);
    if (result < 0 && err->errnum == ENOENT && root->ids_are_mapped)
        return operation->kind == OP_BIND_READ ? place_attach_copy(root, *tree, operation->path, err) : -1;
    for (int i = 0; i < TRIES && result < 0 && err->errnum == ENOENT; i++) {
        close(*tree);
        *tree = trees_open_one(root->launch, operation, -1, err);
        result = *tree < 0 ? -1 : attach_operation(root, *tree, operation, err);
    }
    return result;
}

static int attach_written(struct root *root, size_t index, struct err *err)
{
    const struct operation *operation = &root->launch->operations->at[index];
    if (!operation->overlay)
        return attach_tree(root, index, err);
    auto_fd int overlay = overlay_cover(root, &root->shown[index], err);
    return overlay < 0 ? -1 : place_attach(root, overlay, operation->path, true, err);
}

/* A seed only saves a download: if the kernel refuses the overlay, the directory of the private home is used. */
static int attach_seed(struct root *root, size_t index, struct err *err)
{
    const char *path = root->launch->operations->at[index].path;
    struct err ignored;
    auto_fd int overlay = overlay_cover(root, &root->shown[index], &ignored);
    if (overlay >= 0)
        return place_attach(root, overlay, path, true, err);
    return overlay_forget(root, err) < 0 || place_directory(root, path, err) < 0 ? -1 : 0;
}

static bool is_directory_fd(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Does the plan show something below the directory? It needs a mount point there. */
static bool holds_shown(const struct operations *operations, const char *directory)
{
    vec_each (const struct operation, operation, operations) {
        if ((trees_has(operation) || operation->kind == OP_LINK) &&
            path_is_beneath(operation->path, directory) && strcmp(operation->path, directory) != 0)
            return true;
    }
    return false;
}

/* Opens the empty object that covers a hidden path. If something is shown below it, it is made read-only at the end. */
static int open_cover(struct root *root, int place_fd, const char *path, struct err *err)
{
    static const char *const options[] = {"mode=0755", "size=1M", NULL};
    if (!is_directory_fd(place_fd))
        return mount_open_covered(root->empty_file, err);
    if (!holds_shown(root->launch->operations, path))
        return mount_open_covered(root->empty_directory, err);
    vec_push(&root->to_close, path);
    return mount_new("tmpfs", options, false, false, err);
}

static int hide(struct root *root, const char *path, struct err *err)
{
    auto_fd int place = place_open(root, path, 0);
    if (place < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "cannot hide %s", path);
    auto_fd int cover = open_cover(root, place, path, err);
    return cover < 0 ? -1 : place_attach_over(root, cover, place, path, err);
}

static bool is_write_tree(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == OP_BIND_WRITE && strcmp(operation->path, path) == 0)
            return true;
    }
    return false;
}

/* Makes the directory a mount point, if it is none yet: mount points cannot be renamed. */
static int pin_directory(struct root *root, const char *path, struct err *err)
{
    auto_fd int place = place_open(root, path, O_DIRECTORY);
    if (place >= 0 && mount_is_pinned(place, false))
        return 0;
    auto_fd int tree =
        place < 0 ? err_sys(err, errno, "cannot find %s", path) : mount_open_tree(place, "", err);
    return tree < 0 ? -1 : place_attach_over(root, tree, place, path, err);
}

int root_pin_parents(struct root *root, const char *path, struct err *err)
{
    VEC(const char *) parents = {0};
    for (size_t size = path_parent_size(path, strlen(path)); size > 1; size = path_parent_size(path, size)) {
        const char *parent = arena_copy(&root->arena, path, size);
        bool is_tree = is_write_tree(root->launch->operations, parent); /* a mount point already */
        if (is_tree && !operations_write_above(root->launch->operations, parent))
            break;
        if (!is_tree)
            vec_push(&parents, parent);
    }
    int result = 0;
    while (parents.count && result == 0)
        result = pin_directory(root, parents.at[--parents.count], err);
    vec_free(&parents);
    return result;
}

int root_pin_way(struct root *root, const char *path, struct err *err)
{
    if (!operations_write_above(root->launch->operations, path))
        return 0;
    auto_fd int place = place_open(root, path, 0);
    return place < 0 ? 0 : root_pin_parents(root, path, err);
}

static int make_link(struct root *root, const struct operation *operation, struct err *err)
{
    int parent = place_open_parent(root, operation->path, err);
    if (parent < 0)
        return -1;
    if (symlinkat(operation->source, parent, path_name(operation->path)) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make the link %s", operation->path);
    return 0;
}

/* Covers a directory that cannot be searched before something is shown in it, which could not be reached otherwise. */
static int hide_closed(struct root *root, const char *path, struct err *err)
{
    for (size_t i = 0; i < root->closed.count; i++) {
        const char *closed = root->closed.at[i];
        if (!*closed || !path || !path_is_beneath(path, closed))
            continue;
        root->closed.at[i] = "";
        if (hide(root, closed, err) < 0)
            return -1;
    }
    return 0;
}

static int carry_out(struct root *root, size_t index, struct err *err)
{
    const struct operation *operation = &root->launch->operations->at[index];
    if (hide_closed(root, operation->path, err) < 0)
        return -1;
    switch (operation->kind) {
    case OP_LINK:
        return make_link(root, operation, err);
    case OP_COPY:
    case OP_SIFT:
        if (!trees_has_copy(root->launch, operation))
            return 0;
        if (root_pin_way(root, operation->source, err) < 0)
            return -1;
        return root->shown[index].tree < 0 ? hide(root, operation->source, err)
                                           : place_attach(root, root->shown[index].tree, operation->source,
                                                          operation->is_directory, err);
    case OP_HIDE:
        if (operation->is_pattern)
            return 0;
        return root_pin_way(root, operation->path, err) < 0 ? -1 : hide(root, operation->path, err);
    case OP_FREEZE:
        if (operation->missing)
            return 0;
        if (root_pin_parents(root, operation->path, err) < 0)
            return -1;
        return attach_tree(root, index, err);
    case OP_BIND_READ:
        if (furnish_is_own_view(operation->path))
            return furnish_own_view(root, operation->path, err);
        if (furnish_makes(operation))
            return 0;
        return root_pin_way(root, operation->path, err) < 0 ? -1 : attach_tree(root, index, err);
    case OP_ASKABLE:
        return place_directory(root, operation->path, err) < 0 ? -1 : 0;
    case OP_DECOY:
        return decoys_show(root, operation, err);
    case OP_BIND_WRITE:
        return attach_written(root, index, err);
    case OP_SEED:
        return operation->overlay ? attach_seed(root, index, err) : 0;
    case OP_HOME:
    case OP_SOCKET:
        return attach_tree(root, index, err);
    default:
        return 0;
    }
}

/* Makes the empty file and directory that cover hidden paths. /proc will cover the directory: no path leads to it. */
static int make_nothing(struct root *root, struct err *err)
{
    if (mknodat(root->fd, ".empty", S_IFREG | 0444, 0) < 0 || mkdirat(root->fd, "proc", 0555) < 0)
        return err_sys(err, errno, "cannot make an empty file and an empty directory");
    root->empty_file = openat(root->fd, ".empty", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    root->empty_directory = openat(root->fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->empty_file < 0 || root->empty_directory < 0)
        return err_sys(err, errno, "cannot open an empty file and an empty directory");
    return 0;
}

static int make_root(struct root *root, struct err *err)
{
    static const char *const options[] = {"mode=0755", "size=16M", NULL};
    auto_fd int tmpfs = mount_new("tmpfs", options, false, false, err);
    if (tmpfs < 0)
        return -1;
    /* Mounted over /, where the host's root is about to be replaced anyway. */
    root->host_dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int standing = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->host_dev < 0 || standing < 0 || mount_attach(tmpfs, standing, "/", err) < 0)
        return standing < 0 || root->host_dev < 0 ? err_sys(err, errno, "cannot open /") : -1;
    root->fd = fd_take(&tmpfs);
    return make_nothing(root, err);
}

/* Does the plan show the host's own tree as the root? Without a plan yet (NULL) it does not. */
static bool shows_host(const struct operations *operations)
{
    return operations && operations_find(operations, OP_HOST);
}

/* The root for full access: the host's own tree. Only its /proc belongs to the sandbox; nothing else is made in it. */
static int prepare_host(struct root *root, struct err *err)
{
    auto_fd int tree = mount_open_restricted(AT_FDCWD, "/", false, true, err);
    if (tree < 0)
        return -1;
    auto_fd int standing = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (standing < 0)
        return err_sys(err, errno, "cannot open /");
    if (mount_attach(tree, standing, "/", err) < 0)
        return -1;
    root->fd = fd_take(&tree);
    return furnish_private(root, "/proc", err);
}

int root_prepare(struct root *root, struct err *err)
{
    /* Every plan has these and names them; carry_out() does not make them again. */
    static const char *const places[] = {"/dev", "/dev/shm", "/proc", "/run", "/tmp", "/var/tmp"};
    if (mount_detach_propagation(err) < 0)
        return -1;
    if (shows_host(root->launch->operations))
        return prepare_host(root, err);
    root->terminal_tree = -1;
    char terminal[64] = "";
    if (root->launch->terminal_fd >= 0 &&
        ttyname_r(root->launch->terminal_fd, terminal, sizeof(terminal)) == 0) {
        root->terminal_tree = mount_open_restricted(AT_FDCWD, terminal, false, true, err);
        if (root->terminal_tree < 0)
            return -1;
    }
    if (make_root(root, err) < 0 || decoys_make(root, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(places); i++) {
        if (furnish_private(root, places[i], err) < 0)
            return -1;
    }
    return 0;
}

int root_assemble(struct root *root, struct err *err)
{
    size_t count = root->launch->operations->count;
    if (shows_host(root->launch->operations))
        return mount_switch_root(root->fd, err);
    if (furnish_resize(root, err) < 0)
        return -1;
    furnish_prepare(root);
    root->ids_are_mapped = root->shown != NULL;
    if (!root->ids_are_mapped) {
        root->shown = arena_alloc(&root->arena, count * sizeof(*root->shown));
        if (trees_open(root->launch, -1, root->shown, err) < 0)
            return -1;
    }
    if (mask_find(root, err) < 0) /* before carrying out takes the trees away */
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (carry_out(root, i, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < root->to_close.count; i++) {
        if (mount_reconfigure(root->fd, root->to_close.at[i] + 1, "ro", err) < 0)
            return -1;
    }
    for (size_t i = 0; i < root->masked.count; i++) {
        if (hide(root, root->masked.at[i], err) < 0)
            return -1;
    }
    /* The mounts over hidden files keep it alive without a name. */
    if (unlinkat(root->fd, ".empty", 0) < 0)
        return err_sys(err, errno, "cannot tidy up the new root");
    return furnish_files(root, err) < 0 ? -1 : mount_switch_root(root->fd, err);
}
