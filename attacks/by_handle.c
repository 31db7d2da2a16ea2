/*
 * Opens a file by its number on the file system, whatever directory it lies in ("shocker").
 *
 * Why: the number of a bound file system's root is well known, so that a handle leads past every mount.
 * Seen: Docker 0.11 (2014), which kept CAP_DAC_READ_SEARCH; since Linux 6.13 a user namespace's own root may do it too.
 *
 * case handle-of-workspace: . => EPERM open_by_handle_at | control-by root
 *   files: open a directory by its number on the file system, past every mount
 * case handle-of-usr: /usr => EPERM open_by_handle_at | control-by root
 *   files: open /usr by its number on the file system
 */
#include "attack.h"

ATTACK(by_handle)
{
    union {
        struct file_handle handle;
        char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } number = {.handle.handle_bytes = MAX_HANDLE_SZ};
    const char *path = argument(argc, argv, 1);
    int mount_id, fd = open(path, O_RDONLY | O_DIRECTORY);
    must(fd, "open");
    must(name_to_handle_at(AT_FDCWD, path, &number.handle, &mount_id, 0), "name_to_handle_at");
    must(open_by_handle_at(fd, &number.handle, O_RDONLY), "open_by_handle_at");
    done();
}
