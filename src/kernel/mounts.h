/*
 * Mounts, by descriptor: a tree is opened, gets its attributes while nobody else can reach it, and is then moved to its place.
 * Thin wrappers; the caller decides what goes where.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

/*
 * A private copy of the mounts at a path (a symlink at its end is not followed), not yet visible. Returns its fd. An empty path
 * means dirfd itself.
 */
int mount_open_tree(int dirfd, const char *path, struct err *err) must_check;

/* The same; every mount of the tree is nosuid and nodev, and on request read-only. */
int mount_open_restricted(int dirfd, const char *path, bool read_only, bool allow_devices, struct err *err)
    must_check;

/*
 * A read-only nosuid, nodev copy of just the file or directory fd (O_PATH), without mounts over or in it. Before Linux 6.15
 * only visible mounts can be copied, so fd must not be in a detached tree.
 */
int mount_open_covered(int fd, struct err *err) must_check;

/* What is mounted at this place, and below it, can only be read from now on. */
int mount_make_read_only(int fd, struct err *err) must_check;

/* Maps ids in every mount of the tree as in the user namespace. */
int mount_map_ids(int tree_fd, int userns_fd, struct err *err) must_check;

/* A new file system ("tmpfs", "proc", "devpts"), not yet visible. Options are "key=value" or flags. */
int mount_new(const char *type, const char *const *options, bool read_only, bool allow_devices,
              struct err *err) must_check;

/* Changes an option, such as "size=1M", of the file system mounted at a path below dirfd. */
int mount_reconfigure(int dirfd, const char *path, const char *option, struct err *err) must_check;

/* Attaches the tree at target_fd (O_PATH). */
int mount_attach(int tree_fd, int target_fd, const char *shown, struct err *err) must_check;

/* The same for a name in a directory; a symlink is not followed. */
int mount_attach_at(int tree_fd, int directory_fd, const char *name, const char *shown, struct err *err)
    must_check;

/*
 * Moves the mount of that name in a directory over target_fd (O_PATH), where it lies in nobody's way until its new parent is unmounted.
 * Returns 0, also if nothing is mounted there, or -1 with errno.
 */
int mount_move_away(int directory_fd, const char *name, int target_fd) must_check;

/* Is fd (O_PATH) the root of a mount, and on request a read-only one? */
bool mount_is_pinned(int fd, bool read_only);

/* No mount event travels between this mount namespace and the one it was copied from. */
int mount_detach_propagation(struct err *err) must_check;

/* Makes the tree new_root_fd the root of this mount namespace, and detaches the old root. */
int mount_switch_root(int new_root_fd, struct err *err) must_check;

/* Decodes a path of mountinfo, in which space, tab, newline and backslash are \040 and so on. */
void mount_unescape(char *path);
