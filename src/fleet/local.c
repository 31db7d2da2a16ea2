/*
 * The engine "local": workers are child processes of this one, so many at once, in the order of the task
 * file, each when those that it comes after are done. Each has a session of its own (setsid): Ctrl-C reaches
 * this process alone, and a worker goes on if this process is killed. `bawn fleet retry` then waits for it.
 *
 * A worker whose command has ended says so by a socket, and does not count any more: it mostly waits. So that
 * such workers do not pile up where the disk is slow, there are at most as many of them as of the others.
 *
 * While commands are over quickly, the workers of the next tasks are started ahead, one for each that runs:
 * they make their plans meanwhile, and wait for a word (fleet/work.c). Where a command takes longer than
 * QUICK there is nothing to gain.
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
#include "base/timespec.h"
#include "fleet/engine.h"
#include "kernel/beneath.h"
#include "kernel/own_program.h"
#include "kernel/process.h"

enum { QUICK = 2000 }; /* milliseconds */

struct worker_began {
    pid_t worker;
    int64_t at; /* in milliseconds */
};

struct worker_ahead {
    pid_t worker;
    size_t task;
    int go_fd; /* the socket for its word */
};

/* cppcheck-suppress unusedStructMember; vec_push uses it */
typedef VEC(struct worker_began) worker_list;
/* cppcheck-suppress unusedStructMember; vec_push uses it */
typedef VEC(struct worker_ahead) ahead_list;

struct engine_state {
    size_t next;           /* all tasks before this one have begun, or never will */
    bool *is_begun;        /* for each task: it has begun, or never will */
    worker_list workers;   /* whose command has not ended … */
    process_list ending;   /* … and the others */
    int told_fd, tell_fd;  /* the socket */
    ahead_list ahead;      /* in the order of their tasks */
    bool is_quick;         /* the last command that ended was */
    bool has_failed_ahead; /* a worker ended before it got its word: this is not tried again */
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
    int go_fd; /* of one that is started ahead; -1: it begins at once */
};

/* Becomes the worker: without input, and with what bawn itself says in a file of the fleet's. */
static int become_worker(void *context)
{
    const struct start *begun = context;
    char tell_fd[16], go_fd[16];
    const char *const words[] = {
        "bawn", "fleet", "work", begun->job->fleet->own, begun->id, tell_fd, begun->go_fd < 0 ? NULL : go_fd,
        NULL};
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC), inherited = dup(begun->job->state->tell_fd);
    int go = begun->go_fd < 0 ? -1 : dup(begun->go_fd);
    sigset_t none;
    sigemptyset(&none);
    snprintf(tell_fd, sizeof(tell_fd), "%d", inherited);
    snprintf(go_fd, sizeof(go_fd), "%d", go);
    if (nowhere >= 0 && inherited >= 0 && (go >= 0 || begun->go_fd < 0) && setsid() >= 0 &&
        dup2(nowhere, STDIN_FILENO) >= 0 && dup2(begun->log_fd, STDOUT_FILENO) >= 0 &&
        dup2(begun->log_fd, STDERR_FILENO) >= 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        own_program_become(OWN_PROGRAM, words, begun->job->environment);
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

/* Returns the worker, which is not counted yet; -1 with an error. */
static pid_t start(struct fleet_job *job, size_t task, int go_fd, struct err *err)
{
    auto_fd int log_fd = open_beneath(job->fleet->fd, FLEET_LOG, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log_fd < 0)
        return err_sys(err, errno, "cannot write %s/" FLEET_LOG, job->fleet->own);
    struct start this = {job, job->ids[task], log_fd, go_fd};
    pid_t worker = process_start(become_worker, &this);
    if (worker < 0)
        return err_sys(err, errno, "cannot start a worker");
    job->state->is_begun[task] = true;
    return worker;
}

static void count(struct engine_state *state, pid_t worker)
{
    vec_push(&state->workers, (struct worker_began){worker, now_milliseconds()});
}

/* Returns whether it was there; then also whether its command was quick. */
static bool take_out_worker(struct engine_state *state, pid_t worker)
{
    for (size_t i = 0; i < state->workers.count; i++) {
        if (state->workers.at[i].worker != worker)
            continue;
        state->is_quick = now_milliseconds() - state->workers.at[i].at < QUICK;
        state->workers.at[i] = state->workers.at[--state->workers.count];
        return true;
    }
    return false;
}

static void take_out_ending(struct engine_state *state, pid_t worker)
{
    for (size_t i = 0; i < state->ending.count; i++) {
        if (state->ending.at[i] == worker)
            state->ending.at[i] = state->ending.at[--state->ending.count];
    }
}

/* Hears of the workers whose command has ended. */
static void hear(struct engine_state *state)
{
    pid_t worker;
    while (read(state->told_fd, &worker, sizeof(worker)) == sizeof(worker)) {
        if (take_out_worker(state, worker))
            vec_push(&state->ending, worker);
    }
}

/* --- workers that are started ahead ----------------------------------------------------------------------------------- */

/* Forgets one: it has its word, or never gets one. */
static void let_go(struct engine_state *state, size_t place)
{
    close(state->ahead.at[place].go_fd);
    state->ahead.count--;
    memmove(state->ahead.at + place, state->ahead.at + place + 1,
            (state->ahead.count - place) * sizeof(*state->ahead.at));
}

/* Without one, nothing is lost but time. Returns whether there is one more. */
static bool start_ahead(struct fleet_job *job)
{
    struct engine_state *state = job->state;
    struct err ignored;
    int ends[2];
    bool is_busy =
        state->ending.count >= job->at_once; /* those that begin and end need the processors first */
    if (is_busy || state->ahead.count >= job->at_once || !state->is_quick || state->has_failed_ahead)
        return false;
    size_t next = find_next(job);
    if (next == job->count || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    pid_t worker = start(job, next, ends[0], &ignored);
    close(ends[0]);
    if (worker < 0)
        close(ends[1]);
    else
        vec_push(&state->ahead, (struct worker_ahead){worker, next, ends[1]});
    return worker >= 0;
}

/* Gives the first of them its word. Returns false if there is none; one that has ended will be waited for. */
static bool begin_ahead(struct engine_state *state)
{
    if (!state->ahead.count || send(state->ahead.at[0].go_fd, "g", 1, MSG_NOSIGNAL) != 1)
        return false;
    count(state, state->ahead.at[0].worker);
    let_go(state, 0);
    return true;
}

/* One of them ended before its turn? Then its task has not begun. */
static bool lose_ahead(struct engine_state *state, pid_t worker)
{
    for (size_t i = 0; i < state->ahead.count; i++) {
        size_t task = state->ahead.at[i].task;
        if (state->ahead.at[i].worker != worker)
            continue;
        state->is_begun[task] = false;
        state->next = task < state->next ? task : state->next;
        state->has_failed_ahead = true;
        let_go(state, i);
        return true;
    }
    return false;
}

static void free_state(struct fleet_job *job)
{
    while (job->state->ahead.count)
        let_go(job->state, 0);
    close(job->state->told_fd);
    close(job->state->tell_fd);
    job->wake_fd = -1;
    vec_free(&job->state->workers);
    vec_free(&job->state->ending);
    vec_free(&job->state->ahead);
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
        if (!lose_ahead(state, worker) && !take_out_worker(state, worker))
            take_out_ending(state, worker);
        job->progress(job->context);
    }
    size_t next;
    while (state->workers.count < job->at_once && state->ending.count <= job->at_once) {
        if (begin_ahead(state))
            continue;
        if ((next = find_next(job)) == job->count)
            break;
        pid_t worker = start(job, next, -1, err);
        if (worker >= 0) {
            count(state, worker);
            continue;
        }
        if (state->workers.count + state->ending.count) /* too many processes: go on when one has ended */
            break;
        free_state(job);
        return -1;
    }
    while (start_ahead(job))
        ;
    /* Without a worker nothing will happen: tasks whose turn has not come wait for one that was interrupted. */
    size_t left = state->workers.count + state->ending.count + state->ahead.count;
    if (left == 0)
        free_state(job);
    return (int)left;
}

static void cancel(struct fleet_job *job)
{
    struct engine_state *state = job->state;
    while (state->ahead.count) { /* nothing of their tasks has begun */
        kill(state->ahead.at[0].worker, SIGKILL);
        let_go(state, 0);
    }
    vec_each (const struct worker_began, began, &state->workers)
        kill(began->worker, state->is_cancelled ? SIGKILL : SIGTERM);
    vec_each (const pid_t, worker, &state->ending)
        kill(*worker, state->is_cancelled ? SIGKILL : SIGTERM);
    state->is_cancelled = true;
}

const struct fleet_engine engine_local = {
    .name = "local", .submit = submit, .poll = poll_local, .cancel = cancel};
