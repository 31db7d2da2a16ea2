#include "hold/records.h"

#include <errno.h>
#include <sys/file.h>

#include "base/fd.h"
#include "kernel/directories.h"

int records_lock(const char *folder, struct err *err)
{
    auto_fd int fd = directories_open_made(folder, err);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot open %s", folder);
    return fd_take(&fd);
}
