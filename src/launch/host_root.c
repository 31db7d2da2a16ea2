/*
 * The root for full access: the host's own tree, in which nothing is made, because it is the host's. Only processes are
 * the sandbox's own, and so is the /proc that tells of them.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "kernel/mounts.h"
#include "launch/inside.h"

bool host_root_is_wanted(const struct operations *operations)
{
    for (size_t i = 0; operations && i < operations->count; i++) {
        if (operations->at[i].kind == OP_HOST)
            return true;
    }
    return false;
}

int host_root_prepare(struct root *root, struct err *err)
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
