/* Searches for other names of a frozen file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "hold/hold.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_ENTRIES = 2000000, DEEPEST = 128 };

struct search {
    struct arena *arena;
    const struct file_content *content;
    size_t entries;
    int trouble; /* the errno with which this machine failed to search a directory, or 0 */
};

static void note_trouble(struct search *search, int errnum)
{
    if (errno_is_of_machine(errnum))
        search->trouble = errnum;
}

/* Owns the descriptor. Directory entries contain the inode, so that no file is opened. */
static const char *search_directory(struct search *search, int directory_fd, const char *path, unsigned depth)
{
    auto_dir DIR *directory = depth > DEEPEST ? NULL : fdopendir(directory_fd);
    const char *found = NULL;
    if (!directory) {
        note_trouble(search, depth > DEEPEST ? 0 : errno);
        close(directory_fd);
    }
    int trouble = 0;
    for (const struct dirent *entry; directory && !found && search->entries < MOST_ENTRIES &&
                                     (entry = directories_next(directory, &trouble));) {
        search->entries++;
        struct stat status;
        bool may_be = entry->d_ino == search->content->inode && entry->d_type != DT_DIR;
        if (may_be && fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_dev == search->content->device) {
            const char *full = path_join(search->arena, path, entry->d_name);
            found = strcmp(full, search->content->path) != 0 ? full : NULL;
            continue;
        }
        int fd = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN
                     ? open_directory_at(dirfd(directory), entry->d_name)
                     : -1;
        if (fd >= 0)
            found = search_directory(search, fd, path_join(search->arena, path, entry->d_name), depth + 1);
        else if (entry->d_type == DT_DIR)
            note_trouble(search, errno);
    }
    note_trouble(search, trouble);
    return found;
}

/* Returns a name of the file in a file or tree, NULL: none. */
static const char *search_in(struct search *search, const char *path)
{
    struct stat status;
    search->entries = 0;
    auto_fd int place = open_absolute(path, O_PATH);
    if (place < 0 || fstat(place, &status) < 0) {
        note_trouble(search, errno);
        return NULL;
    }
    if (!S_ISDIR(status.st_mode))
        return status.st_ino == search->content->inode && status.st_dev == search->content->device ? path
                                                                                                   : NULL;
    int fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    if (fd >= 0)
        return search_directory(search, fd, path, 0);
    note_trouble(search, errno);
    return NULL;
}

static int tell(const struct search *search, const char *found, const char **ret_alias, struct err *err)
{
    if (!found && search->trouble)
        return err_sys(err, search->trouble, "cannot look for hard links of %s, which is frozen",
                       search->content->path);
    *ret_alias = found;
    return 0;
}

int alias_find_in(const struct hold *hold, const struct file_content *content, const char *path,
                  const char **ret_alias, struct err *err)
{
    struct search search = {hold->arena, content, 0, 0};
    const char *found = search_in(&search, path);
    return tell(&search, found, ret_alias, err);
}

int alias_find(const struct hold *hold, const struct file_content *content, const char **ret_alias,
               struct err *err)
{
    const char *found = NULL;
    struct search search = {hold->arena, content, 0, 0};
    for (size_t i = 0; !found && i < hold->plan->operations.count; i++) {
        const struct operation *operation = &hold->plan->operations.at[i];
        if (operation->kind != OP_BIND_WRITE || !operation->is_directory)
            continue;
        found = search_in(&search, operation->path);
    }
    return tell(&search, found, ret_alias, err);
}
