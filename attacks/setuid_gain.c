/*
 * Is executed from a copy that another user owns and that has the setuid bit.
 *
 * Why: a setuid program is privilege that lies in the file system, waiting.
 * Seen: every local root exploit of sudo, su and pkexec begins here.
 *
 * case setuid-program: => same user | run {setuid} | control-by root user
 */
#include "attack.h"

ATTACK(setuid_gain)
{
    if (geteuid() != getuid())
        done();
    saw("same user");
}
