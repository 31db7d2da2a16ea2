/*
 * Reads a line of /proc/self/status: what the kernel says of this process.
 *
 * Why: the launcher says that it dropped everything; the kernel is asked whether that is so.
 * Seen: launchers that cleared one of the five capability sets too few.
 *
 * case cap-effective: CapEff => 0000000000000000 | control-by root | control ~
 *   kernel: have a capability (effective)
 * case cap-permitted: CapPrm => 0000000000000000 | control-by root | control ~
 *   kernel: have a capability (permitted)
 * case cap-inheritable: CapInh => 0000000000000000 | control ~
 * case cap-bounding: CapBnd => 0000000000000000 | control ~
 *   kernel: gain a capability by executing a program (bounding)
 * case cap-ambient: CapAmb => 0000000000000000 | control ~
 * case no-new-privileges: NoNewPrivs => 1 | control 0
 *   kernel: gain a privilege by executing a setuid program
 * case seccomp-mode: Seccomp => 2 | control ~
 *   kernel: run without a filter on system calls
 *
 * Full access gives up the files, and nothing else. Giving up a wall that holds gives up nothing.
 * case cap-effective-full-access: CapEff => 0000000000000000 | control-by root | control ~ | flags --full-access --i-know
 * case no-new-privileges-full-access: NoNewPrivs => 1 | control 0 | flags --full-access --i-know
 * case seccomp-mode-full-access: Seccomp => 2 | control ~ | flags --full-access --i-know
 * case seccomp-mode-degraded: Seccomp => 2 | control ~ | flags --degrade=seccomp
 */
#include "attack.h"

ATTACK(own_status)
{
    char line[256];
    const char *name = argument(argc, argv, 1);
    size_t size = strlen(name);
    FILE *status = fopen("/proc/self/status", "re");
    must(status ? 0 : -1, "open");
    while (fgets(line, sizeof(line), status)) {
        if (strncmp(line, name, size) == 0 && line[size] == ':')
            saw(strtok(line + size + 1, "\t\n"));
    }
    saw("no such line");
}
