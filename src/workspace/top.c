#include "workspace/top.h"

#include <errno.h>
#include <fcntl.h>

#include "kernel/beneath.h"

int workspace_open(const char *path, struct err *err)
{
    int fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    if (fd >= 0)
        return fd;
    if (errno != ELOOP)
        return err_sys(err, errno, "cannot open the workspace %s", path);
    err_set(err, "cannot open the workspace %s: it is, or lies behind, a symbolic link", path);
    return err_hint(
        err, "look who put the link there: what a session knows is of the folder that was there before");
}
