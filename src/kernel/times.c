#include "kernel/beneath.h"

#include <linux/magic.h>
#include <sys/vfs.h>

bool times_tell(int fd)
{
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC;
}
