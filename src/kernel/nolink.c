#include "kernel/nolink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

int nolink_open(int root_fd, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

int nolink_open_absolute(const char *path, int flags)
{
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root_fd < 0 ? -1 : nolink_open(root_fd, path, flags);
}

int nolink_open_parent(const char *path)
{
    char parent[PATH_LONGEST];
    size_t size = path_parent_size(path, strlen(path));
    if (size == 0 || size >= sizeof(parent)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, size);
    parent[size] = '\0';
    return nolink_open_absolute(parent, O_PATH | O_DIRECTORY);
}
