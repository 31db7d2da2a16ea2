/*
 * Uses up what the machine has.
 *
 * Why: a fork bomb or a crash must not take the machine along. A core_pattern that is a pipe runs a helper as root on
 * the host at every crash; a limit of 0 does not stop that, a limit of 1 does.
 * Seen: apport and systemd-coredump, CVE-2022-28656 and CVE-2025-4598.
 *
 * case fork-bomb: fork 300 => EAGAIN fork | flags --limit pids=100
 * case core-limit: core 1 => kept low | control ~limit
 *   resources: crash with a core dump, which starts a helper of root's on the host
 * case process-limit: processes 4096 => kept low | control ~
 *   resources: start as many processes as the machine has room for
 * case inotify-limit: inotify => kept low | control ~limit
 *   resources: use up the watches of files that all of this user's programs share
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "attack.h"

static _Noreturn void tell_limit(rlim_t limit)
{
    printf("limit %llu\n", (unsigned long long)limit);
    exit(0);
}

/* Asks for the highest that it may be set to, and uses none of it up: the control runs on a machine that is in use. */
static _Noreturn void ask_for_processes(rlim_t most)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_NPROC, &limit), "getrlimit");
    if (limit.rlim_max <= most)
        saw("kept low");
    tell_limit(limit.rlim_max);
}

/* Where the kernel writes a core to a file, no helper is started. A pattern that cannot be read may be a pipe. */
static int core_is_a_file(void)
{
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "re");
    int first = file ? fgetc(file) : EOF;
    if (file)
        fclose(file);
    return first != EOF && first != '|';
}

/* Sets the one with which the helper is started, as most callers have it already. Whoever may set no other has no limit of 1. */
static _Noreturn void ask_for_helper(rlim_t harmless)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_CORE, &limit), "getrlimit");
    limit.rlim_cur = 0;
    if (setrlimit(RLIMIT_CORE, &limit) < 0 && errno != EPERM)
        must(-1, "setrlimit");
    must(getrlimit(RLIMIT_CORE, &limit), "getrlimit");
    if ((limit.rlim_cur == harmless && limit.rlim_max == harmless) ||
        (limit.rlim_max == 0 && core_is_a_file()))
        saw("kept low");
    tell_limit(limit.rlim_cur);
}

static unsigned long long read_number(const char *path)
{
    unsigned long long number = 0;
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%llu", &number) != 1)
        refused("open");
    fclose(file);
    return number;
}

/* Does its user namespace take no more than half of what its user has? It uses none of it up. */
static _Noreturn void ask_for_watches(void)
{
    unsigned long long most = read_number("/proc/sys/user/max_inotify_instances");
    if (most <= read_number("/proc/sys/fs/inotify/max_user_instances") / 2)
        saw("kept low");
    tell_limit(most);
}

ATTACK(limits)
{
    if (strcmp(argument(argc, argv, 1), "inotify") == 0)
        ask_for_watches();
    long most = number_argument(argc, argv, 2);
    if (strcmp(argument(argc, argv, 1), "core") == 0)
        ask_for_helper((rlim_t)most);
    if (strcmp(argument(argc, argv, 1), "processes") == 0)
        ask_for_processes((rlim_t)most);
    int hold[2], failed = 0;
    must(pipe(hold), "pipe");
    for (long i = 0; i < most && !failed; i++) {
        pid_t child = fork();
        failed = child < 0 ? errno : 0;
        if (child == 0) {
            char byte;
            close(hold[1]);
            _exit(read(hold[0], &byte, 1) < 0); /* until the first one lets go */
        }
    }
    close(hold[1]);
    while (wait(NULL) > 0) {
    }
    errno = failed;
    must(failed ? -1 : 0, "fork");
    done();
}
