#include "cli/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "session/load.h"

int destination_open(struct arena *arena, const struct policy_request *request, const char *asked,
                     const char *name, const char **ret_path, struct err *err)
{
    const char *path = load_path(arena, request, asked);
    auto_fd int there_fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    if (there_fd >= 0 && name) {
        *ret_path = path_join(arena, path, name);
        return fd_take(&there_fd);
    }
    *ret_path = path;
    int fd = there_fd < 0 && errno == ELOOP ? -1 : open_parent_absolute(path);
    if (fd >= 0)
        return fd;
    if (errno != ELOOP)
        return err_sys(err, errno, "cannot open the directory of %s", path);
    err_set(err, "%s is, or lies behind, a symbolic link, and those are not followed", path);
    return err_hint(err, "name the real path, if the file should go there");
}

int destination_write(struct arena *arena, const struct policy_request *request, const char *asked,
                      const struct buf *text, struct err *err)
{
    const char *path = NULL;
    struct stat there;
    auto_fd int folder_fd = destination_open(arena, request, asked, NULL, &path, err);
    if (folder_fd < 0)
        return -1;
    const char *name = path_name(path);
    if (fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode))
        return err_set(err, "%s exists, and is not a regular file", path);
    const struct new_file file = {.temporary = arena_printf(arena, ".%s.%d", name, (int)getpid()),
                                  .bytes = text->bytes,
                                  .size = text->size,
                                  .mode = 0600};
    return replace_file(folder_fd, name, &file) < 0 ? err_sys(err, errno, "cannot write %s", path) : 0;
}
