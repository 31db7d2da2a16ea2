#include "supervise/standstill.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/timespec.h"

/* Others wait for the loop: a command with thousands of processes is not stopped to the last one. */
enum { MOST_PROCESSES = 65536, MOST_NANOSECONDS = 200 * 1000 * 1000, PAUSE = 500 }; /* microseconds */

static bool is_late(struct timespec began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return timespec_between(began, now) > MOST_NANOSECONDS;
}

static bool is_among(const inside_list *list, struct inside_process process)
{
    for (size_t i = list->count; i > 0; i--) {
        if (list->at[i - 1].pid == process.pid && list->at[i - 1].start == process.start)
            return true;
    }
    return false;
}

/* One look at all that is inside. */
struct pass {
    struct standstill *standstill;
    inside_list found;
    bool any_runs, is_counted;
    struct blake2b marks; /* of all together */
};

/*
 * Stops a process unless all of it is stopped or dead. One that is traced is sent the signal as well: its tracer can let it go on. In state D a thread
 * runs no instruction of its own before it stops, and may wait there for a child that is stopped (vfork).
 */
static void meet(struct pass *pass, int process_fd, pid_t pid, const struct process_look *look)
{
    struct inside_process process = {pid, look->start};
    inside_list *stopped = &pass->standstill->stopped;
    vec_push(&pass->found, process);
    if (look->state == 'T' || look->state == 'Z' || look->state == 'X' ||
        !process_signal(process_fd, SIGSTOP))
        return;
    bool is_known = is_among(stopped, process);
    pass->any_runs |= look->state != 't' && (look->state != 'D' || !is_known);
    if (!is_known)
        vec_push(stopped, process);
}

static void meet_child(struct pass *pass, int parent_fd, pid_t parent, pid_t child)
{
    pid_t first = pass->standstill->launched->pid;
    auto_fd int fd = process_open(child);
    struct process_look look = process_look(fd);
    bool is_inside = look.parent == first || (look.parent == parent && process_signal(parent_fd, 0));
    if (look.state == '\0' || !is_inside)
        return;
    look = process_look_whole(fd, &pass->marks, &pass->is_counted);
    meet(pass, fd, child, &look);
}

static void meet_children(struct pass *pass, struct inside_process parent)
{
    auto_fd int fd = process_open(parent.pid);
    auto_vec process_list children = {0};
    if (process_look(fd).start != parent.start)
        return;
    children_add_of(&children, fd, MOST_PROCESSES);
    vec_each (const pid_t, child, &children)
        meet_child(pass, fd, parent.pid, *child);
}

/* One pass over all that process 1 has started, and what those have. Returns whether it was complete. */
static bool stop_all(struct pass *pass, struct timespec began)
{
    pid_t first = pass->standstill->launched->pid;
    auto_fd int fd = process_open(first);
    struct process_look look = process_look_whole(fd, &pass->marks, &pass->is_counted);
    meet(pass, fd, first, &look);
    size_t i = 0;
    for (; i < pass->found.count && i < MOST_PROCESSES && !is_late(began); i++)
        meet_children(pass, pass->found.at[i]);
    return i == pass->found.count;
}

/* The same, as a stock. Returns whether it was complete. */
static bool take_stock(struct standstill *standstill, struct timespec began,
                       struct standstill_stock *ret_stock)
{
    struct pass pass = {.standstill = standstill, .is_counted = true};
    blake2b_begin(&pass.marks);
    bool is_whole = stop_all(&pass, began);
    *ret_stock = (struct standstill_stock){.any_runs = pass.any_runs, .is_counted = pass.is_counted};
    blake2b_end(&pass.marks, ret_stock->marks);
    vec_free(&pass.found);
    return is_whole;
}

/* Did nothing run between two looks? */
static bool is_same_stock(const struct standstill_stock *before, const struct standstill_stock *now)
{
    return !now->any_runs && memcmp(before->marks, now->marks, sizeof(now->marks)) == 0;
}

static bool stop_by_signals(struct standstill *standstill, struct timespec began)
{
    struct standstill_stock before = {.any_runs = true}, now;
    bool is_still = false;
    for (bool is_whole = true; is_whole && !is_still; before = now) {
        is_whole = take_stock(standstill, began, &now);
        is_still = is_whole && !before.any_runs && is_same_stock(&before, &now);
        if (!is_still)
            pause_microseconds(PAUSE);
    }
    standstill->stock = before;
    return is_still;
}

/* Nothing has run since all stood still: the same threads are there, and none of them was given a processor. */
static bool nothing_ran(struct standstill *standstill)
{
    if (standstill->is_by_cgroup)
        return cgroup_is_frozen(&standstill->launched->cgroup);
    struct timespec began;
    struct standstill_stock found;
    clock_gettime(CLOCK_MONOTONIC, &began);
    return take_stock(standstill, began, &found) && found.is_counted &&
           is_same_stock(&standstill->stock, &found);
}

static bool wait_until_frozen(const struct standstill *standstill, struct timespec began)
{
    while (!cgroup_is_frozen(&standstill->launched->cgroup)) {
        if (is_late(began))
            return false;
        pause_microseconds(PAUSE);
    }
    return true;
}

bool standstill_begin(struct standstill *standstill)
{
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    bool lasts = standstill->wanted++;
    struct standstill_stock before = standstill->stock;
    standstill->was_broken =
        lasts && (standstill->was_broken || (standstill->is_by_cgroup && !nothing_ran(standstill)));
    standstill->is_by_cgroup = cgroup_freeze(&standstill->launched->cgroup, true);
    bool is_still =
        standstill->is_by_cgroup ? wait_until_frozen(standstill, began) : stop_by_signals(standstill, began);
    bool is_same = standstill->is_by_cgroup || is_same_stock(&before, &standstill->stock);
    standstill->was_broken |= !is_still || (lasts && !is_same);
    return is_still;
}

bool standstill_is_unbroken(struct standstill *standstill)
{
    return standstill->wanted && !standstill->was_broken && nothing_ran(standstill);
}

static void let_go_on(struct inside_process process)
{
    auto_fd int fd = process_open(process.pid);
    if (process_look(fd).start == process.start)
        process_signal(fd, SIGCONT);
}

void standstill_end(struct standstill *standstill)
{
    if (!standstill->wanted || --standstill->wanted)
        return;
    if (standstill->is_by_cgroup)
        cgroup_freeze(&standstill->launched->cgroup, false);
    for (size_t i = standstill->stopped.count; i > 0; i--)
        let_go_on(standstill->stopped.at[i - 1]);
    vec_free(&standstill->stopped);
    standstill->is_by_cgroup = false;
    standstill->was_broken = false;
}

void standstill_give_up(struct standstill *standstill)
{
    if (standstill->give_up)
        standstill->give_up(standstill->context);
}
