#include "kernel/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

static const unsigned tree_flags =
    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;

static int open_tree_with(int dirfd, const char *path, unsigned flags, struct err *err)
{
    int fd = (int)syscall(SYS_open_tree, dirfd, path, flags);
    if (fd >= 0)
        return fd;
    err_sys(err, errno, "cannot open %s to show it in the sandbox", *path ? path : "a file or a directory");
    /* A run has a descriptor open for each thing that it shows. */
    return err->errnum == EMFILE ? err_hint(err, "raise the limit of open files: ulimit -n 1024") : -1;
}

int mount_open_tree(int dirfd, const char *path, struct err *err)
{
    return open_tree_with(dirfd, path, tree_flags, err);
}

static int set_attributes(int tree_fd, struct mount_attr *attributes)
{
    return (int)syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, attributes,
                        sizeof(*attributes));
}

static int open_restricted(int dirfd, const char *path, unsigned flags, struct mount_attr *attributes,
                           struct err *err)
{
    /* Linux 6.15 does both in one call. If it fails, both steps are tried, to get the reason. */
    int at_once = (int)syscall(SYS_open_tree_attr, dirfd, path, flags, attributes, sizeof(*attributes));
    if (at_once >= 0)
        return at_once;
    auto_fd int fd = open_tree_with(dirfd, path, flags, err);
    if (fd < 0)
        return -1;
    if (set_attributes(fd, attributes) == 0)
        return fd_take(&fd);
    bool is_too_old = errno == ENOSYS;
    err_sys(err, errno, "cannot restrict a mount");
    return is_too_old ? err_hint(err, "use Linux 5.13 or later") : -1;
}

int mount_open_restricted(int dirfd, const char *path, bool read_only, bool allow_devices, struct err *err)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
    if (!allow_devices)
        attributes.attr_set |= MOUNT_ATTR_NODEV;
    if (read_only)
        attributes.attr_set |= MOUNT_ATTR_RDONLY;
    return open_restricted(dirfd, path, tree_flags, &attributes, err);
}

int mount_open_covered(int fd, struct err *err)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY,
                                    .propagation = MS_PRIVATE};
    return open_restricted(fd, "", tree_flags & ~(unsigned)AT_RECURSIVE, &attributes, err);
}

int mount_make_read_only(int fd, struct err *err)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    return set_attributes(fd, &attributes) < 0 ? err_sys(err, errno, "cannot make a mount read-only") : 0;
}

int mount_map_ids(int tree_fd, int userns_fd, struct err *err)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)userns_fd};
    return set_attributes(tree_fd, &attributes) < 0 ? err_sys(err, errno, "cannot map the ids of a mount")
                                                    : 0;
}

/* One option: "size=1M" is a string, "newinstance" a flag. */
static int configure(int context_fd, const char *option)
{
    const char *equals = strchr(option, '=');
    if (!equals)
        return (int)syscall(SYS_fsconfig, context_fd, FSCONFIG_SET_FLAG, option, NULL, 0);
    char key[32];
    size_t size = (size_t)(equals - option);
    if (size >= sizeof(key)) {
        errno = EINVAL;
        return -1;
    }
    memcpy(key, option, size);
    key[size] = '\0';
    return (int)syscall(SYS_fsconfig, context_fd, FSCONFIG_SET_STRING, key, equals + 1, 0);
}

int mount_new(const char *type, const char *const *options, bool read_only, bool allow_devices,
              struct err *err)
{
    auto_fd int context_fd = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
    if (context_fd < 0)
        return err_sys(err, errno, "cannot make a %s", type);
    for (; options && *options; options++) {
        if (configure(context_fd, *options) < 0)
            return err_sys(err, errno, "cannot make a %s with %s", type, *options);
    }
    if (syscall(SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return err_sys(err, errno, "cannot make a %s", type);
    unsigned attributes =
        MOUNT_ATTR_NOSUID | (allow_devices ? 0 : MOUNT_ATTR_NODEV) | (read_only ? MOUNT_ATTR_RDONLY : 0);
    int fd = (int)syscall(SYS_fsmount, context_fd, FSMOUNT_CLOEXEC, attributes);
    return fd < 0 ? err_sys(err, errno, "cannot mount a %s", type) : fd;
}

static int attach(int tree_fd, int directory_fd, const char *name, unsigned flags, const char *shown,
                  struct err *err)
{
    if (syscall(SYS_move_mount, tree_fd, "", directory_fd, name, MOVE_MOUNT_F_EMPTY_PATH | flags) < 0)
        return err_sys(err, errno, "cannot show %s in the sandbox", shown);
    return 0;
}

int mount_reconfigure(int dirfd, const char *path, const char *option, struct err *err)
{
    auto_fd int context_fd =
        (int)syscall(SYS_fspick, dirfd, path, FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT | FSPICK_SYMLINK_NOFOLLOW);
    if (context_fd < 0 || configure(context_fd, option) < 0 ||
        syscall(SYS_fsconfig, context_fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return err_sys(err, errno, "cannot set %s of /%s", option, path);
    return 0;
}

int mount_attach(int tree_fd, int target_fd, const char *shown, struct err *err)
{
    return attach(tree_fd, target_fd, "", MOVE_MOUNT_T_EMPTY_PATH, shown, err);
}

int mount_attach_at(int tree_fd, int directory_fd, const char *name, const char *shown, struct err *err)
{
    return attach(tree_fd, directory_fd, name, 0, shown, err);
}

int mount_move_away(int directory_fd, const char *name, int target_fd)
{
    if (syscall(SYS_move_mount, directory_fd, name, target_fd, "", MOVE_MOUNT_T_EMPTY_PATH) == 0)
        return 0;
    bool is_missing = errno == ENOENT || errno == EINVAL; /* EINVAL: it is no mount */
    return is_missing ? 0 : -1;
}

bool mount_is_pinned(int fd, bool read_only)
{
    struct statx status;
    struct statvfs file_system;
    bool is_root = statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
                   (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
    return is_root && (!read_only || (fstatvfs(fd, &file_system) == 0 && (file_system.f_flag & ST_RDONLY)));
}

int mount_detach_propagation(struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_sys(err, errno, "cannot separate the sandbox's mounts from this machine's");
    return 0;
}

int mount_switch_root(int new_root_fd, struct err *err)
{
    /* Both places may be the same: the old root is then on top of the new one, and is unmounted. */
    if (fchdir(new_root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return err_sys(err, errno, "cannot enter the sandbox's root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_sys(err, errno, "cannot unmount this machine's root");
    return 0;
}

void mount_unescape(char *path)
{
    char *end = path;
    for (const char *at = path; *at; at++) {
        int byte = *at;
        if (at[0] == '\\' && at[1] && at[2] && at[3]) {
            byte = (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0');
            at += 3;
        }
        *end++ = (char)byte;
    }
    *end = '\0';
}
