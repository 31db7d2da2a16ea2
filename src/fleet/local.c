/*
 * The engine "local": workers are child processes of this one, so many at once, in the order of the task file, each when those that it comes after are done. Each has a session of its
 * own (setsid): Ctrl-C reaches this process alone, and a worker goes on if this process is killed. `bawn fleet retry` then waits for it.
 *
 * A worker whose command has ended says so by a socket, and does not count any more: it mostly waits. So that such workers do not pile up where the
 * disk is slow, there are at most as many of them as of the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "fleet/engine.h"
#include "kernel/beneath.h"
#include "kernel/process.h"

struct engine_state {
    size_t next;          /* all tasks before this one have begun, or never will */
    bool *is_begun;       /* for each task: it has begun, or never will */
    process_list workers; /* whose command has not ended … */
    process_list ending;  /* … and the others */
    int told_fd, tell_fd; /* the socket */
    bool is_cancelled;
};

static int submit(struct fleet_job *job, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return err_sys(err, errno, "cannot make a socket");
    job->wake_fd = ends[0];
    job->state = must_realloc(NULL, 1, sizeof(*job->state));
    *job->state = (struct engine_state){
        .is_begun = must_realloc(NULL, job->count + 1, sizeof(bool)), .told_fd = ends[0], .tell_fd = ends[1]};
    memset(job->state->is_begun, 0, job->count + 1);
    return 0;
}

struct start {
    const struct fleet_job *job;
    const char *id;
    int log_fd;
};

/* Becomes the worker: without input, and with what bawn itself says in a file of the fleet's. */
static int become_worker(void *context)
{
    const struct start *begun = context;
    char tell_fd[16];
    const char *const words[] = {"bawn", "fleet", "work", begun->job->fleet->path, begun->id, tell_fd, NULL};
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC), inherited = dup(begun->job->state->tell_fd);
    sigset_t none;
    sigemptyset(&none);
    snprintf(tell_fd, sizeof(tell_fd), "%d", inherited);
    if (nowhere >= 0 && inherited >= 0 && setsid() >= 0 && dup2(nowhere, STDIN_FILENO) >= 0 &&
        dup2(begun->log_fd, STDOUT_FILENO) >= 0 && dup2(begun->log_fd, STDERR_FILENO) >= 0 &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        execve("/proc/self/exe", (char *const *)words, (char *const *)begun->job->environment);
    _exit(EXIT_REFUSED);
}

/* The first task whose turn it is; the count if there is none. One that never has its turn is passed over. */
static size_t find_next(const struct fleet_job *job)
{
    struct engine_state *state = job->state;
    size_t found = state->is_cancelled ? job->count : state->next;
    for (; found < job->count; found++) {
        enum task_turn turn = state->is_begun[found] ? TURN_LATER : fleet_turn(job->fleet, job->ids[found]);
        if (turn == TURN_NOW)
            break;
        state->is_begun[found] |= turn == TURN_NEVER;
    }
    while (state->next < job->count && state->is_begun[state->next])
        state->next++;
    return found;
}

static int start(struct fleet_job *job, size_t task, struct err *err)
{
    auto_fd int log_fd = open_beneath(job->fleet->fd, "workers.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log_fd < 0)
        return err_sys(err, errno, "cannot write %s/workers.log", job->fleet->path);
    struct start this = {job, job->ids[task], log_fd};
    pid_t worker = process_start(become_worker, &this);
    if (worker < 0)
        return err_sys(err, errno, "cannot start a worker");
    job->state->is_begun[task] = true;
    vec_push(&job->state->workers, worker);
    return 0;
}

/* Returns whether it was there. */
static bool take_out(process_list *list, pid_t worker)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i] != worker)
            continue;
        list->at[i] = list->at[--list->count];
        return true;
    }
    return false;
}

/* Hears of the workers whose command has ended. */
static void hear(struct engine_state *state)
{
    pid_t worker;
    while (read(state->told_fd, &worker, sizeof(worker)) == sizeof(worker)) {
        if (take_out(&state->workers, worker))
            vec_push(&state->ending, worker);
    }
}

static void free_state(struct fleet_job *job)
{
    close(job->state->told_fd);
    close(job->state->tell_fd);
    job->wake_fd = -1;
    vec_free(&job->state->workers);
    vec_free(&job->state->ending);
    free(job->state->is_begun);
    free(job->state);
    job->state = NULL;
}

/* Is called again after each SIGCHLD; fleet_run waits for that. */
static int poll_local(struct fleet_job *job, struct err *err)
{
    struct engine_state *state = job->state;
    hear(state);
    for (pid_t worker; (worker = waitpid(-1, NULL, WNOHANG)) > 0;) {
        if (!take_out(&state->workers, worker))
            take_out(&state->ending, worker);
        job->progress(job->context);
    }
    size_t next;
    while (state->workers.count < job->at_once && state->ending.count <= job->at_once &&
           (next = find_next(job)) < job->count) {
        if (start(job, next, err) == 0)
            continue;
        if (state->workers.count + state->ending.count) /* too many processes: go on when one has ended */
            break;
        free_state(job);
        return -1;
    }
    /* Without a worker nothing will happen: tasks whose turn has not come wait for one that was interrupted. */
    size_t left = state->workers.count + state->ending.count;
    if (left == 0)
        free_state(job);
    return (int)left;
}

static void cancel(struct fleet_job *job)
{
    struct engine_state *state = job->state;
    vec_each (const pid_t, worker, &state->workers)
        kill(*worker, state->is_cancelled ? SIGKILL : SIGTERM);
    vec_each (const pid_t, worker, &state->ending)
        kill(*worker, state->is_cancelled ? SIGKILL : SIGTERM);
    state->is_cancelled = true;
}

const struct fleet_engine engine_local = {
    .name = "local", .submit = submit, .poll = poll_local, .cancel = cancel};
