#include "kernel/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

int directories_make(int root_fd, const char *path, struct err *err)
{
    char part[PATH_LONGEST];
    size_t size = strlen(path);
    if (size >= sizeof(part))
        return err_sys(err, ENAMETOOLONG, "cannot make %.60s...", path);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        char next = part[i];
        part[i] = '\0';
        if (mkdirat(root_fd, root_fd == AT_FDCWD ? part : part + 1, 0700) < 0 && errno != EEXIST)
            return err_sys(err, errno, "cannot make %s", part);
        part[i] = next;
    }
    return 0;
}

DIR *directories_list(int directory_fd)
{
    auto_fd int own = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = own < 0 ? NULL : fdopendir(own);
    if (directory)
        fd_take(&own); /* now the stream's */
    return directory;
}
