/*
 * Leaves the root directory: chroot and the climb by "..", or pivot_root.
 *
 * Why: chroot never was a wall for whoever may call it again: the directory that one stands in stays outside.
 * Seen: every chroot "jail" since 1999.
 *
 * case chroot-climb: chroot {ws}/plain => EPERM chroot | control-in m
 *   kernel: leave the root directory by chroot
 * case pivot-root: pivot . => EPERM pivot_root | control EINVAL pivot_root or EBUSY pivot_root | control-in m
 *   kernel: change the root directory (pivot_root)
 */
#include "attack.h"

ATTACK(root_escape)
{
    if (strcmp(argument(argc, argv, 1), "pivot") == 0) {
        must(syscall(SYS_pivot_root, ".", "."),
             "pivot_root"); /* the workspace is no mount without bawn: EINVAL */
        done();
    }
    must(chroot(argument(argc, argv, 2)), "chroot");
    for (int i = 0; i < 64; i++)
        must(chdir(".."), "chdir");
    must(chroot("."), "chroot");
    done();
}
