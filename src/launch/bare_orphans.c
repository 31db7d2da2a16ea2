/*
 * Outside: the end of a warden that was killed. What the command has started falls to the supervisor then, and is killed here. Mostly there is
 * nothing: a warden that ends by itself has seen to it.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/process.h"
#include "launch/bare.h"

/* How many seccomp programs are around a process. Those of the command have one more than bawn itself, which a container may filter. */
static uint64_t filters_of(pid_t process)
{
    return process_status_number(process, "Seccomp_filters");
}

void bare_adopt_orphans(bool adopts)
{
    prctl(PR_SET_CHILD_SUBREAPER, adopts, 0, 0, 0);
}

void bare_end_orphans(void)
{
    uint64_t own = filters_of(getpid());
    for (bool is_over = false; !is_over;) {
        enum { MOST = 65536 };
        auto_vec process_list children = {0};
        children_add(&children, getpid(), MOST);
        is_over = true;
        vec_each (const pid_t, child, &children) {
            if (filters_of(*child) <= own || kill(*child, SIGKILL) < 0)
                continue;
            waitpid(*child, NULL, 0); /* its own children fall to this process before that returns */
            is_over = false;
        }
    }
}
