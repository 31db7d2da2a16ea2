#include "supervise/standstill.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/timespec.h"

/* Others wait for the loop: a command with thousands of processes is not stopped to the last one. */
enum { MOST_PROCESSES = 65536, MOST_PASSES = 8, MOST_NANOSECONDS = 200 * 1000 * 1000 };

static bool is_late(struct timespec began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return timespec_between(began, now) > MOST_NANOSECONDS;
}

static bool is_among(const process_list *list, pid_t process)
{
    for (size_t i = list->count; i > 0; i--) {
        if (list->at[i - 1] == process)
            return true;
    }
    return false;
}

/* Stops the process unless it is stopped, traced or dead. Returns whether it ran. */
static bool stop(struct standstill *standstill, pid_t process)
{
    char state = process_state(process);
    if (state == 'T' || state == 't' || state == 'Z' || state == 'X' || state == '\0')
        return false;
    if (kill(process, SIGSTOP) < 0)
        return false;
    if (!is_among(&standstill->stopped, process))
        vec_push(&standstill->stopped, process);
    return true;
}

/* One pass over all that process 1 has started, and what those have. Returns whether anything ran. */
static bool stop_all(struct standstill *standstill, pid_t first, struct timespec began)
{
    process_list all = {0};
    vec_push(&all, first);
    bool any_ran = false;
    for (size_t i = 0; i < all.count && !is_late(began); i++) {
        pid_t process = all.at[i]; /* the list moves when it grows */
        any_ran |= stop(standstill, process);
        children_add(&all, process, MOST_PROCESSES);
    }
    vec_free(&all);
    return any_ran;
}

void standstill_begin(struct standstill *standstill, const struct launched *launched)
{
    if (standstill->is_on)
        return;
    standstill->is_on = true;
    standstill->is_by_cgroup = cgroup_freeze(&launched->cgroup, true);
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int i = 0; !standstill->is_by_cgroup && i < MOST_PASSES && !is_late(began); i++) {
        if (!stop_all(standstill, launched->pid, began))
            break;
    }
}

void standstill_end(struct standstill *standstill, const struct launched *launched)
{
    if (standstill->is_by_cgroup)
        cgroup_freeze(&launched->cgroup, false);
    for (size_t i = standstill->stopped.count; i > 0; i--)
        kill(standstill->stopped.at[i - 1], SIGCONT);
    vec_free(&standstill->stopped);
    standstill->is_on = standstill->is_by_cgroup = false;
}
