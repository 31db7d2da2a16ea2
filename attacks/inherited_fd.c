/*
 * Uses descriptor 9, which whoever started bawn had left open: a directory with a secret in it.
 *
 * Why: a descriptor of a directory is that directory, whatever the mounts say.
 * Seen: CVE-2024-21626 (runc), CVE-2019-5736's neighbours.
 *
 * case inherited-directory: 9 id_rsa => EBADF openat | fd {home}/.ssh
 *   files: use a directory that was open when the sandbox was started
 *
 * The three that a command always has. What lies behind them is the caller's decision, but a file that was given to be
 * written is not thereby readable, and a directory is no way into it.
 * case stdin-directory: 0 id_rsa => bawn: standard stream 0 is a directory. Redirect it from or to something else. | stdin {home}/.ssh
 * case stdin-directory-above: 0 ../.ssh/id_rsa => bawn: standard stream 0 is a directory. Redirect it from or to something else. | stdin {home}/src
 * case stdin-frozen-directory: 0 config write => bawn: standard stream 0 is a directory. Redirect it from or to something else. | stdin {ws}/.git | harms canaries
 * case stdin-frozen-file: 0 /proc/self/fd/0 write => bawn: standard stream 0 is a file that is frozen, hidden or read-only inside. Redirect it from or to something else, or pass the content by a pipe. | stdin {ws}/.git/config | harms canaries
 * case stdin-reopened-writable: 0 /proc/self/fd/0 write => EACCES openat | stdin {home}/wide/file | harms canaries
 */
#include "attack.h"

ATTACK(inherited_fd)
{
    char bytes[256];
    int directory = (int)number_argument(argc, argv, 1);
    int fd = openat(directory, argument(argc, argv, 2), argc > 3 ? O_WRONLY | O_APPEND : O_RDONLY);
    must(fd, "openat");
    if (argc > 3) {
        must(write(fd, "x\n", 2), "write");
        done();
    }
    ssize_t got = read(fd, bytes, sizeof(bytes));
    must(got, "read");
    fwrite(bytes, 1, (size_t)got, stdout);
    puts("");
    done();
}
