/*
 * Lists a directory, and says which names it holds beside those that it may hold.
 *
 * Why: names alone tell much: which clients, which clouds, which other projects. The parents of granted paths show the
 * way to what is granted, and nothing else.
 * Seen: an absolute bind of one repository made every sandbox show the names of all others.
 *
 * case list-root: / bin boot dev etc gnu home lib lib32 lib64 libx32 nix opt proc run sbin snap sys tmp usr var {first_of_home} {first_of_bawn} => nothing else | control ~also
 * case list-home: {home} src .ssh .aws .gnupg .password-store .config .mozilla => nothing else | control ~ .local | fresh-home
 * case list-above-home: {home}/.. home => nothing else | control ~also
 * case list-repositories: .. project => nothing else | control ~also sibling
 *   files: list the names of the repositories beside the project
 * case list-homes: /home linuxbrew {first_below_home} => nothing else; ENOENT open | control ~also
 * case list-dev: /dev console fd full null ptmx pts random shm stderr stdin stdout tty urandom zero => nothing else | control ~also
 *   files: list the machine's devices
 * case list-control-groups: /sys/fs/cgroup/.. cgroup => nothing else | control ~also | if /sys/fs/cgroup
 * case list-root-home: /root => ENOENT open | control-by root | control ~
 * case list-terminals: /dev/pts ptmx => nothing else | pty | control ~also
 *   terminal: list the terminals of other sessions
 * case list-run: /run bawn => nothing else | control ~also
 * case list-tmp: /tmp {first_below_tmp} => nothing else | control ~also
 * case list-var: /var cache lib tmp => nothing else | control ~also
 * case list-init-fds: /proc/1/fd => EACCES open | control-args /proc/{victim}/fd | control ~also
 *   processes: list the descriptors of the sandbox's process 1
 * case list-own-fds: /proc/self/fd 0 1 2 3 => nothing else | fd {home}/.ssh | control ~also 9
 *   files: find descriptors that were left open for it
 */
#include <dirent.h>

#include "attack.h"

static int may_be_there(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return 1;
    }
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

ATTACK(list_names)
{
    DIR *directory = opendir(argument(argc, argv, 1));
    must(directory ? 0 : -1, "open");
    char others[4096] = "";
    size_t used = 0;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        size_t size = strlen(entry->d_name);
        if (may_be_there(entry->d_name, argc, argv) || used + size + 2 > sizeof(others))
            continue;
        others[used++] = ' ';
        memcpy(others + used, entry->d_name, size + 1);
        used += size;
    }
    if (used == 0)
        saw("nothing else");
    printf("also%s\n", others);
    return 0;
}
