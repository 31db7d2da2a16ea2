/*
 * Mounts, by descriptor: a tree is opened, its attributes are set while nobody else can reach it, and only then is it
 * moved to its place. Thin wrappers; what goes where is the caller's business.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

/*
 * A private copy of the mounts at a path (no link at its end is followed), not yet visible anywhere. Returns its fd. An
 * empty path means the place that dirfd is open at.
 */
int mount_open_tree(int dirfd, const char *path, struct err *err) must_check;

/* The same, and for every mount of the tree: no set-uid programs, no devices; read-only if so wanted. */
int mount_open_restricted(int dirfd, const char *path, bool read_only, bool allow_devices, struct err *err)
    must_check;

/*
 * A read-only copy of just the file or directory that fd (O_PATH) names, without what is mounted over it or in it; neither
 * set-uid programs nor devices. Before Linux 6.15 copies are made only of what can be seen, and so fd is not a tree's.
 */
int mount_open_covered(int fd, struct err *err) must_check;

/* What is mounted at this place, and below it, can only be read from now on. */
int mount_make_read_only(int fd, struct err *err) must_check;

/* For every mount of the tree: ids are shown as the user namespace maps them. */
int mount_map_ids(int tree_fd, int userns_fd, struct err *err) must_check;

/* A new file system ("tmpfs", "proc", "devpts"), not yet visible anywhere. Options are "key=value" or flags. */
int mount_new(const char *type, const char *const *options, bool read_only, bool allow_devices,
              struct err *err) must_check;

/* Changes an option, such as "size=1M", of the file system that is mounted at a path below dirfd. */
int mount_reconfigure(int dirfd, const char *path, const char *option, struct err *err) must_check;

/* Shows the tree at the place that target_fd (O_PATH) names. */
int mount_attach(int tree_fd, int target_fd, const char *shown, struct err *err) must_check;

/* The same for a name in a directory; a link is not followed. */
int mount_attach_at(int tree_fd, int directory_fd, const char *name, const char *shown, struct err *err)
    must_check;

/* Is the place that fd (O_PATH) names the root of a mount (and, if so asked, of a read-only one)? */
bool mount_is_pinned(int fd, bool read_only);

/* No mount event travels between this mount namespace and the one it was copied from. */
int mount_detach_propagation(struct err *err) must_check;

/* Makes the tree at new_root_fd the root of this mount namespace, and lets go of the old one. */
int mount_switch_root(int new_root_fd, struct err *err) must_check;

/* A path of the kernel's tables of mounts, which writes a space, a tab, the end of a line and a backslash as \040 and so on. */
void mount_unescape(char *path);
