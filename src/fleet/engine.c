#include "fleet/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/process.h"

static const struct fleet_engine *const engines[] = {&engine_local, &engine_slurm};

const struct fleet_engine *engine_find(const char *name)
{
    for (size_t i = 0; i < array_len(engines); i++) {
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    }
    return NULL;
}

/* Waits for a signal, or for the engine. Returns whether a signal asks to end. */
static bool wait_for_signal(int signal_fd, int wake_fd)
{
    enum { LONGEST = 1000 }; /* an engine without processes of its own looks so often, in milliseconds */
    struct pollfd ready[] = {{.fd = signal_fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    struct signalfd_siginfo information;
    bool asks = false;
    if (poll(ready, array_len(ready), LONGEST) <= 0)
        return false;
    while (read(signal_fd, &information, sizeof(information)) == sizeof(information))
        asks |= information.ssi_signo != SIGCHLD;
    return asks;
}

int fleet_run(const struct fleet_engine *engine, struct fleet_job *job, struct err *err)
{
    sigset_t heard = process_ending_signals(), before;
    sigaddset(&heard, SIGCHLD);
    auto_fd int signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0)
        return err_sys(err, errno, "signals cannot be waited for");
    sigprocmask(SIG_BLOCK, &heard, &before);
    bool is_cancelled = false;
    int left = engine->submit(job, err);
    if (left == 0) {
        while ((left = engine->poll(job, err)) > 0) {
            if (!wait_for_signal(signal_fd, job->wake_fd))
                continue;
            engine->cancel(job);
            is_cancelled = true;
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return left < 0 ? -1 : is_cancelled;
}

enum {
    CANCEL_LOOKS = 400,
    CANCEL_KILLS = 300,
    CANCEL_PAUSE = 50 * 1000 /* microseconds */
};                           /* 15 seconds to end the command */

static bool has_result(const struct fleet *fleet, const char *id, bool *ret_runs)
{
    auto_arena struct arena arena = {0};
    struct result result;
    enum task_state state = fleet_state(fleet, &arena, id, &result);
    result_free(&result);
    *ret_runs = state == TASK_RUNNING;
    return state == TASK_DONE || state == TASK_FAILED;
}

int fleet_forbid(const struct fleet *fleet, const char *id, struct err *err)
{
    bool ignored;
    auto_fd int folder_fd = fleet_open_task(fleet, id, err);
    if (folder_fd < 0)
        return -1;
    return has_result(fleet, id, &ignored) ? 0 : fleet_mark(folder_fd, FLEET_CANCELLED, err);
}

/*
 * A worker that holds the lock may not have looked for the mark yet, or may not have said who it is; and what
 * it started holds the lock a moment longer than the worker lives. So the lock alone says when the task has
 * ended.
 */
int fleet_cancel(const struct fleet *fleet, const char *id, bool *ret_is_cancelled, struct err *err)
{
    auto_fd int folder_fd = fleet_open_task(fleet, id, err);
    if (folder_fd < 0 || fleet_forbid(fleet, id, err) < 0)
        return -1;
    bool runs = false, is_asked = false;
    for (int i = 0; !has_result(fleet, id, &runs) && runs && i < CANCEL_LOOKS; i++) {
        auto_arena struct arena arena = {0};
        auto_fd int worker = fleet_worker(&arena, folder_fd);
        if (worker >= 0 && (!is_asked || i >= CANCEL_KILLS))
            process_signal(worker, i >= CANCEL_KILLS ? SIGKILL : SIGTERM);
        is_asked |= worker >= 0;
        pause_microseconds(CANCEL_PAUSE);
    }
    *ret_is_cancelled = !has_result(fleet, id, &runs);
    return 0;
}

/*
 * A result of which a person wants another stays, under a name with the number of the attempt. So do its
 * changes: the next attempt discards the session that the folder names.
 */
static int set_result_aside(int folder_fd, struct arena *arena, const struct result *result, struct err *err)
{
    const char *name = arena_printf(arena, "result.%llu.json", (unsigned long long)result->attempts);
    return (unlinkat(folder_fd, "session", 0) < 0 && errno != ENOENT) ||
                   renameat(folder_fd, FLEET_RESULT, folder_fd, name) < 0
               ? err_sys(err, errno, "cannot set the result of task %s aside", result->id)
               : 0;
}

/* With the lock: another `bawn fleet retry` may have run the task since somebody looked, and what is done stays. */
static int take_up_failed(const struct fleet *fleet, const char *id, int folder_fd, bool *ret_runs,
                          struct err *err)
{
    auto_arena struct arena arena = {0};
    struct result result;
    auto_fd int lock_fd = open_beneath(folder_fd, "lock", O_RDWR | O_CREAT, 0600);
    int locked = -1;
    while (lock_fd >= 0 && (locked = flock(lock_fd, LOCK_EX)) < 0 && errno == EINTR)
        ;
    if (locked < 0)
        return err_sys(err, errno, "cannot lock %s/%s", fleet->own, id);
    enum task_state state = fleet_state(fleet, &arena, id, &result);
    *ret_runs = state != TASK_DONE;
    int done = state == TASK_FAILED ? set_result_aside(folder_fd, &arena, &result, err) : 0;
    result_free(&result);
    return done;
}

int fleet_reset(const struct fleet *fleet, const char *id, bool names_it, bool *ret_runs, struct err *err)
{
    auto_arena struct arena arena = {0};
    struct result result;
    auto_fd int folder_fd = fleet_open_task(fleet, id, err);
    if (folder_fd < 0)
        return -1;
    enum task_state state = fleet_state(fleet, &arena, id, &result);
    result_free(&result);
    *ret_runs = state != TASK_DONE && state != TASK_FAILED;
    if (state == TASK_FAILED && names_it && take_up_failed(fleet, id, folder_fd, ret_runs, err) < 0)
        return -1;
    if (*ret_runs && unlinkat(folder_fd, FLEET_CANCELLED, 0) < 0 && errno != ENOENT)
        return err_sys(err, errno, "cannot take up task %s", id);
    return 0;
}
