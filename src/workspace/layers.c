#include "workspace/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/mounts.h"
#include "kernel/process.h"

/* --- where they lie ----------------------------------------------------------------------------------------------- */

/* Opens the folder that `elsewhere` names, if it belongs to this user and nobody else can enter it. */
static int open_elsewhere(int folder_fd, struct buf *ret_path)
{
    auto_fd int fd = openat(folder_fd, LAYERS_ELSEWHERE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || buf_read(ret_path, fd, PATH_LONGEST) < 0)
        return -1;
    auto_fd int there = open_absolute(buf_text(ret_path), O_RDONLY | O_DIRECTORY);
    struct stat status;
    if (there < 0 || fstat(there, &status) < 0 || status.st_uid != geteuid() || status.st_mode & 077) {
        errno = ENOENT;
        return -1;
    }
    return fd_take(&there);
}

int layers_open(int folder_fd)
{
    auto_buf struct buf path = {0};
    struct stat status;
    if (fstatat(folder_fd, LAYERS_ELSEWHERE, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return open_elsewhere(folder_fd, &path);
    return open_directory_at(folder_fd, ".");
}

void layers_open_marks(int folder_fd, int ret_fds[LAYERS_MARKS])
{
    static const char *const names[] = {"work", "work", "incompat", "volatile"}; /* each in the one before */
    auto_fd int fd = layers_open(folder_fd);
    for (size_t i = 0; i < array_len(names); i++) {
        int next = fd < 0 ? -1 : directories_open_up(fd, names[i], S_IRWXU);
        fd_close(fd);
        fd = next;
        if (i + LAYERS_MARKS >= array_len(names))
            ret_fds[i + LAYERS_MARKS - array_len(names)] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
}

static uint64_t disk_use(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/", fd);
    char *const tops[] = {path, NULL};
    FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    uint64_t bytes = 0;
    for (const FTSENT *entry; walk && (entry = fts_read(walk));) {
        bool has_status =
            entry->fts_info != FTS_DP && entry->fts_info != FTS_NS && entry->fts_info != FTS_ERR;
        bytes += has_status ? (uint64_t)entry->fts_statp->st_blocks * 512 : 0;
    }
    if (walk)
        fts_close(walk);
    return bytes;
}

uint64_t layers_disk_use(int folder_fd)
{
    auto_buf struct buf path = {0};
    auto_fd int elsewhere_fd = open_elsewhere(folder_fd, &path);
    return disk_use(folder_fd) + (elsewhere_fd < 0 ? 0 : disk_use(elsewhere_fd));
}

void layers_forget(int folder_fd)
{
    auto_buf struct buf path = {0};
    auto_fd int fd = open_elsewhere(folder_fd, &path);
    if (fd >= 0)
        rmdir(buf_text(&path));
    unlinkat(folder_fd, LAYERS_ELSEWHERE, 0);
}

/* --- what an overlay cannot do here ------------------------------------------------------------------------------- */

/* File systems that the kernel does not accept as an upper layer. */
static const char *unfit_file_system(int fd)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } unfit[] = {{OVERLAYFS_SUPER_MAGIC, "an overlay, as in most containers"},
                 {NFS_SUPER_MAGIC, "NFS"},
                 {SMB_SUPER_MAGIC, "SMB"},
                 {MSDOS_SUPER_MAGIC, "FAT"},
                 {FUSE_SUPER_MAGIC, "FUSE"}};
    struct statfs status;
    if (fstatfs(fd, &status) < 0)
        return NULL;
    for (size_t i = 0; i < array_len(unfit); i++) {
        if ((unsigned long)status.f_type == unfit[i].magic)
            return unfit[i].name;
    }
    return NULL;
}

/* An overlay shows the mount points inside its lower tree as empty. */
static int refuse_mounts_inside(const char *workspace, struct err *err)
{
    FILE *table = fopen("/proc/self/mounts", "re");
    char line[2 * PATH_LONGEST];
    int result = 0;
    while (table && result == 0 && fgets(line, sizeof(line), table)) {
        char *point = strchr(line, ' ');
        if (!point)
            continue;
        point[1 + strcspn(point + 1, " ")] = '\0';
        mount_unescape(point + 1);
        if (path_is_beneath(point + 1, workspace) && strcmp(point + 1, workspace) != 0) {
            err_set(err, "%s is a mount in the workspace, which would be empty under an overlay", point + 1);
            result = err_hint(err, "unmount it, or run without --review");
        }
    }
    if (table)
        fclose(table);
    return result;
}

/* In a user namespace only the user's own ids are mapped. A file of another user cannot be copied into the layer. */
static const char *find_foreign(struct arena *arena, const char *covered)
{
    enum { LOOKED_AT = 2000 };
    char *const tops[] = {(char *)covered, NULL};
    FTS *walk = process_is_real_root() ? NULL : fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const char *found = NULL;
    size_t looked = 0;
    for (const FTSENT *entry; walk && !found && looked < LOOKED_AT && (entry = fts_read(walk)); looked++) {
        bool has_status = entry->fts_info == FTS_F || entry->fts_info == FTS_D;
        if (has_status && (entry->fts_statp->st_uid != geteuid() || entry->fts_statp->st_gid != getegid()))
            found = arena_str(arena, entry->fts_path);
    }
    if (walk)
        fts_close(walk);
    return found;
}

const char *layers_make_in(int fd)
{
    const char *unfit = unfit_file_system(fd);
    if (unfit)
        return unfit;
    if (mkdirat(fd, "upper", 0700) == 0 && mkdirat(fd, "work", 0700) == 0) {
        auto_fd int upper = openat(fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (upper >= 0 && fsetxattr(upper, "user.bawn", "", 0, 0) == 0 &&
            fremovexattr(upper, "user.bawn") == 0)
            return NULL;
        unfit = "one without extended attributes";
    } else {
        unfit = strerrordesc_np(errno);
    }
    unlinkat(fd, "upper", AT_REMOVEDIR);
    unlinkat(fd, "work", AT_REMOVEDIR);
    return unfit;
}

/*
 * Makes a folder of that name for both layers. The session's file `elsewhere` names it before it exists: whenever bawn is
 * killed, the next one finds it. Returns whether it works there.
 */
static bool make_at(int folder_fd, const char *path)
{
    const struct new_file note = {
        .temporary = LAYERS_ELSEWHERE ".new", .bytes = path, .size = strlen(path), .mode = 0600};
    if (replace_file(folder_fd, LAYERS_ELSEWHERE, &note) < 0)
        return false;
    auto_fd int fd = mkdir(path, 0700) < 0 ? -1 : open_directory_at(AT_FDCWD, path);
    if (fd >= 0 && !layers_make_in(fd))
        return true;
    if (fd >= 0)
        rmdir(path);
    unlinkat(folder_fd, LAYERS_ELSEWHERE, 0);
    return false;
}

/* Tries folders on other file systems. Their paths have no symlink, since the layers are opened through none. */
static const char *make_elsewhere(int folder_fd, const char *runtime_folder, struct arena *arena)
{
    const char *const places[] = {"/var/tmp", "/tmp", runtime_folder, "/dev/shm"};
    for (size_t i = 0; i < array_len(places); i++) {
        uint64_t number;
        char *place = places[i] ? realpath(places[i], NULL) : NULL;
        if (!place || getrandom(&number, sizeof(number), 0) != sizeof(number)) {
            free(place);
            continue;
        }
        const char *path = arena_printf(arena, "%s/bawn-layer-%016" PRIx64, place, number);
        free(place);
        if (make_at(folder_fd, path))
            return path;
    }
    return NULL;
}

struct trial {
    const char *covered;
    int layers_fd;
};

static int try_overlay(void *context, struct err *err)
{
    const struct trial *trial = context;
    auto_fd int lower = open(trial->covered, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (lower < 0 || unshare(CLONE_NEWNS) < 0 || fchdir(trial->layers_fd) < 0)
        return err_sys(err, errno, "cannot try an overlay");
    char below[64];
    snprintf(below, sizeof(below), "lowerdir=/proc/self/fd/%d", lower);
    const char *const options[] = {below, "upperdir=upper", "workdir=work", "userxattr", "volatile", NULL};
    auto_fd int overlay = mount_new("overlay", options, false, false, err);
    return overlay < 0 ? -1 : 0;
}

/*
 * If the tree itself is on an overlay, as in most containers, the kernel may refuse another overlay above it. Only a
 * trial tells.
 */
static const char *refused_by_kernel(struct arena *arena, const char *covered, int layers_fd)
{
    struct statfs system;
    struct err err = {0};
    struct trial trial = {covered, layers_fd};
    if (process_is_real_root() || statfs(covered, &system) < 0 || system.f_type != OVERLAYFS_SUPER_MAGIC ||
        process_in_own_namespace(try_overlay, &trial, &err) == 0)
        return NULL;
    return arena_printf(arena, "%s is on an overlay that cannot be a layer of another: %s", covered,
                        err.message);
}

int layers_make(int folder_fd, const char *folder, const char *covered, const char *runtime_folder,
                struct arena *arena, struct layers *ret_layers, struct err *err)
{
    *ret_layers = (struct layers){.folder = folder};
    if (refuse_mounts_inside(covered, err) < 0)
        return -1;
    const char *unfit = layers_make_in(folder_fd);
    if (unfit)
        ret_layers->folder = make_elsewhere(folder_fd, runtime_folder, arena);
    if (!ret_layers->folder) {
        ret_layers->why_not =
            arena_printf(arena, "the file system of %s is %s, and no other one was found", folder, unfit);
        return 0;
    }
    auto_fd int layers_fd = layers_open(folder_fd);
    auto_fd int upper = layers_fd < 0 ? -1 : openat(layers_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs system;
    struct stat status;
    /* This directory becomes the top of the tree inside, and must have the same mode. */
    if (upper < 0 || stat(covered, &status) < 0 || fchmod(upper, status.st_mode & 0777) < 0 ||
        fstatfs(upper, &system) < 0)
        return err_sys(err, errno, "cannot make room in %s", ret_layers->folder);
    ret_layers->is_memory = system.f_type == TMPFS_MAGIC;
    ret_layers->foreign = find_foreign(arena, covered);
    ret_layers->why_not = refused_by_kernel(arena, covered, layers_fd);
    return 0;
}
