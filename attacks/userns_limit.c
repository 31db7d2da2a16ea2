/*
 * How many user namespaces may be made below the sandbox's, and can the number be raised?
 *
 * Why: seccomp answers first, but a filter is one line of code away from a mistake: the kernel's own limit is the second
 * wall. It belongs to the sandbox's user namespace, in which nobody has the capability to raise it.
 * Seen: a process with all capabilities in its namespace may still set its own limit.
 *
 * case userns-limit: => 0 | control ~
 *   kernel: have room for another user namespace
 */
#include "attack.h"

ATTACK(userns_limit)
{
    char line[64] = "";
    int fd = open("/proc/sys/user/max_user_namespaces", O_RDONLY);
    must(fd, "open");
    must(read(fd, line, sizeof(line) - 1), "read");
    line[strcspn(line, "\n")] = '\0';
    saw(line);
}
