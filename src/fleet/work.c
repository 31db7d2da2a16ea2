/*
 * Theory of operation
 *
 * A worker is one process for one task. It is killed at any moment, by a person, by the machine or by an engine, and then another worker
 * runs the task again. What keeps that right:
 *
 *   1. The worker holds the lock of the task's folder until it ends. A second one waits for it, and then finds the result.
 *   2. The result is written last and by rename. Whoever finds it runs nothing.
 *   3. Until then nothing has reached the workspace: the run is a review. What an attempt without a result kept aside is discarded by the
 *      next one, which begins with a clean copy. With a ref, each attempt has a worktree and a branch of its own, and the result names it.
 *   4. An attempt that was asked to end from outside has no result, whatever its command made of the signal.
 *
 * When the command has ended, the worker tells its engine, unless it published ports: those are free when the
 * worker has ended. What is left is little work and much waiting, for the kernel, which takes the namespaces
 * apart, and for the disk. The next task begins meanwhile.
 *
 * An engine may start a worker ahead of its turn. It reads the policy and makes the plan, and process 1 makes its namespaces; then it waits
 * for a word of the engine's. Until that comes, the task is not locked, has no attempt and may be cancelled;
 * if the engine is gone, the worker ends, and nothing is left of it. A plan that waited for longer than
 * PLAN_KEEPS, or whose task is locked by another worker, is made again: a policy that was changed in the
 * meantime applies.
 *
 * bawn's own folder for the fleet is hidden from every sandbox, and that of the results from the command: no
 * task reads or writes the results of another, wherever they lie.
 */
#include "fleet/work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "egress/rate.h"
#include "fleet/bounds.h"
#include "fleet/output.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "session/run.h"
#include "session/upkeep.h"

enum { PLAN_KEEPS = 2000 }; /* milliseconds */

enum admission {
    NOT_ADMITTED, /* its turn has not come, or it came so late that the plan is made again */
    ADMITTED,     /* the task is locked, and the attempt is noted */
    TURNED_AWAY,  /* another worker settled the task, it was cancelled, or the engine is gone */
    ADMISSION_FAILED,
};

struct worker {
    struct attempt attempt;
    const struct fleet *fleet;
    struct arena *arena;
    struct output output;
    int lock_fd; /* all processes of the attempt inherit it: the task is locked until the last one has ended */
    int go_fd;   /* a byte here is the engine's word; -1: the turn of the task has come */
    enum admission admission;
    struct err *err;
};

static int note_session(void *context, const char *session, struct err *err not_used)
{
    const struct worker *worker = context;
    const struct new_file file = {
        .temporary = ".new", .bytes = session, .size = strlen(session), .mode = 0600};
    int ignored = replace_file(worker->attempt.folder_fd, "session", &file);
    (void)ignored; /* without it, an attempt that is killed leaves its changes waiting */
    return 0;
}

/* Removes the copies that an earlier attempt left. A result that was set aside keeps its copy. */
static void clear_copies(const struct attempt *attempt, const char *aside)
{
    int fd = attempt->output_fd;
    unlinkat(fd, FLEET_PATCH, 0);
    if (!fleet_has(attempt->folder_fd, aside) || renameat(fd, FLEET_RESULT, fd, aside) < 0)
        unlinkat(fd, FLEET_RESULT, 0);
}

/* Notes the attempt, and removes what an earlier one left. */
static int begin_attempt(struct attempt *attempt, struct arena *arena, struct err *err)
{
    enum { SMALL = 256 };
    uint64_t ignored, earlier = 0;
    int fd = attempt->folder_fd;
    const char *text = fleet_read(arena, fd, "started", SMALL);
    if (text_take_number(&text, &ignored) && *text++ == ' ' && text_take_number(&text, &ignored) &&
        *text++ == ' ' && text_take_number(&text, &earlier))
        attempt_discard(attempt->state, arena, fleet_read(arena, fd, "session", SMALL));
    attempt->number = earlier + 1;
    unlinkat(fd, "session", 0);
    unlinkat(fd, FLEET_PATCH, 0);
    unlinkat(attempt->output_fd, FLEET_JOURNAL, 0);
    if (attempt->is_apart)
        clear_copies(attempt, arena_printf(arena, "result.%" PRIu64 ".json", earlier));
    auto_fd int self = process_open(getpid());
    struct utsname machine = {0};
    const char *now = arena_printf(arena, "%d %" PRIu64 " %" PRIu64 " %s", getpid(),
                                   self < 0 ? 0 : process_look(self).start, attempt->number,
                                   uname(&machine) < 0 ? "" : machine.nodename);
    const struct new_file file = {.temporary = ".new", .bytes = now, .size = strlen(now), .mode = 0600};
    if (replace_file(fd, "started", &file) < 0)
        return err_sys(err, errno, "cannot begin task %s", attempt->id);
    clock_gettime(CLOCK_REALTIME, &attempt->began);
    return 0;
}

/* The rules of the fleet, then those of the task, which tighten it or set variables (fleet/bounds.c). */
static void fill_request(const struct fleet *fleet, const struct task *task, const char *workspace,
                         struct arena *arena, struct run_request *request)
{
    size_t count = 0;
    struct argument *rules =
        arena_alloc(arena, (fleet->rules.count + task->rules.count + 2) * sizeof(*rules));
    vec_each (const struct argument, rule, &fleet->rules)
        rules[count++] = *rule;
    vec_each (const struct argument, rule, &task->rules)
        rules[count++] = *rule;
    if (workspace)
        rules[count++] = (struct argument){VERB_WORKSPACE, workspace};
    rules[count++] = (struct argument){VERB_HIDE, fleet->path};
    request->unlinked = workspace;
    request->rules = rules;
    request->rule_count = count;
}

static void tell_engine(void *context)
{
    const struct worker *worker = context;
    pid_t self = getpid();
    if (worker->attempt.engine_fd >= 0 &&
        send(worker->attempt.engine_fd, &self, sizeof(self), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* an engine that is gone needs no word */
}

/* --- admission -------------------------------------------------------------------------------------------------------- */

/* The task is locked. If it still has to be run, the attempt begins. */
static enum admission enter(struct worker *worker)
{
    const struct fleet *fleet = worker->fleet;
    struct attempt *attempt = &worker->attempt;
    struct result result;
    enum task_state state = fleet_state(fleet, worker->arena, attempt->id, &result);
    result_free(&result);
    if (state == TASK_DONE || state == TASK_FAILED || fleet_has(attempt->folder_fd, FLEET_CANCELLED))
        return TURNED_AWAY;
    if (fleet_turn(fleet, attempt->id) != TURN_NOW) {
        err_set(worker->err, "task %s does not begin: a task that it comes after is not done", attempt->id);
        return ADMISSION_FAILED;
    }
    return begin_attempt(attempt, worker->arena, worker->err) < 0 ||
                   output_keep(&worker->output, attempt->output_fd, worker->err) < 0
               ? ADMISSION_FAILED
               : ADMITTED;
}

/* Locks the task and enters. Where another worker has the task, waits for that one, or leaves the admission as it is. */
static void admit(struct worker *worker, bool waits)
{
    int locked;
    while ((locked = flock(worker->lock_fd, LOCK_EX | (waits ? 0 : LOCK_NB))) < 0 && errno == EINTR)
        ;
    if (locked == 0) {
        worker->admission = enter(worker);
    } else if (errno != EWOULDBLOCK) {
        err_sys(worker->err, errno, "cannot lock %s/%s", worker->fleet->own, worker->attempt.id);
        worker->admission = ADMISSION_FAILED;
    }
}

/* Waits until the turn of the task has come. */
static bool hear_word(struct worker *worker)
{
    char word;
    ssize_t size = 1;
    while (worker->go_fd >= 0 && (size = read(worker->go_fd, &word, 1)) < 0 && errno == EINTR)
        ;
    worker->go_fd = -1;
    worker->admission = size == 1 ? NOT_ADMITTED : TURNED_AWAY;
    return size == 1;
}

/* The plan of a worker that was started ahead is made. */
static bool may_begin(void *context)
{
    struct worker *worker = context;
    int64_t planned = now_milliseconds();
    if (hear_word(worker) && now_milliseconds() - planned < PLAN_KEEPS)
        admit(worker, false);
    return worker->admission == ADMITTED;
}

/* --- the run ---------------------------------------------------------------------------------------------------------- */

/* With a ref, each attempt has a branch of its own, so it must have begun before the run does. Returns whether the task was run. */
static bool carry_out(const struct caller *caller, const struct task *task, struct worker *worker,
                      struct run_request *request, struct run *ret_run)
{
    if (worker->go_fd >= 0 && !task->ref) {
        request->may_begin = may_begin;
        run_command(caller, request, ret_run);
        request->may_begin = NULL;
        if (worker->admission == ADMITTED)
            return true;
        run_finish(ret_run);
    }
    if (worker->admission == NOT_ADMITTED && hear_word(worker))
        admit(worker, true);
    if (worker->admission != ADMITTED)
        return false;
    if (task->ref) {
        request->review = false;
        request->branch =
            arena_printf(worker->arena, "fleet/%s/%s", path_name(worker->fleet->path), task->id);
        request->branch_from = task->ref;
    }
    run_command(caller, request, ret_run);
    return true;
}

/* Returns 0 with a result, 1 without one. */
static int run_task(const struct caller *caller, const struct task *task, struct worker *worker,
                    struct run_request *request, struct err *err)
{
    const struct fleet *fleet = worker->fleet;
    struct attempt *attempt = &worker->attempt;
    struct arena *arena = worker->arena;
    struct caller there = *caller;
    const char *workspace;
    if (bounds_check(caller, fleet, task, arena, &workspace, err) < 0)
        return -1;
    there.directory = workspace ? workspace : fleet->directory;
    fill_request(fleet, task, workspace, arena, request);
    request->command = task_command(task, fleet->command, arena, err);
    if (!request->command || output_begin(&worker->output, err) < 0)
        return -1;
    struct run run;
    bool has_run = carry_out(&there, task, worker, request, &run);
    struct err ended;
    int result = output_end(&worker->output, &attempt->output_dropped, has_run ? err : &ended);
    if (!has_run)
        return worker->admission == ADMISSION_FAILED ? -1 : 0;
    if (result == 0)
        result =
            fleet_has(attempt->folder_fd, FLEET_CANCELLED) ? 1 : attempt_collect(attempt, &run, arena, err);
    if (result == 1 && run.session.name)
        attempt_discard(attempt->state, arena, run.session.name);
    run_finish(&run);
    return result;
}

/* The table of a rate limit, which all tasks on this machine share. The folder is hidden from every sandbox. */
static int open_rate(const struct fleet *fleet, struct arena *arena, struct err *err)
{
    struct utsname machine = {0};
    struct stat status;
    const char *name = uname(&machine) < 0 ? "rate" : arena_printf(arena, "rate.%s", machine.nodename);
    auto_fd int fd = open_beneath(fleet->fd, name, O_RDWR | O_CREAT, 0600);
    int errnum = fd < 0 || fstat(fd, &status) < 0   ? errno
                 : status.st_size == RATE_FILE_SIZE ? 0
                                                    : posix_fallocate(fd, 0, RATE_FILE_SIZE);
    return errnum ? err_sys(err, errnum, "cannot make %s/%s", fleet->own, name) : fd_take(&fd);
}

/* A fleet makes as many sessions as it has tasks. */
static void scatter_sessions(const struct worker *worker)
{
    struct err ignored; /* the run will say what is wrong */
    const char *path = arena_printf(worker->arena, "%s/bawn/sessions", worker->attempt.state);
    auto_fd int fd = directories_open_made(path, &ignored);
    if (fd >= 0)
        directories_scatter(fd);
}

static int work(const struct caller *caller, struct worker *worker, char *const *typed, struct err *err)
{
    const struct fleet *fleet = worker->fleet;
    auto_loaded struct loaded loaded = {0};
    struct task task;
    const char *line = fleet_read(worker->arena, worker->attempt.folder_fd, "task.json", TASK_LARGEST);
    if (task_parse(bytes_of(line, strlen(line)), worker->arena, &task, err) < 0)
        return err_set(err, "%s/%s/task.json is damaged", fleet->own, worker->attempt.id);
    struct run_request request = {.agent = fleet->agent,
                                  .degraded = fleet->degraded,
                                  .on = fleet->has_walls ? &fleet->on : NULL,
                                  .review = true,
                                  .fresh_home = true,
                                  .wants_changes = true,
                                  .typed = typed,
                                  .begun = note_session,
                                  .ended = tell_engine,
                                  .watcher = worker};
    auto_fd int rate_fd = open_rate(fleet, worker->arena, err);
    request.rate_fd = rate_fd;
    int worked = rate_fd < 0                     ? -1
                 : load_request(caller, &loaded) ? err_set(err, "there is no home directory")
                                                 : 0;
    worker->attempt.state = loaded.request.starts[START_STATE];
    if (worked == 0) {
        scatter_sessions(worker);
        worked = run_task(caller, &task, worker, &request, err);
    }
    task_free(&task);
    return worked;
}

int fleet_work(const struct caller *caller, const struct fleet *fleet, const char *id,
               const struct engine_words *words, char *const *typed, struct err *err)
{
    auto_arena struct arena arena = {0};
    auto_fd int folder_fd = fleet_open_task(fleet, id, err);
    if (folder_fd < 0)
        return -1;
    auto_fd int lock_fd = open_beneath(folder_fd, "lock", O_RDWR | O_CREAT, 0600);
    if (lock_fd < 0)
        return err_sys(err, errno, "cannot lock %s/%s", fleet->own, id);
    auto_fd int output_fd = fleet_open_output(fleet, id, true, err);
    if (output_fd < 0)
        return -1;
    struct worker worker = {.attempt = {.id = id,
                                        .folder_fd = folder_fd,
                                        .output_fd = output_fd,
                                        .is_apart = fleet_is_apart(fleet),
                                        .engine_fd = words->tell_fd},
                            .fleet = fleet,
                            .arena = &arena,
                            .output = OUTPUT_NONE,
                            .lock_fd = lock_fd,
                            .go_fd = words->go_fd,
                            .err = err};
    return work(caller, &worker, typed, err);
}
