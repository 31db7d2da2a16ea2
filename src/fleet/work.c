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
 * When the command has ended, the worker tells its engine, unless it published ports: those are free when the worker has ended. What is left is
 * little work and much waiting, for the kernel, which takes the namespaces apart, and for the disk. The next task begins meanwhile.
 *
 * The fleet's folder is hidden from the command, so no task reads or writes the results of another, wherever the folder lies.
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
#include "egress/rate.h"
#include "fleet/output.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "session/run.h"
#include "session/upkeep.h"

static void note_session(void *context, const char *session)
{
    const struct attempt *attempt = context;
    const struct new_file file = {
        .temporary = ".new", .bytes = session, .size = strlen(session), .mode = 0600};
    if (replace_file(attempt->folder_fd, "session", &file) < 0)
        return; /* an attempt that is killed then leaves its changes waiting */
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
    unlinkat(fd, FLEET_JOURNAL, 0);
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

/* The rules of the fleet, then those of the task, which are stronger where both are limits or variables. */
static void fill_request(const struct fleet *fleet, const struct task *task, struct arena *arena,
                         struct run_request *request)
{
    size_t count = 0;
    struct argument *rules =
        arena_alloc(arena, (fleet->rules.count + task->rules.count + 2) * sizeof(*rules));
    vec_each (const struct argument, rule, &fleet->rules)
        rules[count++] = *rule;
    vec_each (const struct argument, rule, &task->rules)
        rules[count++] = *rule;
    if (task->workspace)
        rules[count++] =
            (struct argument){VERB_WORKSPACE, path_clean(arena, fleet->directory, task->workspace)};
    rules[count++] = (struct argument){VERB_HIDE, fleet->path};
    request->rules = rules;
    request->rule_count = count;
}

static void tell_engine(void *context)
{
    const struct attempt *attempt = context;
    pid_t self = getpid();
    if (attempt->engine_fd >= 0 &&
        send(attempt->engine_fd, &self, sizeof(self), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* an engine that is gone needs no word */
}

/* Returns 0 with a result, 1 without one. */
static int run_task(const struct caller *caller, const struct fleet *fleet, const struct task *task,
                    struct attempt *attempt, struct run_request *request, struct arena *arena,
                    struct err *err)
{
    struct caller there = *caller;
    there.directory =
        task->workspace ? path_clean(arena, fleet->directory, task->workspace) : fleet->directory;
    fill_request(fleet, task, arena, request);
    if (task->ref) {
        const char *name = arena_printf(arena, "fleet/%s/%s", path_name(fleet->path), task->id);
        request->review = false;
        request->branch =
            attempt->number > 1 ? arena_printf(arena, "%s-%" PRIu64, name, attempt->number) : name;
        request->branch_from = task->ref;
    }
    request->command = task_command(task, fleet->command, arena, err);
    if (!request->command)
        return -1;
    struct run run;
    struct output output = OUTPUT_NONE;
    if (output_begin(&output, attempt->folder_fd, err) < 0)
        return -1;
    run_command(&there, request, &run);
    int result = output_end(&output, &attempt->output_dropped, err);
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
    return errnum ? err_sys(err, errnum, "cannot make %s/%s", fleet->path, name) : fd_take(&fd);
}

static int work_locked(const struct caller *caller, const struct fleet *fleet, struct attempt attempt,
                       char *const *typed, struct err *err)
{
    int folder_fd = attempt.folder_fd;
    const char *id = attempt.id;
    auto_arena struct arena arena = {0};
    auto_loaded struct loaded loaded = {0};
    struct task task;
    struct result result;
    enum task_state state = fleet_state(fleet, &arena, id, &result);
    result_free(&result);
    if (state == TASK_DONE || state == TASK_FAILED || fleet_has(folder_fd, FLEET_CANCELLED))
        return 0;
    if (fleet_turn(fleet, id) != TURN_NOW)
        return err_set(err, "task %s does not begin: a task that it comes after is not done", id);
    const char *line = fleet_read(&arena, folder_fd, "task.json", TASK_LARGEST);
    if (task_parse(bytes_of(line, strlen(line)), &arena, &task, err) < 0)
        return err_set(err, "%s/%s/task.json is damaged", fleet->path, id);
    struct run_request request = {.agent = fleet->agent,
                                  .degraded = fleet->degraded,
                                  .on = fleet->has_walls ? &fleet->on : NULL,
                                  .review = true,
                                  .fresh_home = true,
                                  .wants_changes = true,
                                  .typed = typed,
                                  .begun = note_session,
                                  .ended = tell_engine,
                                  .watcher = &attempt};
    auto_fd int rate_fd = open_rate(fleet, &arena, err);
    request.rate_fd = rate_fd;
    int worked = rate_fd < 0                     ? -1
                 : load_request(caller, &loaded) ? err_set(err, "there is no home directory")
                                                 : 0;
    attempt.state = loaded.request.starts[START_STATE];
    if (worked == 0)
        worked = begin_attempt(&attempt, &arena, err);
    if (worked == 0)
        worked = run_task(caller, fleet, &task, &attempt, &request, &arena, err);
    task_free(&task);
    return worked;
}

int fleet_work(const struct caller *caller, const struct fleet *fleet, const char *id, int engine_fd,
               char *const *typed, struct err *err)
{
    auto_fd int folder_fd = fleet_open_task(fleet, id, err);
    if (folder_fd < 0)
        return -1;
    auto_fd int lock_fd = open_beneath(folder_fd, "lock", O_RDWR | O_CREAT, 0600);
    int locked = -1;
    while (lock_fd >= 0 && (locked = flock(lock_fd, LOCK_EX)) < 0 && errno == EINTR)
        ;
    if (locked < 0)
        return err_sys(err, errno, "cannot lock %s/%s", fleet->path, id);
    struct attempt attempt = {.id = id, .folder_fd = folder_fd, .engine_fd = engine_fd};
    return work_locked(caller, fleet, attempt, typed, err);
}
