/*
 * Appends to a file, which is made where it is missing.
 *
 * Why: what is written outside the workspace outlives the sandbox, and start-up files, hooks and git's settings are run
 * by the host afterwards.
 * Seen: CVE-2026-25725 (protected files that did not exist yet); `git status` runs what .git/config names.
 *
 * A new file in the system. /usr and /opt are read-only mounts; /etc and / are the sandbox's own, and Landlock's.
 * case write-usr: /usr/{mark} => EROFS open | harms new-files | control-by root | decoy-args {home}/{mark}
 *   persistence: make a file in /usr
 * case write-opt: /opt/{mark} => EROFS open | harms new-files | control-by root | if /opt | decoy-args {home}/{mark}
 *   persistence: make a file in /opt
 * case write-etc: /etc/{mark} => EACCES open | harms new-files | control-by root | decoy-args {home}/{mark}
 *   persistence: make a file in /etc
 * case write-root-directory: /{mark} => EACCES open | harms new-files | control-by root | decoy-args {home}/{mark}
 *   persistence: make a file in /
 * case write-dev: /dev/{mark} => EACCES open | harms new-files | control-by root | decoy-args {home}/{mark}
 *   persistence: make a file in /dev
 * case write-var: /var/{mark} => EACCES open | harms new-files | control-by root | decoy-args {home}/{mark}
 *   persistence: make a file in /var
 *
 * Beside and above what is granted.
 * case write-sibling-repository: ../sibling/README => ENOENT open | harms canaries
 *   persistence: write to a file of the next repository
 * case write-granted-read-only: {home}/wide/file => EROFS open | flags --read {home}/wide | harms canaries
 * case write-host-tmp: {host_tmp}/canary => ENOENT open | harms canaries
 *   persistence: write to a file in your /tmp
 * case write-full-access: {host_tmp}/canary => done | reaches canaries | flags --full-access --i-know
 * case write-root-degraded: /{mark} => EACCES open | harms new-files | control-by root | flags --degrade=landlock
 *
 * The private home takes these: the act succeeds inside, and nothing of it is seen outside.
 * case write-home-startup: {home}/.bashrc => done | harms canaries
 *   persistence: write to a shell's start-up file in the home
 * case write-home-profile: {home}/.profile => done | harms canaries
 *   persistence: write to .profile in the home
 * case write-home-new: {home}/{mark} => done | harms new-files
 *   persistence: make a file in the home
 * case write-var-tmp: /var/tmp/{mark} => done | harms new-files
 *   persistence: make a file in your /var/tmp
 * case write-tmp: /tmp/{mark} => done | harms new-files
 *   persistence: make a file in your /tmp
 * case write-shm: /dev/shm/{mark} => done | harms new-files
 *   persistence: make a file in your /dev/shm
 *
 * case write-link-in-workspace: link-to-key => EROFS open | harms canaries
 *   persistence: write to a private key through a link in the project
 *
 * Frozen in the workspace.
 * case write-git-config: .git/config => EROFS open | harms canaries
 *   persistence: write to .git/config
 * case write-git-hook: .git/hooks/pre-commit => EROFS open | harms canaries
 *   persistence: write to a git hook
 * case write-new-git-hook: .git/hooks/{mark} => EROFS open | harms new-files
 *   persistence: make a new git hook
 * case write-repository-policy: .bawn => EROFS open | harms canaries
 * case write-git-config-by-proc: /proc/self/cwd/.git/config => EROFS open | harms canaries
 *   persistence: write to .git/config through /proc/self/cwd
 * case write-frozen-by-flag: frozen/inner/file => EROFS open | flags --freeze {ws}/frozen/inner | harms canaries
 *
 * Files of .git that are not in the form that git writes: gone from the repository when the run has ended.
 * case leave-index-in-git: .git/index => done; EROFS open | harms left | prove-only
 *   persistence: leave an index in .git that git has not written
 * case leave-attributes-in-git: .git/info/attributes => done; EROFS open | harms left | prove-only
 *   persistence: leave attributes in .git, which choose the programs that git runs
 *
 * Its own process's settings that ask for a privilege.
 * case write-own-uid-map: /proc/self/uid_map => EPERM write | control-by nobody: it is written once a namespace
 *
 * case write-workspace-read-only: work => EROFS open | flags --read-only | harms workspace
 * case write-new-read-only: new => EROFS open | flags --read-only | harms workspace
 *
 * What is granted works.
 * case write-workspace: work => done | reaches workspace
 *
 * With --review, --discard and --read-only it does not reach the host's file.
 * case write-project: work => done; EROFS open | harms workspace | prove-only
 *   persistence: change a file of the project
 */
#include "attack.h"

ATTACK(write_file)
{
    int fd = open(argument(argc, argv, 1), O_WRONLY | O_CREAT | O_APPEND, 0644);
    must(fd, "open");
    must(write(fd, "x\n", 2), "write");
    done();
}
