/*
 * Leaves a program with the setuid or the setgid bit in the workspace, for an accomplice on the host to run.
 *
 * Why: files in the workspace belong to the caller, also when the caller is root. Whoever runs this one is the caller.
 * Seen: Nix builds (CVE-2024-27297's neighbours) since when its sandbox refuses chmod with these bits.
 *
 * An ordinary user's would only be that user's own; root's would make root of whoever runs it.
 * case leave-setuid: chmod 4755 => EPERM chmod | harms workspace | only-by root
 *   persistence: leave a setuid program behind (chmod)
 * case leave-setuid-fchmodat2: fchmodat2 4755 => EPERM fchmodat2 | harms workspace | only-by root
 *   persistence: leave a setuid program behind (fchmodat2)
 * case leave-setuid-open: open 4755 => EPERM open | harms workspace | only-by root
 *   persistence: leave a setuid program behind (open)
 * case leave-setuid-tmpfile: tmpfile 4755 => EPERM tmpfile | harms workspace | only-by root
 *   persistence: leave a setuid program behind (a file without a name)
 * case leave-setuid-openat2: openat2 4755 => ENOSYS openat2 | harms workspace | only-by root
 *   persistence: leave a setuid program behind (openat2)
 * case leave-setuid-mknod: mknod 4755 => EPERM mknod | harms workspace | only-by root
 *   persistence: leave a setuid program behind (mknod)
 * case make-executable: chmod 755 => done | reaches workspace
 *
 * Directories of shared repositories bear the other bit too. They inherit it inside, and cannot be given it: a filter cannot tell them
 * from files.
 * case leave-setgid: chmod 2755 => EPERM chmod | harms workspace | only-by root
 *   persistence: leave a setgid program behind (chmod)
 * case leave-setgid-open: open 2755 => EPERM open | harms workspace | only-by root
 *   persistence: leave a setgid program behind (open)
 */
#include <linux/openat2.h>
#include <sys/stat.h>

#include "attack.h"

/* A file without a name, which gets one afterwards. */
static void leave_unnamed(mode_t mode, const char *act)
{
    int fd = open(".", O_WRONLY | O_TMPFILE, mode);
    must(fd, act);
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    must(linkat(AT_FDCWD, path, AT_FDCWD, "left", AT_SYMLINK_FOLLOW), "linkat");
}

ATTACK(leave_setuid)
{
    const char *act = argument(argc, argv, 1);
    mode_t mode = (mode_t)strtoul(argument(argc, argv, 2), NULL, 8);
    umask(0);
    if (strcmp(act, "chmod") == 0)
        must(chmod("work", mode), act);
    else if (strcmp(act, "fchmodat2") == 0)
        must(syscall(452 /* fchmodat2 */, AT_FDCWD, "work", mode, 0), act);
    else if (strcmp(act, "open") == 0)
        must(open("left", O_WRONLY | O_CREAT | O_EXCL, mode), act);
    else if (strcmp(act, "tmpfile") == 0)
        leave_unnamed(mode, act);
    else if (strcmp(act, "openat2") == 0)
        must(syscall(SYS_openat2, AT_FDCWD, "left",
                     &(struct open_how){.flags = O_CREAT | O_WRONLY, .mode = mode}, sizeof(struct open_how)),
             act);
    else if (strcmp(act, "mknod") == 0)
        must(mknod("left", S_IFREG | mode, 0), act);
    else
        saw("no such act");
    done();
}
