/*
 * Attaches to a process as a debugger.
 *
 * Why: who traces a process is that process, with all that it may do.
 * Seen: ptrace of a process outside the sandbox under the same user, wherever /proc and the pid namespace were shared.
 *
 * case trace-host-process: attach {victim} => ESRCH ptrace | harms victim
 *   processes: debug a host process
 * case seize-host-process: seize {victim} => ESRCH ptrace
 *   processes: attach to a host process without stopping it
 * case trace-init: attach 1 => EPERM ptrace | control-args attach {victim} | harms victim
 *   processes: debug the sandbox's process 1
 * case seize-init: seize 1 => EPERM ptrace | control-args seize {victim}
 *   processes: attach to the sandbox's process 1
 *
 * Debuggers work on what they start.
 * case trace-own-child: child => done
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attack.h"

ATTACK(trace)
{
    const char *act = argument(argc, argv, 1);
    if (strcmp(act, "attach") == 0) {
        pid_t pid = (pid_t)number_argument(argc, argv, 2);
        must(ptrace(PTRACE_ATTACH, pid, NULL, NULL), "ptrace");
        waitpid(pid, NULL, __WALL);
        ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)SIGTERM); /* it ends: the runner sees that */
        done();
    }
    if (strcmp(act, "seize") == 0) {
        must(ptrace(PTRACE_SEIZE, (pid_t)number_argument(argc, argv, 2), NULL, NULL), "ptrace");
        done();
    }
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    must(ptrace(PTRACE_ATTACH, child, NULL, NULL), "ptrace");
    int status;
    must(waitpid(child, &status, 0), "waitpid");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    done();
}
