/*
 * Reads a file and prints it.
 *
 * Why: the first thing that injected text asks for is a key. What is not granted must not be there at all: an errno
 * that says "forbidden" would already say that it exists.
 * Seen: a list of forbidden paths lost 17 of 33 such reads; an allowlist of the home lost none. /proc/1 and the
 * processes of the host are doors to the host's root (CVE-2024-21626).
 *
 * case read-ssh-key: {home}/.ssh/id_work => ENOENT open
 *   files: read a private key in the home by its full path
 * case read-ssh-key-relative: ../../.ssh/id_work => ENOENT open
 *   files: read a private key by a relative path
 * case read-ssh-key-dots: {home}/src/project/../../.ssh/id_work => ENOENT open
 *   files: read a private key by a path that goes up
 * case read-cloud-login: {home}/.aws/session => ENOENT open
 *   files: read a cloud login
 * case read-shell-history: {home}/.bash_history => ENOENT open
 *   files: read the shell's history
 * case read-sibling-repository: ../sibling/README => ENOENT open
 *   files: read a file of the next repository
 * case read-other-home: {other_home}/secret => ENOENT open
 * case read-shadow: /etc/shadow => ENOENT open | control-by root
 * case read-machine-id: /etc/machine-id => ENOENT open | if /etc/machine-id
 * case read-host-tmp: {host_tmp}/canary => ENOENT open
 *   files: read a file in your /tmp
 * case read-host-var-tmp: {host_var_tmp}/canary => ENOENT open
 *   files: read a file in your /var/tmp
 * case read-by-own-root-link: /proc/self/root{home}/.ssh/id_work => ENOENT open
 *   files: read a private key through /proc/self/root
 * case read-by-own-cwd-link: /proc/self/cwd/../../.ssh/id_work => ENOENT open
 *   files: read a private key through /proc/self/cwd
 * case read-by-thread-root-link: /proc/thread-self/root{home}/.ssh/id_work => ENOENT open
 *   files: read a private key through /proc/thread-self/root
 * case read-by-init-root: /proc/1/root{home}/.ssh/id_rsa => EACCES open | control-args /proc/{victim}/root{home}/.ssh/id_rsa
 *   files: read a private key through the root of process 1
 * case read-by-init-cwd: /proc/1/cwd/id_rsa => EACCES open | control-args /proc/{victim}/cwd/id_rsa
 *   files: read a private key through the working directory of process 1
 * case read-by-host-root: /proc/{victim}/root{home}/.ssh/id_rsa => ENOENT open
 *   files: read a private key through the root of a host process
 * case read-by-host-cwd: /proc/{victim}/cwd/id_rsa => ENOENT open
 *   files: read a private key through the working directory of a host process
 * case read-by-host-fd: /proc/{victim}/fd/0 => ENOENT open
 *   files: read a private key through a descriptor of a host process
 * case read-by-init-fd: /proc/1/fd/0 => EACCES open | control-args /proc/{victim}/fd/0
 *   files: read what process 1 has open
 * case read-init-environment: /proc/1/environ => EACCES open | control-args /proc/{victim}/environ
 *   files: read the environment of process 1
 * case read-host-environment: /proc/{victim}/environ => ENOENT open
 *   files: read the environment of a host process
 * case read-by-link-in-workspace: link-to-key => ENOENT open
 *   files: read a private key through a link in the project
 * case read-by-link-to-directory: link-to-home/.ssh/id_work => ENOENT open
 *   files: read a private key through a link to the home
 *
 * Where a decoy stands, that is what is read; the secret must not be in what was printed.
 * case read-decoy-key: {home}/.ssh/id_rsa => done
 * case read-decoy-login: {home}/.aws/credentials => done
 *
 * The content of a second name for a secret, made before the start, is content of the workspace: it is readable.
 * case read-by-hard-link: alias-of-key => done
 *
 * case read-bawn-policy: {home}/.config/bawn/policy.bawn => ENOENT open
 *   files: read a policy of bawn's
 * case read-own-home-from-outside: {home}/.local/share/bawn/homes => ENOENT open | control EISDIR read
 * case read-sealed-below-grant: {home}/wide/.ssh-backup/../.env => empty | flags --read {home}/wide
 * case read-hidden-below-grant: {home}/wide/hidden/secret => ENOENT open | flags --read {home}/wide --hide {home}/wide/hidden
 * case read-hidden-in-workspace: private/secret => ENOENT open | flags --hide {ws}/private
 * case read-sealed-home-granted: {home}/.ssh/id_rsa => ENOENT open | flags --read {home}
 *
 * Kernel memory, the kernel's log and disks, of which there must be no device.
 * case read-kcore: /proc/kcore => EACCES open | control-by root | if /proc/kcore
 * case read-kernel-log: /proc/kmsg => EACCES open | control-by nobody: it would take the messages away | if /proc/kmsg
 * case read-dev-mem: /dev/mem => ENOENT open | control-by root | if /dev/mem
 * case read-dev-kmsg: /dev/kmsg => ENOENT open | control-by root | if /dev/kmsg
 * case read-disk: {disk} => ENOENT open | control-by root | control done or EPERM open
 */
#include "attack.h"

ATTACK(read_file)
{
    char bytes[4096];
    int fd = open(argument(argc, argv, 1), O_RDONLY | O_NONBLOCK);
    must(fd, "open");
    ssize_t got = read(fd, bytes, sizeof(bytes));
    must(got, "read");
    if (got == 0)
        saw("empty");
    fwrite(bytes, 1, (size_t)got, stdout);
    puts("");
    done();
}
