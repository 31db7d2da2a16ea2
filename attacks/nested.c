/*
 * Uses the namespaces that --nested allows, in which the attacker is root, against the sandbox around them.
 *
 * Why: a process under Landlock's file rules cannot mount, so that --nested gives this wall up. What is left must hold
 * alone: mounts that came from a namespace with more privilege cannot be taken apart, and stay read-only.
 * Seen: with the workspace writable, frozen paths fell: hold a descriptor of .git, pivot_root, let go of the old root
 * lazily, then rename through the descriptor. Hence what --nested lets be written goes to overlays, and the host's files
 * stay as they are (an overlay renames no folder that it did not make); or it is read-only.
 *
 * case nested-works: mount => done | flags --nested
 * case nested-maps-root: map => done | flags --nested
 * case nested-remount-workspace: remount {ws} => EPERM mount | flags --nested | control EINVAL mount
 * case nested-remount-usr: remount /usr => EPERM mount | flags --nested | control EINVAL mount
 * case nested-bind-and-remount: bind-remount {ws} => EPERM mount; EINVAL mount | flags --nested
 * case nested-umount-workspace: umount {ws} => EINVAL umount | flags --nested | control-by nobody: it is a mount only inside
 * case nested-umount-home: umount {home} => EINVAL umount | flags --nested | control-by nobody: it is a mount only inside
 * case nested-umount-mask: umount {home}/wide/hidden => EINVAL umount | flags --nested --read {home}/wide --hide {home}/wide/hidden | control-by nobody: it is a mount only inside
 * case nested-umount-proc-sys: umount /proc/sys => EINVAL umount | flags --nested | control-by nobody: it is a mount only inside
 * case nested-bind-below-mask: bind-read {home}/wide hidden/secret => EINVAL mount | flags --nested --read {home}/wide --hide {home}/wide/hidden
 * case nested-detach-and-read: detach-read {home}/wide hidden/secret => ENOENT openat | flags --nested --read {home}/wide --hide {home}/wide/hidden
 * case nested-detach-and-rename: detach-rename {ws}/.git hooks => EXDEV renameat | flags --nested | harms workspace
 * case nested-detach-and-rename-read-only: detach-rename {ws}/.git hooks => EROFS renameat | flags --nested --read-only | harms workspace
 * case nested-detach-and-unmask: detach-unmask {home}/wide hidden => EROFS renameat | flags --nested --read {home}/wide --hide {home}/wide/hidden
 * case nested-write-workspace: write {ws}/work => done | flags --nested
 * case nested-write-read-only: write {ws}/work => EROFS open | flags --nested --read-only
 * case nested-read-key: read {home}/.ssh/id_work => ENOENT open | flags --nested
 * case nested-core-pattern: write /proc/sys/kernel/core_pattern => EACCES open | flags --nested | control-by nobody: it would be changed
 * case nested-signal-host: kill {victim} => ESRCH kill | flags --nested | harms victim
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include "attack.h"

/* Whoever has no map has all capabilities in the namespace all the same: the attack goes on without. */
static int write_map(const char *path, unsigned id)
{
    char text[64];
    int fd = open(path, O_WRONLY);
    must(fd, "open the map");
    snprintf(text, sizeof(text), "0 %u 1", id);
    int failed = write(fd, text, strlen(text)) < 0 ? -1 : 0;
    close(fd);
    return failed;
}

static int become_root(void)
{
    unsigned uid = getuid(), gid = getgid();
    must(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
    int fd = open("/proc/self/setgroups", O_WRONLY);
    must(fd, "open setgroups");
    must(write(fd, "deny", 4), "write setgroups");
    close(fd);
    return write_map("/proc/self/uid_map", uid) < 0 || write_map("/proc/self/gid_map", gid) < 0 ? -1 : 0;
}

/* A descriptor of the directory, in a namespace from which everything else is gone. */
static int detach_all_but(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    must(fd, "open");
    must(mount("none", "/tmp", "tmpfs", 0, NULL), "mount");
    must(chdir("/tmp"), "chdir");
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount");
    return fd;
}

static _Noreturn void read_at(int directory, const char *path, const char *step)
{
    char bytes[256];
    int fd = openat(directory, path, O_RDONLY);
    must(fd, step);
    ssize_t got = read(fd, bytes, sizeof(bytes));
    must(got, "read");
    if (got == 0)
        saw("empty");
    fwrite(bytes, 1, (size_t)got, stdout);
    done();
}

ATTACK(nested)
{
    const char *act = argument(argc, argv, 1), *path = argc > 2 ? argv[2] : "";
    int mapped = become_root();
    if (strcmp(act, "map") == 0)
        must(mapped, "write the map");
    else if (strcmp(act, "mount") == 0)
        must(mount("none", "/tmp", "tmpfs", 0, NULL), "mount");
    else if (strcmp(act, "remount") == 0)
        must(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL), "mount");
    else if (strcmp(act, "umount") == 0)
        must(umount2(path, MNT_DETACH), "umount");
    else if (strcmp(act, "write") == 0)
        must(open(path, O_WRONLY | O_APPEND), "open");
    else if (strcmp(act, "read") == 0)
        read_at(AT_FDCWD, path, "open");
    else if (strcmp(act, "kill") == 0)
        must(kill((pid_t)number_argument(argc, argv, 2), SIGKILL), "kill");
    else if (strcmp(act, "bind-remount") == 0 || strcmp(act, "bind-read") == 0) {
        must(mount(path, "/tmp", NULL, MS_BIND, NULL), "mount"); /* without what lies below */
        if (strcmp(act, "bind-remount") == 0)
            must(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL), "mount");
        else
            read_at(open("/tmp", O_PATH), argument(argc, argv, 3), "openat");
    } else if (strncmp(act, "detach-", 7) == 0) {
        int fd = detach_all_but(path);
        const char *name = argument(argc, argv, 3);
        if (strcmp(act, "detach-read") == 0)
            read_at(fd, name, "openat");
        must(renameat(fd, name, fd, "gone"), "renameat");
        if (strcmp(act, "detach-unmask") == 0)
            read_at(fd, "gone/secret", "openat");
    } else {
        saw("no such act");
    }
    done();
}
