/*
 * The standard streams. They are opened outside, on the host's own mounts, and so lead around what mounts inside do. A directory leads around the
 * root. A file can be opened once more, for writing, by its link in /proc: Landlock denies that unless the file lies in a tree that may be
 * written. There it knows nothing of the mounts over what is frozen, hidden, copied or only to be read. Where Landlock has no rules on files, nothing denies it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "launch/inside.h"

/* The same file by another path, too. Returns -1 if that cannot be told. */
static int is_file_at(const struct stat *stream, const char *path, struct err *err)
{
    struct stat frozen;
    if (stat(path, &frozen) == 0)
        return frozen.st_dev == stream->st_dev && frozen.st_ino == stream->st_ino;
    if (errno == ENOENT || errno == ENOTDIR)
        return 0;
    err_sys(err, errno, "cannot look at %s, which is frozen", path);
    return err_hint(err, "redirect the standard streams from or to a pipe or a terminal");
}

/* Is the file, or a directory above it, hidden in a tree that may be written? */
static bool is_hidden(const struct operations *operations, const char *place)
{
    not_zeroed char path[PATH_MAX];
    vec_each (const struct operation, tree, operations) {
        if (tree->kind != OP_BIND_WRITE || !path_is_beneath(place, tree->path))
            continue;
        size_t size = strlen(place);
        memcpy(path, place, size + 1);
        for (; size > strlen(tree->path); size = path_parent_size(place, size)) {
            path[size] = '\0';
            if (operations_hide(operations, tree, path))
                return true;
        }
    }
    return false;
}

/* The path that a mount keeps from being written in a tree that may be written; NULL: none, or a match of a pattern. */
static const char *kept_place(const struct operations *operations, const struct operation *operation)
{
    const char *path = operation->kind == OP_COPY || operation->kind == OP_SIFT ? operation->source
                       : operations_cover(operations, operation)                ? operation->path
                                                                                : NULL;
    return path && operations_write_above(operations, path) ? path : NULL;
}

/* Is the file one that a mount keeps from being written inside? Returns -1 if that cannot be told. */
static int is_kept(const struct operations *operations, const struct stat *stream, const char *place,
                   struct err *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < operations->count; i++) {
        const struct operation *operation = &operations->at[i];
        if (operation->kind == OP_FREEZE)
            result = is_file_at(stream, operation->path, err);
        const char *kept = kept_place(operations, operation);
        if (result == 0 && kept)
            result = path_is_beneath(place, kept);
    }
    return result == 0 ? is_hidden(operations, place) : result;
}

/* Could the command write the file, which the caller has opened for reading? */
static bool can_be_written(const struct operations *operations, const struct stat *stream, int fd)
{
    bool has_rules =
        !walls_have(operations->absent, WALL_LANDLOCK) && !walls_have(operations->absent, WALL_FILES);
    if (has_rules || operations_find(operations, OP_HOST) || stream->st_nlink == 0 ||
        (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
        return false;
    return stream->st_uid == geteuid() || access(fd_path(fd).text, W_OK) == 0;
}

static int check_file(const struct operations *operations, const struct stat *stream, int fd, struct err *err)
{
    not_zeroed char place[PATH_MAX];
    ssize_t size = readlink(fd_path(fd).text, place, sizeof(place));
    if (size <= 0 || (size_t)size >= sizeof(place))
        return err_sys(err, size < 0 ? errno : ENAMETOOLONG, "cannot look at standard stream %d", fd);
    place[size] = '\0';
    int is_refused = is_kept(operations, stream, place, err);
    if (is_refused < 0)
        return -1;
    if (is_refused) {
        err_set(err, "standard stream %d is a file that is frozen, hidden or read-only inside", fd);
        return err_hint(err, "redirect it from or to something else, or pass the content by a pipe");
    }
    if (!can_be_written(operations, stream, fd))
        return 0;
    err_set(err, "the command could write to standard stream %d, which is open for reading only", fd);
    return err_hint(
        err, "Landlock has no rules on files in this run; pass the content by a pipe: `cat FILE | bawn …`");
}

int streams_check(const struct operations *operations, struct err *err)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat stream;
        if (fstat(fd, &stream) < 0) {
            if (errno == EBADF) /* it is closed */
                continue;
            return err_sys(err, errno, "cannot look at standard stream %d", fd);
        }
        if (S_ISDIR(stream.st_mode)) {
            err_set(err, "standard stream %d is a directory", fd);
            return err_hint(err, "redirect it from or to something else");
        }
        if (S_ISREG(stream.st_mode) && check_file(operations, &stream, fd, err) < 0)
            return -1;
    }
    return 0;
}
