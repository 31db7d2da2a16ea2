/*
 * without CALL ERRNO CMD...: runs CMD as on a kernel that answers one system call with ERRNO. 0 is a kernel that lies: it
 * says that it did what was asked, and did nothing. That is how a wall is taken away from a launcher, to see whether it
 * notices.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_TREE_ATTR 467 /* Linux 6.15; few headers have it */

static const struct {
    const char *name;
    long number;
} calls[] = {
    {"none", 600},
    {"landlock_create_ruleset", SYS_landlock_create_ruleset},
    {"landlock_add_rule", SYS_landlock_add_rule},
    {"landlock_restrict_self", SYS_landlock_restrict_self},
    {"seccomp", SYS_seccomp},
    {"capset", SYS_capset},
    {"close_range", SYS_close_range},
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"mount_setattr", SYS_mount_setattr},
    {"open_tree_attr", OPEN_TREE_ATTR},
    {"fsopen", SYS_fsopen},
    {"pivot_root", SYS_pivot_root},
    {"umount2", SYS_umount2},
    {"clone3", SYS_clone3},
    {"sethostname", SYS_sethostname},
    {"unshare", SYS_unshare},
    {"setns", SYS_setns},
};

int main(int argc, char **argv)
{
    long number = -1, successor = -1;
    for (size_t i = 0; argc > 3 && i < sizeof(calls) / sizeof(*calls); i++) {
        if (strcmp(argv[1], calls[i].name) != 0)
            continue;
        number = successor = calls[i].number;
        if (number == SYS_open_tree || number == SYS_mount_setattr)
            successor = OPEN_TREE_ATTR; /* which does what both do: an older kernel has none of it */
    }
    if (number < 0)
        return 2;
    unsigned answer = SECCOMP_RET_ERRNO | ((unsigned)strtoul(argv[2], NULL, 10) & SECCOMP_RET_DATA);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)successor, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 2;
    execv(argv[3], argv + 3);
    fprintf(stderr, "without: cannot run %s: %m\n", argv[3]);
    return 2;
}
