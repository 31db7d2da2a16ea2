/*
 * Sends a signal to a process of the host, to everything, or to its own group.
 *
 * Why: what the agent can end, it can replace; and a stopped terminal or editor is lost work.
 * Seen: a command that stays in the caller's process group reaches the whole job with kill(0).
 *
 * case kill-host-process: {victim} KILL => ESRCH kill | harms victim
 *   processes: kill a host process
 * case stop-host-process: {victim} STOP => ESRCH kill | harms victim
 *   processes: stop a host process
 * case signal-0-host-process: {victim} 0 => ESRCH kill
 *   processes: find out whether a host process is there
 * case kill-host-group: -{victim} KILL => ESRCH kill | harms victim
 *   processes: kill a process group of the host
 * case queue-host-process: {victim} queue => ESRCH sigqueue | harms victim
 *   processes: send a host process a signal with data
 * case pidfd-host-process: {victim} pidfd => ESRCH pidfd_open | harms victim
 *   processes: signal a host process by a pidfd
 * case kill-host-thread: {victim} thread => ESRCH tgkill | harms victim
 *   processes: signal a thread of a host process
 *
 * These succeed inside, and must stay there: everything is the sandbox's own processes, and so is the group. Without
 * bawn the one would end the machine, and the other the runner.
 * case kill-everything: -1 KILL => done | control-by nobody: it would end the machine
 * case kill-own-group: 0 TERM => done | in-group-of victim | harms victim
 *   processes: signal its own process group, with the host processes in it
 *
 * Full access gives up the files, and nothing else.
 * case kill-host-process-full-access: {victim} KILL => ESRCH kill | harms victim | flags --full-access --i-know
 * case kill-own-group-full-access: 0 TERM => done | in-group-of victim | harms victim | flags --full-access --i-know
 */
#include <signal.h>

#include "attack.h"

ATTACK(signal)
{
    pid_t pid = (pid_t)number_argument(argc, argv, 1);
    const char *act = argument(argc, argv, 2);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    if (pid == -1 && fork() == 0) /* somebody whom it may reach */
        pause();
    if (strcmp(act, "KILL") == 0)
        must(kill(pid, SIGKILL), "kill");
    else if (strcmp(act, "STOP") == 0)
        must(kill(pid, SIGSTOP), "kill");
    else if (strcmp(act, "TERM") == 0)
        must(kill(pid, SIGTERM), "kill");
    else if (strcmp(act, "0") == 0)
        must(kill(pid, 0), "kill");
    else if (strcmp(act, "queue") == 0)
        must(sigqueue(pid, SIGTERM, (union sigval){0}), "sigqueue");
    else if (strcmp(act, "thread") == 0)
        must(syscall(SYS_tgkill, pid, pid, SIGTERM), "tgkill");
    else if (strcmp(act, "pidfd") == 0) {
        long fd = syscall(SYS_pidfd_open, pid, 0);
        must(fd, "pidfd_open");
        must(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0), "pidfd_send_signal");
    } else {
        saw("no such act");
    }
    done();
}
