/*
 * Changes the mounts by the new system calls, which work on descriptors.
 *
 * Why: filters that were written before these calls existed let them through.
 * Seen: container runtimes whose seccomp profile refused mount and knew nothing of fsopen.
 *
 * case fsopen: fsopen => EPERM fsopen | control-in m
 *   kernel: open a file system to mount (fsopen)
 * case fspick: fspick => EPERM fspick | control-in m | control-by root
 * case open-tree-clone: clone => EPERM open_tree | control-in m
 *   kernel: clone a tree of mounts (open_tree)
 * case open-tree-plain: plain => EPERM open_tree
 *   kernel: open a tree of mounts
 * case move-mount: move => EPERM move_mount | control EINVAL move_mount | control-in m
 *   kernel: move a mount (move_mount)
 * case mount-setattr: setattr => EPERM mount_setattr | control-in m
 *   kernel: make a read-only mount writable (mount_setattr)
 */
#include <linux/mount.h>
#include <sys/mount.h>

#include "attack.h"

ATTACK(new_mount)
{
    const char *act = argument(argc, argv, 1);
    struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
    if (strcmp(act, "fsopen") == 0)
        must(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
    else if (strcmp(act, "fspick") == 0)
        must(syscall(SYS_fspick, AT_FDCWD, "/", 0), "fspick");
    else if (strcmp(act, "clone") == 0)
        must(syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), "open_tree");
    else if (strcmp(act, "plain") == 0)
        must(syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLOEXEC), "open_tree");
    else if (strcmp(act, "move") == 0) /* /usr/bin is no mount, so that the kernel itself would say EINVAL */
        must(syscall(SYS_move_mount, AT_FDCWD, "/usr/bin", AT_FDCWD, "/usr", 0), "move_mount");
    else if (strcmp(act, "setattr") == 0)
        must(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attributes, sizeof(attributes)), "mount_setattr");
    else
        saw("no such act");
    done();
}
