/*
 * Makes a device node in the workspace, where the host would find it too.
 *
 * Why: a node of the disk is the whole disk.
 * Seen: CVE-2016-1576's neighbours; root in a container with CAP_MKNOD, which Docker grants by default.
 *
 * case mknod-disk: b 8 0 => EACCES mknod | harms workspace | control-by root
 *   persistence: make a device node of the disk in the project
 * case mknod-mem: c 1 1 => EACCES mknod | harms workspace | control-by root
 *   persistence: make a device node of the memory in the project
 * case mknod-tty: c 4 1 => EACCES mknod | harms workspace | control-by root
 *   persistence: make a device node of a console in the project
 *
 * A pipe with a name is no device.
 * case mknod-fifo: p 0 0 => done | reaches workspace
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attack.h"

ATTACK(make_device)
{
    const char *kind = argument(argc, argv, 1);
    mode_t mode = *kind == 'b' ? S_IFBLK : *kind == 'c' ? S_IFCHR : S_IFIFO;
    dev_t device =
        makedev((unsigned)number_argument(argc, argv, 2), (unsigned)number_argument(argc, argv, 3));
    must(mknod("node", mode | 0600, device), "mknod");
    done();
}
