/* Opens and restricts the host's trees that a plan shows, before any process inside can reach them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/mounts.h"
#include "launch/inside.h"

/* Is the path in a hidden tree? Nothing of the host is visible there, and nothing can be mounted. */
static bool lies_in_masked(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == OP_HIDE && !operation->is_pattern && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

bool trees_has_copy(const struct launch *launch, const struct operation *operation)
{
    bool is_copy = operation->kind == OP_COPY || operation->kind == OP_SIFT;
    return is_copy && operations_show(launch->operations, operation->source) &&
           !lies_in_masked(launch->operations, operation->source);
}

bool trees_has(const struct operation *operation)
{
    return (operation->kind == OP_BIND_READ && !furnish_is_own_view(operation->path) &&
            !furnish_makes(operation)) ||
           operation->kind == OP_BIND_WRITE || (operation->kind == OP_SEED && operation->overlay) ||
           operation->kind == OP_SOCKET || operation->kind == OP_HOME ||
           (operation->kind == OP_FREEZE && !operation->missing);
}

/* The ids of pseudo file systems cannot be mapped and need not be. A tmpfs is an ordinary file system here. */
static bool lies_in_kernel_tree(const char *path)
{
    return path_is_beneath(path, "/sys") || path_is_beneath(path, "/proc") ||
           (path_is_beneath(path, "/dev") && !path_is_beneath(path, "/dev/shm"));
}

/* Only a rule that names a device, or a directory of devices, shows one; other device nodes cannot be opened. */
bool trees_has_device(const struct operation *operation)
{
    return operation->kind == OP_BIND_WRITE && path_is_beneath(operation->path, "/dev") &&
           strcmp(operation->path, "/dev") != 0;
}

/*
 * Opens the path of a rule without following links. Paths of the plan have none, so a link was made since, perhaps by
 * another run. Only root can change / and its entries: for those, opening the name without following it is enough.
 * Returns a descriptor, or AT_FDCWD for those.
 */
static int open_place(const char *path, struct err *err)
{
    const char *second = strchr(path + 1, '/');
    if (!second || !strchr(second + 1, '/'))
        return AT_FDCWD;
    int fd = open_absolute(path, O_PATH);
    if (fd >= 0 || errno != ELOOP)
        return fd >= 0 ? fd : err_sys(err, errno, "cannot open %s to show it in the sandbox", path);
    err_set(
        err,
        "cannot show %s in the sandbox: its path now leads through a symbolic link that was not there before",
        path);
    return err_hint(err, "find out who put it there, and try again");
}

int trees_open_one(const struct launch *launch, const struct operation *operation, int userns_fd,
                   struct err *err)
{
    bool is_copied = operation->kind == OP_BIND_WRITE && operation->source;
    const char *source = operation->kind == OP_HOME ? launch->home
                         : is_copied                ? operation->source
                                                    : operation->path;
    bool read_only =
        operation->kind == OP_BIND_READ || operation->kind == OP_FREEZE || operation->kind == OP_SEED;
    auto_fd int place = source == operation->path ? open_place(source, err) : AT_FDCWD;
    if (place == -1)
        return -1;
    auto_fd int fd = mount_open_restricted(place, place == AT_FDCWD ? source : "", read_only,
                                           trees_has_device(operation), err);
    if (fd < 0)
        return -1;
    bool keeps_ids = operation->is_public || lies_in_kernel_tree(source);
    if (userns_fd >= 0 && !keeps_ids && mount_map_ids(fd, userns_fd, err) < 0) {
        struct err why = *err;
        err_set(err, "root inside would be root outside for %s: %s", source, why.message);
        return err_hint(
            err,
            "run bawn as an ordinary user, or move the files to a file system that can map ids; --degrade=root runs without this wall");
    }
    return fd_take(&fd);
}

/* Opens the copy in the private home. -1 if there is none of the same kind: nothing is shown then. */
static int open_copy(const struct launch *launch, const struct operation *operation, int userns_fd)
{
    struct err ignored;
    struct stat status;
    const char *destination = operations_destination(launch->operations, operation);
    auto_fd int home = destination ? open(launch->home, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    auto_fd int place = home < 0 ? -1 : open_beneath(home, destination + 1, O_PATH, 0);
    if (place < 0 || fstat(place, &status) < 0 || S_ISDIR(status.st_mode) != operation->is_directory ||
        !(S_ISDIR(status.st_mode) || S_ISREG(status.st_mode)))
        return -1;
    auto_fd int tree = mount_open_restricted(place, "", false, false, &ignored);
    if (tree < 0 || (userns_fd >= 0 && mount_map_ids(tree, userns_fd, &ignored) < 0))
        return -1;
    return fd_take(&tree);
}

static int open_shown(const struct launch *launch, const struct operation *operation, int userns_fd,
                      struct shown *shown, struct err *err)
{
    if (trees_has_copy(launch, operation))
        shown->tree = open_copy(launch, operation, userns_fd);
    if (trees_has(operation) && (shown->tree = trees_open_one(launch, operation, userns_fd, err)) < 0)
        return -1;
    if (operation->overlay) {
        struct operation folder = {.kind = OP_BIND_WRITE, .path = operation->overlay};
        shown->overlay = trees_open_one(launch, &folder, userns_fd, err);
        return shown->overlay < 0 ? -1 : 0;
    }
    return 0;
}

int trees_open(const struct launch *launch, int userns_fd, struct shown *shown, struct err *err)
{
    for (size_t i = 0; i < launch->operations->count; i++) {
        shown[i] = (struct shown){-1, -1};
        if (open_shown(launch, &launch->operations->at[i], userns_fd, &shown[i], err) < 0)
            return -1;
    }
    return 0;
}
