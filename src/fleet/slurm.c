/*
 * The engine "slurm": workers are the elements of array jobs. Slurm queues them, places them on nodes and runs them again if a node fails
 * (--requeue). All nodes share bawn's state folder, the folder of the results, the project, the user's home and bawn's path.
 *
 * Slurm limits the index of an array, so a job has at most CHUNK tasks, with the same limits. Its list is the
 * file slurm.N: the ids, one per line. The element finds its line by SLURM_ARRAY_TASK_ID. slurm.jobs has the
 * numbers of all jobs that were submitted.
 *
 * Slurm may run a task twice at once: a node that is believed dead may go on. The lock and the result of the task decide then, as for
 * any two workers. So nothing here has to be exact: a controller that does not answer is asked again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "fleet/engine.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "outside/outside.h"
#include "policy/rule.h"
#include "report/time_text.h"

enum {
    ENVIRONMENT_FD = 3,
    CHUNK = 1000,
    SAID_SHOWN = 300,
    TOOL_LARGEST = 1024 * 1024,
    JOBS_LARGEST = 1024 * 1024
};

#define SLURM_JOBS "slurm.jobs"

struct engine_state {
    struct arena arena;
    text_list jobs; /* numbers, as sbatch prints them */
    bool *is_over;  /* for each task: it has a result */
};

/* --- Slurm's tools ---------------------------------------------------------------------------------------------------- */

struct tool {
    struct outside_program program;
    int out_fd, environment_fd;
};

static int become_tool(void *context)
{
    const struct tool *tool = context;
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nowhere >= 0 && dup2(nowhere, STDIN_FILENO) >= 0 && dup2(tool->out_fd, STDOUT_FILENO) >= 0 &&
        dup2(tool->out_fd, STDERR_FILENO) >= 0 &&
        (tool->environment_fd < 0 || dup2(tool->environment_fd, ENVIRONMENT_FD) >= 0))
        outside_become(&tool->program);
    _exit(127);
}

/*
 * The caller's variables, each ended by a NUL: sbatch passes them to the jobs, and uses none of them itself.
 * A worker starts in the caller's environment, as on this machine. The descriptor is none of those that
 * become_tool replaces.
 */
static int write_environment(const char *const *environment)
{
    auto_buf struct buf text = {0};
    for (; *environment; environment++)
        buf_add(&text, *environment, strlen(*environment) + 1);
    auto_fd int fd = memfd_create("environment", MFD_CLOEXEC);
    if (fd < 0 || write_whole(fd, text.bytes, text.size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    return fcntl(fd, F_DUPFD_CLOEXEC, ENVIRONMENT_FD + 1);
}

/*
 * Runs one of Slurm's tools from PATH. Returns its status, with what it printed or why it was not run.
 * `is_submitting`: it reads ENVIRONMENT_FD.
 */
static int run_tool(const char *const *words, const char *const *environment, bool is_submitting,
                    struct buf *out)
{
    enum { REFUSED = 126, MISSING = 127 };
    auto_arena struct arena arena = {0};
    const struct outside outside = {.environment = environment};
    struct err err = {0};
    struct tool tool = {.environment_fd = -1};
    int found = outside_find(&outside, &arena, words, NULL, &tool.program, &err);
    if (found <= 0) {
        buf_add_str(out, found < 0 ? err.message : "it is not on PATH");
        return found < 0 ? REFUSED : MISSING;
    }
    int ends[2];
    auto_fd int environment_fd = is_submitting ? write_environment(environment) : -1;
    if ((is_submitting && environment_fd < 0) || pipe2(ends, O_CLOEXEC) < 0) {
        outside_close(&tool.program);
        return -1;
    }
    auto_fd int read_fd = ends[0], write_fd = ends[1];
    tool.out_fd = write_fd;
    tool.environment_fd = environment_fd;
    pid_t child = process_start(become_tool, &tool);
    outside_close(&tool.program);
    if (child < 0)
        return -1;
    close(fd_take(&write_fd));
    int read = buf_read(out, read_fd, TOOL_LARGEST);
    int status = process_wait(child);
    return read < 0 ? -1 : status;
}

/* --- submitting ------------------------------------------------------------------------------------------------------- */

/*
 * What a task needs of Slurm. Tasks with the same limits and level are elements of one array; the jobs of a
 * level begin when all jobs of the level below are over, whatever came of them: a worker finds out itself
 * whether the tasks that its own comes after are done.
 */
struct need {
    const char *memory, *time; /* as in a limit; NULL: none */
    size_t level;              /* 0: it comes after no task of this job */
    bool is_submitted;
};

/* The last limit of this name, or `found`. */
static const char *limit_of(const struct argument *rules, size_t count, const char *name, const char *found)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const struct argument *rule = &rules[i];
        if (rule->verb == VERB_LIMIT && strncmp(rule->text, name, size) == 0 && rule->text[size] == '=')
            found = rule->text + size + 1;
    }
    return found;
}

/* Limits of the command line, and stronger ones of the task. */
static void find_limits(const struct fleet *fleet, const char *id, struct arena *arena, struct need *need)
{
    struct err ignored;
    struct task task;
    need->memory = limit_of(fleet->rules.at, fleet->rules.count, "memory", NULL);
    need->time = limit_of(fleet->rules.at, fleet->rules.count, "time", NULL);
    auto_fd int fd = fleet_open_task(fleet, id, &ignored);
    const char *line = fd < 0 ? "" : fleet_read(arena, fd, "task.json", TASK_LARGEST);
    if (!strstr(line, "limits") || task_parse(bytes_of(line, strlen(line)), arena, &task, &ignored) < 0)
        return; /* the worker reports it */
    need->memory = limit_of(task.rules.at, task.rules.count, "memory", need->memory);
    need->time = limit_of(task.rules.at, task.rules.count, "time", need->time);
    task_free(&task);
}

/* A task comes after earlier ones only, so their levels are known. Tasks that are not of this job have a result, or never will. */
static void find_level(const struct fleet *fleet, const char *id, const struct map *known, struct need *need)
{
    const struct task_order *end = fleet->orders.at + fleet->orders.count;
    for (const struct task_order *order = fleet_orders(fleet, id);
         order && order < end && strcmp(order->id, id) == 0; order++) {
        const struct need *below = map_get(known, order->after, strlen(order->after));
        if (below && below->level >= need->level)
            need->level = below->level + 1;
    }
}

static struct need *find_needs(const struct fleet_job *job, struct arena *arena)
{
    struct need *needs = arena_alloc(arena, (job->count + 1) * sizeof(*needs));
    struct map known = {0};
    map_reserve(&known, job->count);
    for (size_t i = 0; i < job->count; i++) {
        needs[i] = (struct need){0};
        find_limits(job->fleet, job->ids[i], arena, &needs[i]);
        find_level(job->fleet, job->ids[i], &known, &needs[i]);
        *map_at(&known, job->ids[i], strlen(job->ids[i])) = &needs[i];
    }
    map_free(&known);
    return needs;
}

/* What Slurm reserves for each task. It ends a job a while after bawn would have ended the command itself. */
static void add_resources(const struct need *need, struct arena *arena, text_list *words)
{
    enum { GRACE_MINUTES = 2 };
    const char *memory = need->memory;
    size_t digits = memory ? strspn(memory, "0123456789") : 0;
    uint64_t seconds;
    if (digits && memory[digits] && strchr("KMGT", memory[digits]) && !memory[digits + 1])
        vec_push(words, arena_printf(arena, "--mem=%s", memory));
    if (need->time && duration_parse(need->time, &seconds))
        vec_push(words,
                 arena_printf(arena, "--time=%llu", (unsigned long long)(seconds / 60 + 1 + GRACE_MINUTES)));
}

static int write_list(const struct fleet_job *job, const char *name, const text_list *ids, struct err *err)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < ids->count; i++)
        buf_printf(&text, "%s\n", ids->at[i]);
    const struct new_file file = {.temporary = ".new", .bytes = text.bytes, .size = text.size, .mode = 0600};
    return replace_file(job->fleet->fd, name, &file) < 0
               ? err_sys(err, errno, "cannot write %s/%s", job->fleet->own, name)
               : 0;
}

static int note_job(const struct fleet *fleet, const char *number, struct err *err)
{
    auto_fd int fd = open_beneath(fleet->fd, SLURM_JOBS, O_WRONLY | O_CREAT | O_APPEND, 0600);
    auto_buf struct buf line = {0};
    buf_printf(&line, "%s\n", number);
    return fd < 0 || write_whole(fd, line.bytes, line.size) < 0
               ? err_sys(err, errno, "cannot write %s/%s", fleet->own, SLURM_JOBS)
               : 0;
}

/* The first free name for a list. */
static const char *free_list(struct arena *arena, const struct fleet *fleet)
{
    for (unsigned number = 1;; number++) {
        const char *name = arena_printf(arena, "slurm.%u", number);
        if (!fleet_has(fleet->fd, name))
            return name;
    }
}

/* An array job: so many elements of a list, each with these needs. */
struct chunk {
    const char *list;
    size_t count;
    const struct need *need;
    size_t first_below, end_below; /* which of job->state->jobs are those of the level below */
};

/* Slurm replaces %j and the like in the name of a log. */
static const char *log_pattern(struct arena *arena, const char *folder)
{
    auto_buf struct buf pattern = {0};
    for (; *folder; folder++) {
        if (*folder == '%')
            buf_add_char(&pattern, '%');
        buf_add_char(&pattern, *folder);
    }
    buf_add_str(&pattern, "/" FLEET_LOG);
    return arena_str(arena, buf_text(&pattern));
}

static void add_words(const struct fleet_job *job, const char *self, const struct chunk *chunk,
                      struct arena *arena, text_list *words)
{
    const struct fleet *fleet = job->fleet;
    vec_push(words, "sbatch");
    vec_push(words, "--parsable");
    vec_push(words, "--requeue");
    vec_push(words, arena_printf(arena, "--export-file=%d", ENVIRONMENT_FD));
    vec_push(words, "--open-mode=append");
    vec_push(words, "--job-name=bawn-fleet");
    vec_push(words, arena_printf(arena, "--array=0-%zu%%%zu", chunk->count - 1, job->at_once));
    vec_push(words, arena_printf(arena, "--chdir=%s", fleet->directory));
    vec_push(words, arena_printf(arena, "--output=%s", log_pattern(arena, fleet->own)));
    add_resources(chunk->need, arena, words);
    if (chunk->first_below < chunk->end_below) {
        auto_buf struct buf below = {0};
        buf_add_str(&below, "--dependency=afterany");
        for (size_t i = chunk->first_below; i < chunk->end_below; i++)
            buf_printf(&below, ":%s", job->state->jobs.at[i]);
        vec_push(words, arena_str(arena, buf_text(&below)));
    }
    vec_push(words, "--wrap");
    vec_push(words, arena_printf(arena, "exec %s fleet work %s @%s", shell_word(arena, self),
                                 shell_word(arena, fleet->own), chunk->list));
    vec_push(words, NULL);
}

static int submit_chunk(struct fleet_job *job, const text_list *ids, struct chunk *chunk, struct err *err)
{
    struct arena *arena = &job->state->arena;
    chunk->list = free_list(arena, job->fleet);
    chunk->count = ids->count;
    char self[PATH_LONGEST] = "";
    auto_vec text_list words = {0};
    auto_buf struct buf out = {0};
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return err_sys(err, errno, "cannot find bawn's own path");
    if (write_list(job, chunk->list, ids, err) < 0)
        return -1;
    add_words(job, self, chunk, arena, &words);
    int status = run_tool(words.at, job->environment, true, &out);
    size_t digits = strspn(buf_text(&out), "0123456789");
    if (status || !digits) {
        auto_buf struct buf said = {0};
        text_add_printable(&said, buf_text(&out), out.size < SAID_SHOWN ? out.size : SAID_SHOWN);
        err_set(err, "sbatch failed with status %d: %s", status, buf_text(&said));
        return err_hint(err, status == 127 ? "install Slurm's client, or use `--engine local`"
                                           : "`bawn fleet cancel DIR` takes back what was submitted before");
    }
    vec_push(&job->state->jobs, arena_copy(arena, buf_text(&out), digits));
    return note_job(job->fleet, job->state->jobs.at[job->state->jobs.count - 1], err);
}

static void free_state(struct fleet_job *job)
{
    vec_free(&job->state->jobs);
    free(job->state->is_over);
    arena_free(&job->state->arena);
    free(job->state);
    job->state = NULL;
}

/* Adds the tasks that have the needs of this one, and marks them as submitted. */
static void gather(const struct fleet_job *job, struct need *needs, size_t first, text_list *ids)
{
    for (size_t i = first; i < job->count && ids->count < CHUNK; i++) {
        if (needs[i].is_submitted || needs[i].level != needs[first].level ||
            !text_equal(needs[i].memory, needs[first].memory) ||
            !text_equal(needs[i].time, needs[first].time))
            continue;
        needs[i].is_submitted = true;
        vec_push(ids, job->ids[i]);
    }
}

static int submit_level(struct fleet_job *job, struct need *needs, size_t level, struct chunk *chunk,
                        size_t *left, struct err *err)
{
    for (size_t i = 0; i < job->count; i++) {
        auto_vec text_list ids = {0};
        if (needs[i].is_submitted || needs[i].level != level)
            continue;
        chunk->need = &needs[i];
        gather(job, needs, i, &ids);
        *left -= ids.count;
        if (submit_chunk(job, &ids, chunk, err) < 0)
            return -1;
    }
    return 0;
}

static int submit(struct fleet_job *job, struct err *err)
{
    job->state = must_realloc(NULL, 1, sizeof(*job->state));
    *job->state = (struct engine_state){.is_over = must_realloc(NULL, job->count + 1, sizeof(bool))};
    memset(job->state->is_over, 0, job->count + 1);
    struct need *needs = find_needs(job, &job->state->arena);
    struct chunk chunk = {0};
    size_t left = job->count;
    for (size_t level = 0; left; level++) {
        chunk.first_below = chunk.end_below;
        chunk.end_below = job->state->jobs.count;
        if (submit_level(job, needs, level, &chunk, &left, err) < 0) {
            free_state(job);
            return -1;
        }
    }
    return 0;
}

/* --- waiting ---------------------------------------------------------------------------------------------------------- */

static size_t without_result(const struct fleet_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++) {
        auto_arena struct arena arena = {0};
        struct result result;
        if (job->state->is_over[i])
            continue;
        enum task_state state = fleet_state(job->fleet, &arena, job->ids[i], &result);
        result_free(&result);
        job->state->is_over[i] = state == TASK_DONE || state == TASK_FAILED;
        count += !job->state->is_over[i];
    }
    return count;
}

/* Is a job still in the queue? A controller that does not answer does not say no. */
static bool is_queued(const struct fleet_job *job, const char *number)
{
    const char *const words[] = {"squeue", "--noheader", "--format=%i", "--jobs", number, NULL};
    auto_buf struct buf out = {0};
    int status = run_tool(words, job->environment, false, &out);
    if (status)
        return !strstr(buf_text(&out), "Invalid job id");
    return out.size > 0;
}

static int poll_slurm(struct fleet_job *job, struct err *err not_used)
{
    size_t left = without_result(job);
    bool is_any_queued = false;
    for (size_t i = 0; left && !is_any_queued && i < job->state->jobs.count; i++)
        is_any_queued = is_queued(job, job->state->jobs.at[i]);
    job->progress(job->context);
    if (left && is_any_queued)
        return (int)left;
    free_state(job);
    return 0;
}

static void ask_slurm(const char *const *environment, const char *tool, const char *word, const char *number)
{
    const char *const words[] = {tool, word, number, NULL};
    auto_buf struct buf ignored = {0};
    if (run_tool(words, environment, false, &ignored))
        return; /* some of the job has ended, or the controller does not answer */
}

static void cancel(struct fleet_job *job)
{
    for (size_t i = 0; i < job->state->jobs.count; i++)
        ask_slurm(job->environment, "scancel", "--quiet", job->state->jobs.at[i]);
}

/*
 * scancel first asks which elements wait, and then cancels them by their numbers, also those that have begun in between. So none may begin
 * meanwhile. Those that run are released, because Slurm would hold them if their node failed.
 */
static void cancel_waiting(const char *const *environment, const char *number)
{
    ask_slurm(environment, "scontrol", "hold", number);
    ask_slurm(environment, "scancel", "--state=PENDING", number);
    ask_slurm(environment, "scontrol", "release", number);
}

static void withdraw(const struct fleet *fleet, const char *const *environment, bool is_all)
{
    auto_arena struct arena arena = {0};
    const char *text = fleet_read(&arena, fleet->fd, SLURM_JOBS, JOBS_LARGEST);
    struct bytes rest = bytes_of(text, strlen(text)), line;
    while (bytes_take_line(&rest, &line)) {
        const char *number = arena_copy(&arena, line.at, line.size);
        if (!*number || strspn(number, "0123456789") != line.size)
            continue;
        if (is_all)
            ask_slurm(environment, "scancel", "--quiet", number);
        else
            cancel_waiting(environment, number);
    }
}

const char *slurm_task(const struct fleet *fleet, struct arena *arena, const char *list, const char *index)
{
    uint64_t number;
    if (!text_starts_with(list, "slurm.") || strchr(list, '/') || !index ||
        !text_take_number(&index, &number) || *index)
        return NULL;
    const char *text = fleet_read(arena, fleet->fd, list, (size_t)CHUNK * (TASK_ID_LONGEST + 1));
    struct bytes rest = bytes_of(text, strlen(text)), line;
    for (uint64_t i = 0; bytes_take_line(&rest, &line); i++) {
        if (i == number)
            return arena_copy(arena, line.at, line.size);
    }
    return NULL;
}

const struct fleet_engine engine_slurm = {
    .name = "slurm", .submit = submit, .poll = poll_slurm, .cancel = cancel, .withdraw = withdraw};
