/*
 * Stops, ends or crashes process 1 of the sandbox.
 *
 * Why: a stopped process 1 reaps nothing and passes nothing on; a sandbox that ends early looks like a command that did.
 * Seen: an init that forgot that the kernel protects it only from signals it has no handler for.
 *
 * case init-stop: 19 => unharmed | control-by nobody: process 1 of the machine
 * case init-kill: 9 => unharmed | control-by nobody: process 1 of the machine
 * case init-terminate: 15 => unharmed | control-by nobody: process 1 of the machine
 * case init-hangup: 1 => unharmed | control-by nobody: process 1 of the machine
 * case init-segv: 11 => unharmed | control-by nobody: process 1 of the machine
 * case init-child: 17 => unharmed | control-by nobody: process 1 of the machine
 */
#include <signal.h>

#include "attack.h"

ATTACK(signal_init)
{
    if (kill(1, (int)number_argument(argc, argv, 1)) < 0 && errno != EPERM)
        refused("kill");
    usleep(20000);
    char line[256] = "";
    int fd = open("/proc/1/stat", O_RDONLY);
    must(fd, "open");
    must(read(fd, line, sizeof(line) - 1), "read");
    const char *state = strrchr(line, ')');
    if (state && state[2] && strchr("SRD", state[2])) /* neither stopped nor dead */
        saw("unharmed");
    saw("harmed");
}
