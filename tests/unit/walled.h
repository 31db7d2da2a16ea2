/* For tests of the walls that a program puts around itself: an act is tried in a child, with them and without. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

enum { BROKEN = 200 }; /* no errno: the test itself does not work */

/* What `act` gives in a child of its own, 0 or an errno. `enter` raises the walls first; NULL: there are none. */
static inline int outcome_behind(int (*enter)(struct err *err), int (*act)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        if (enter && enter(&err) < 0)
            _exit(BROKEN);
        _exit(act());
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

static inline int errno_of(long result)
{
    return result < 0 ? errno : 0;
}
