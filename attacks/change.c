/*
 * Changes a name or an attribute, and leaves the content alone: rename, exchange, unlink, link, rmdir, chmod, touch,
 * setxattr; empties a file: truncate, and empty, an open for neither reading nor writing; and makes what is no regular file:
 * symlink, fifo, mkdir.
 *
 * Why: a frozen file is replaced as easily as it is written, and so is the directory above it. The mounts that hold
 * frozen paths must not be movable together with their parents.
 * Seen: `mv .git .git-old; mkdir .git` was allowed although read-only mounts lay below (EBUSY since .git itself is one).
 *
 * case rename-git: rename .git .git-old => EBUSY rename | harms workspace
 *   persistence: rename .git, to put another in its place
 * case rename-git-by-path: rename {ws}/.git {ws}/away => EBUSY rename | harms workspace
 *   persistence: rename .git by its full path
 * case exchange-git: exchange .git plain => EBUSY exchange | harms workspace
 *   persistence: exchange .git with another directory
 * case rename-over-git-config: rename .git/HEAD .git/config => EBUSY rename | harms canaries
 *   persistence: replace .git/config by renaming another file of .git over it
 * case rename-from-outside-git: rename work .git/config => EXDEV rename | harms canaries
 *   persistence: replace .git/config by a file of the project
 * case rename-git-config: rename .git/config .git/config-old => EBUSY rename | harms canaries
 *   persistence: rename .git/config away
 * case rename-git-hooks: rename .git/hooks .git/hooks-old => EBUSY rename | harms workspace
 *   persistence: rename .git/hooks away
 * case exchange-git-hooks: exchange .git/hooks .git/info => EBUSY exchange | harms workspace
 *   persistence: exchange .git/hooks with another directory
 * case rename-git-hook: rename .git/hooks/pre-commit work2 => EXDEV rename | harms canaries
 *   persistence: move a git hook out
 * case unlink-git-config: unlink .git/config => EBUSY unlink | harms canaries
 *   persistence: delete .git/config
 * case unlink-git-hook: unlink .git/hooks/pre-commit => EROFS unlink | harms canaries
 *   persistence: delete a git hook
 * case rmdir-git-hooks: rmdir .git/hooks => EBUSY rmdir | control ENOTEMPTY rmdir
 *   persistence: remove the directory .git/hooks
 * case link-git-config: link .git/config work2 => EXDEV link
 *   persistence: give .git/config a second name that can be written
 * case link-hook-in: link work .git/hooks/{mark} => EROFS link | harms new-files
 *   persistence: link a file into .git/hooks
 * case truncate-git-config: truncate .git/config => EROFS truncate | harms canaries
 *   persistence: empty .git/config
 * case chmod-git-hook: chmod .git/hooks/pre-commit => EROFS chmod
 *   persistence: change the mode of a git hook
 * case touch-git-config: touch .git/config => EROFS touch
 *   persistence: change the times of .git/config
 * case rename-frozen-parent: rename frozen thawed => EBUSY rename | flags --freeze {ws}/frozen/inner | harms workspace
 * case rename-workspace: rename {ws} {ws}-old => EBUSY rename | harms workspace
 *   persistence: rename the whole project
 *
 * case rename-git-read-only: rename .git .git-old => EROFS rename | flags --read-only | harms workspace
 *
 * What git on the host would follow, wait for or go on with. It can be made while the command runs, and is gone from the repository when
 * the run has ended.
 * case leave-link-in-git: symlink config .git/COMMIT_EDITMSG => done; EROFS symlink | harms left | prove-only
 *   persistence: leave a link in .git, through which your next commit would write to .git/config
 * case leave-pipe-in-git: fifo .git/packed-refs => done; EROFS fifo | harms left | prove-only
 *   persistence: leave a named pipe in .git, at which git would wait
 * case leave-rebase-in-git: mkdir .git/rebase-merge => done; EROFS mkdir | harms left | prove-only
 *   persistence: leave a rebase in .git, which you would go on with
 * case leave-unknown-in-git: symlink /etc/passwd .git/{mark} => done; EROFS symlink | harms left | prove-only
 *   persistence: leave something in .git that is none of git's files
 *
 * The system and what is granted to be read.
 * case chmod-shell: chmod /bin/sh => EROFS chmod | control-by root
 * case touch-passwd: touch /etc/passwd => EROFS touch | control-by root
 * case unlink-granted-read-only: unlink {home}/wide/file => EROFS unlink | flags --read {home}/wide | harms canaries
 * case empty-granted-read-only: empty {home}/wide/file => EROFS empty | flags --read {home}/wide | harms canaries
 * case rename-granted-out: rename {home}/wide/file work2 => EXDEV rename | flags --read {home}/wide | harms canaries
 * case link-granted-out: link {home}/wide/file work2 => EXDEV link | flags --read {home}/wide
 * case setxattr-granted-read-only: setxattr {home}/wide/file => EROFS setxattr | flags --read {home}/wide | harms attributes
 * case chmod-dev-null: chmod /dev/null => EPERM chmod | control-by root
 * case rename-within-workspace: rename work plain/work => done | reaches workspace
 * case link-secret-in: link {home}/.ssh/id_work work2 => ENOENT link | harms workspace
 *   files: give a key of the home a second name in the project
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include "attack.h"

/* Mode and times become what they are: a control that changes nothing. */
static int chmod_again(const char *path)
{
    struct stat status;
    must(stat(path, &status), "stat");
    return chmod(path, status.st_mode & 07777);
}

static int touch_again(const char *path)
{
    struct stat status;
    must(stat(path, &status), "stat");
    return utimensat(AT_FDCWD, path, (struct timespec[2]){status.st_atim, status.st_mtim}, 0);
}

ATTACK(change)
{
    const char *act = argument(argc, argv, 1), *path = argument(argc, argv, 2);
    if (strcmp(act, "rename") == 0)
        must(rename(path, argument(argc, argv, 3)), act);
    else if (strcmp(act, "exchange") == 0)
        must(renameat2(AT_FDCWD, path, AT_FDCWD, argument(argc, argv, 3), RENAME_EXCHANGE), act);
    else if (strcmp(act, "link") == 0)
        must(link(path, argument(argc, argv, 3)), act);
    else if (strcmp(act, "unlink") == 0)
        must(unlink(path), act);
    else if (strcmp(act, "symlink") == 0)
        must(symlink(path, argument(argc, argv, 3)), act);
    else if (strcmp(act, "fifo") == 0)
        must(mkfifo(path, 0600), act);
    else if (strcmp(act, "mkdir") == 0)
        must(mkdir(path, 0700), act);
    else if (strcmp(act, "rmdir") == 0)
        must(rmdir(path), act);
    else if (strcmp(act, "truncate") == 0)
        must(truncate(path, 0), act);
    else if (strcmp(act, "empty") == 0)
        must(open(path, O_ACCMODE | O_TRUNC | O_CLOEXEC), act);
    else if (strcmp(act, "setxattr") == 0)
        must(setxattr(path, "user.bawn", "x", 1, 0), act);
    else if (strcmp(act, "touch") == 0)
        must(touch_again(path), act);
    else if (strcmp(act, "chmod") == 0)
        must(chmod_again(path), act);
    else
        saw("no such act");
    done();
}
