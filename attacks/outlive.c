/*
 * Leaves a daemon behind: forks twice, begins a session of its own, and waits.
 *
 * Why: what lives on when the command has ended is watched by nobody, and may do later what was not possible before.
 * Seen: agents' shells that leave servers running; miners that survive the container's main process.
 *
 * The daemon keeps descriptor 0 open, the pipe to whoever started it, and ends when nobody reads from that any more.
 * case outlive: => done | harms outlives | prove-only
 *   processes: leave a daemon behind that outlives the run
 */
#include <poll.h>
#include <sys/stat.h>

#include "attack.h"

/* Not for ever: a person may have ended whoever was to read. */
enum { LONGEST_MILLISECONDS = 60 * 1000 };

ATTACK(outlive)
{
    struct stat status;
    must(fstat(0, &status), "fstat");
    if (!S_ISFIFO(status.st_mode) && !isatty(0))
        saw("nobody would end it");
    pid_t child = fork();
    must(child, "fork");
    if (child > 0)
        done();
    must(setsid(), "setsid");
    if (fork() != 0)
        _exit(0);
    for (int fd = 1; fd < 64; fd++)
        close(fd);
    struct pollfd reader = {.fd = 0};
    poll(&reader, 1, LONGEST_MILLISECONDS);
    _exit(0);
}
