/*
 * Changes the mounts by the old system calls: mounts something new, binds, remounts read-write, takes a mask off.
 *
 * Why: everything that the sandbox hides or freezes is a mount.
 * Seen: CVE-2026-25725's relatives; containers that kept CAP_SYS_ADMIN.
 *
 * case mount-tmpfs: tmpfs {ws}/plain => EPERM mount | control-in m
 *   kernel: mount an empty file system over a directory
 * case mount-proc: proc {ws}/plain => EPERM mount | control-in mp
 *   kernel: mount another /proc
 * case bind-over-hooks: bind {ws}/plain {ws}/.git/hooks => EPERM mount | control-in m
 *   persistence: mount another directory over .git/hooks
 * case bind-root: bind / {ws}/plain => EPERM mount | control-in m | control-by root
 * case remount-usr: remount /usr => EPERM mount | control-by nobody: /usr is a mount only inside
 * case remount-hooks: remount {ws}/.git/hooks => EPERM mount | control-by nobody: it is a mount only inside
 * case propagate-to-host: shared / => EPERM mount | control-in m
 *   kernel: make mounts propagate to the host
 * case umount-frozen: umount {ws}/.git/hooks => EPERM umount | control-by nobody: it is a mount only inside
 * case umount-home: umount {home} => EPERM umount | control-by nobody: it is a mount only inside
 * case umount-proc-sys: umount /proc/sys => EPERM umount | control-by nobody: it is a mount only inside
 * case umount-root: umount / => EPERM umount | control-in m | control-by root
 */
#include <sys/mount.h>

#include "attack.h"

ATTACK(mount)
{
    const char *act = argument(argc, argv, 1), *path = argument(argc, argv, 2);
    if (strcmp(act, "tmpfs") == 0 || strcmp(act, "proc") == 0)
        must(mount("none", path, act, 0, NULL), "mount");
    else if (strcmp(act, "bind") == 0)
        must(mount(path, argument(argc, argv, 3), NULL, MS_BIND, NULL), "mount");
    else if (strcmp(act, "remount") == 0)
        must(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL), "mount");
    else if (strcmp(act, "shared") == 0)
        must(mount(NULL, path, NULL, MS_SHARED | MS_REC, NULL), "mount");
    else if (strcmp(act, "umount") == 0)
        must(umount2(path, MNT_DETACH), "umount");
    else
        saw("no such act");
    done();
}
