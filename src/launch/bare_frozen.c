/*
 * The frozen objects of a plan, by inode: a frozen file, everything in a frozen directory, and the directories on the way from the
 * tree that may be written. A name is kept beside, because the host may put another object there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "launch/bare.h"

enum { MOST_FROZEN = 65536, DEEPEST = 64 };

static int add_object(struct bare *bare, int fd, const char *path, bool is_way, struct stat *ret_status,
                      struct err *err)
{
    if (fstat(fd, ret_status) < 0)
        return err_sys(err, errno, "cannot look at %s, which is frozen", path);
    if (bare->frozen.count == MOST_FROZEN)
        return err_set(err, "there are more than %d frozen files", MOST_FROZEN);
    vec_push(&bare->frozen, (struct frozen_object){ret_status->st_dev, ret_status->st_ino, is_way});
    return 0;
}

/* Adds an object and, below a directory, everything in it. */
static int add_tree(struct bare *bare, int fd, const char *path, unsigned depth, struct err *err)
{
    struct stat status;
    if (add_object(bare, fd, path, false, &status, err) < 0)
        return -1;
    if (!S_ISDIR(status.st_mode))
        return 0;
    if (depth == DEEPEST)
        return err_set(err, "%s is frozen and too deep", path);
    auto_dir DIR *directory = directories_take(open_directory_at(fd, "."));
    if (!directory)
        return err_sys(err, errno, "cannot list %s, which is frozen", path);
    int result = 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));) {
        auto_fd int child = openat(dirfd(directory), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        result = child < 0 ? err_sys(err, errno, "cannot open %s/%s, which is frozen", path, entry->d_name)
                           : add_tree(bare, child, path, depth + 1, err);
    }
    return result == 0 && trouble ? err_sys(err, trouble, "cannot list %s, which is frozen", path) : result;
}

/* The directories above a frozen path, up to the outermost tree that may be written: none may be moved. */
static int add_way(struct bare *bare, const char *path, struct err *err)
{
    for (size_t size = path_parent_size(path, strlen(path)); size > 1; size = path_parent_size(path, size)) {
        const char *directory = arena_copy(&bare->arena, path, size);
        auto_fd int fd = open_absolute(directory, O_PATH | O_DIRECTORY);
        struct stat status;
        if (fd < 0)
            return err_sys(err, errno, "cannot open %s, which holds a frozen path", directory);
        if (add_object(bare, fd, directory, true, &status, err) < 0)
            return -1;
        if (size == path_parent_size(path, strlen(path)))
            vec_push(&bare->names, (struct frozen_name){status.st_dev, status.st_ino, path_name(path)});
        if (!bare_is_written(bare, path_parent(&bare->arena, directory)))
            return 0;
    }
    return 0;
}

/* A missing path has no object to protect from a call. Git's control files get stubs; what appears at another missing path is
 * moved aside at the end. */
static int add_operation(struct bare *bare, const struct operation *operation, struct err *err)
{
    const char *path = operation->source ? operation->source : operation->path;
    vec_push(&bare->paths, path);
    if (operation->missing)
        return 0;
    auto_fd int fd = open_absolute(path, O_PATH);
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s, which is frozen", path);
    return add_tree(bare, fd, path, 0, err) < 0 ? -1 : add_way(bare, path, err);
}

int bare_find_frozen(struct bare *bare, struct err *err)
{
    const struct operations *operations = bare->launch->operations;
    vec_each (const struct operation, operation, operations) {
        const char *path = operation->kind == OP_HOME ? bare->launch->home
                           : operation->source        ? operation->source
                                                      : operation->path;
        if (operation->kind == OP_HOME || (operation->kind == OP_BIND_WRITE && !trees_has_device(operation)))
            vec_push(&bare->written, path);
    }
    if (bare->launch->scratch)
        vec_push(&bare->written, bare->launch->scratch);
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == OP_FREEZE && add_operation(bare, operation, err) < 0)
            return -1;
    }
    return 0;
}

bool bare_has_frozen(const struct bare *bare)
{
    return bare->frozen.count > 0;
}

bool bare_is_frozen(const struct bare *bare, const struct stat *object, bool as_name)
{
    vec_each (const struct frozen_object, frozen, &bare->frozen) {
        if (frozen->inode == object->st_ino && frozen->device == object->st_dev &&
            (as_name || !frozen->is_way))
            return true;
    }
    return false;
}

bool bare_is_frozen_name(const struct bare *bare, int directory_fd, const char *name)
{
    struct stat directory;
    bool is_known = false;            /* most names are like no frozen one: their directory does not matter */
    size_t size = strcspn(name, "/"); /* "name/" is the same name */
    vec_each (const struct frozen_name, frozen, &bare->names) {
        if (strlen(frozen->name) != size || memcmp(frozen->name, name, size) != 0)
            continue;
        if (!is_known && fstat(directory_fd, &directory) < 0)
            return true;
        is_known = true;
        if (frozen->inode == directory.st_ino && frozen->device == directory.st_dev)
            return true;
    }
    return false;
}
