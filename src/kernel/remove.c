
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/directories.h"

/* A tree can be deeper than the number of descriptors allows. */
enum { DEEPEST = 64 };

struct removal {
    int top_fd; /* the tree's top; directories that are too deep are moved here first */
    unsigned moved;
    uint64_t removed;
    struct progress *progress;
};

static int empty_directory(struct removal *removal, int fd, unsigned depth);

/* Moves a deep directory to the top, under a free name. */
static int move_up(struct removal *removal, int parent_fd, const char *name)
{
    char moved[64];
    do {
        snprintf(moved, sizeof(moved), "deep-%u", ++removal->moved);
        if (renameat2(parent_fd, name, removal->top_fd, moved, RENAME_NOREPLACE) == 0)
            return 0;
    } while (errno == EEXIST);
    return -1;
}

static int remove_entry(struct removal *removal, int parent_fd, const char *name, unsigned depth)
{
    progress_tell(removal->progress, removal->removed++, 0);
    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return -1;
    if (depth >= DEEPEST)
        return move_up(removal, parent_fd, name);
    auto_fd int fd = directories_open_up(parent_fd, name, S_IRWXU);
    if (fd < 0 || empty_directory(removal, fd, depth + 1) < 0)
        return -1;
    return unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static int empty_directory(struct removal *removal, int fd, unsigned depth)
{
    auto_dir DIR *directory = directories_list(fd);
    if (!directory)
        return -1;
    int result = 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));)
        result = remove_entry(removal, fd, entry->d_name, depth);
    if (trouble)
        errno = trouble;
    return trouble ? -1 : result;
}

int remove_tree(int parent_fd, const char *name, struct err *err)
{
    return remove_tree_telling(parent_fd, name, NULL, err);
}

int remove_tree_telling(int parent_fd, const char *name, struct progress *progress, struct err *err)
{
    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    auto_fd int fd = errno == EISDIR ? directories_open_up(parent_fd, name, S_IRWXU) : -1;
    if (fd < 0)
        return err_sys(err, errno, "cannot remove %s", name);
    struct removal removal = {.top_fd = fd, .progress = progress};
    unsigned moved;
    do {
        moved = removal.moved;
        if (empty_directory(&removal, fd, 0) < 0)
            return err_sys(err, errno, "cannot remove %s", name);
    } while (removal.moved != moved);
    return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? err_sys(err, errno, "cannot remove %s", name) : 0;
}
