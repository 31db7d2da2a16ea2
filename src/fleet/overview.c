#include "fleet/overview.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

enum { BAR_COLUMNS = 20, LAST_LINES = 3, LINE_SHOWN_LONGEST = 160, TAIL_BYTES = 2048, MOST_SHOWN = 20 };

void overview_look(const struct fleet *fleet, const char *const *ids, size_t count,
                   struct overview *ret_overview)
{
    *ret_overview = (struct overview){.fleet = fleet};
    if (!count) {
        ids = fleet->ids.at;
        count = fleet->ids.count;
    }
    for (size_t i = 0; i < count; i++) {
        struct overview_task task = {.id = ids[i]};
        task.state = fleet_state(fleet, &ret_overview->arena, task.id, &task.result);
        ret_overview->counts[task.state]++;
        vec_push(&ret_overview->tasks, task);
    }
}

void overview_free(struct overview *overview)
{
    vec_each (struct overview_task, task, &overview->tasks)
        result_free(&task->result);
    vec_free(&overview->tasks);
    arena_free(&overview->arena);
}

void overview_add_line(const struct overview *overview, struct buf *out)
{
    size_t all = overview->tasks.count, over = overview->counts[TASK_DONE] + overview->counts[TASK_FAILED] +
                                               overview->counts[TASK_CANCELLED];
    size_t filled = all ? over * BAR_COLUMNS / all : 0;
    buf_add_char(out, '[');
    for (size_t i = 0; i < BAR_COLUMNS; i++)
        buf_add_char(out, i < filled ? '#' : '.');
    buf_printf(out, "] %zu of %zu done", overview->counts[TASK_DONE], all);
    for (enum task_state state = 0; state < TASK_STATE_COUNT; state++) {
        if (state != TASK_DONE && overview->counts[state])
            buf_printf(out, ", %zu %s", overview->counts[state], task_state_name(state));
    }
    buf_add_char(out, '\n');
}

/* --- text ------------------------------------------------------------------------------------------------------------- */

static const char *seconds_text(struct arena *arena, uint64_t milliseconds)
{
    return arena_printf(arena, "%" PRIu64 ".%" PRIu64 " s", milliseconds / 1000, milliseconds / 100 % 10);
}

/* It waits, and for a task that failed or was cancelled. */
static bool is_blocked(const struct overview *overview, const struct overview_task *task)
{
    return task->state == TASK_WAITING && fleet_turn(overview->fleet, task->id) == TURN_NEVER;
}

static void add_row(struct overview *overview, const struct overview_task *task, const struct style *style,
                    struct buf *out)
{
    const struct result *result = &task->result;
    enum colour colour = task->state == TASK_DONE     ? COLOUR_GREEN
                         : task->state == TASK_FAILED ? COLOUR_RED
                                                      : COLOUR_PLAIN;
    buf_add_str(out, "  ");
    style_add_column(style, out, COLOUR_PLAIN, task->id, 24);
    style_add_column(style, out, colour, task_state_name(task->state), 12);
    if (result->id)
        buf_printf(out, "status %3" PRId64 "  %8s  %" PRIu64 " changed", result->status,
                   seconds_text(&overview->arena, result->milliseconds), result->changes);
    if (is_blocked(overview, task))
        buf_add_str(out, "comes after a task that is not done");
    if (result->risky)
        buf_printf(out, " (%" PRIu64 " could run on your machine)", result->risky);
    if (result->hosts_refused)
        buf_printf(out, "  %" PRIu64 " refused", result->hosts_refused);
    if (result->tripwires)
        buf_printf(out, "  %" PRIu64 " decoys opened", result->tripwires);
    buf_add_char(out, '\n');
}

/* The last lines of what a task wrote to standard error, or else to standard output. */
static void add_last_lines(const struct overview *overview, const struct overview_task *task, struct buf *out)
{
    struct err ignored;
    auto_fd int fd = fleet_open_output(overview->fleet, task->id, false, &ignored);
    auto_buf struct buf tail = {0};
    if (fd < 0 || fleet_read_tail(fd, "stderr", TAIL_BYTES, &tail) < 0 ||
        (tail.size == 0 && fleet_read_tail(fd, "stdout", TAIL_BYTES, &tail) < 0))
        return;
    while (tail.size && tail.bytes[tail.size - 1] == '\n')
        tail.size--;
    size_t start = tail.size;
    for (size_t lines = 0; start; start--) {
        if (tail.bytes[start - 1] == '\n' && ++lines == LAST_LINES)
            break;
    }
    struct bytes text = bytes_of(tail.bytes + start, tail.size - start), line;
    while (tail.size && bytes_take_line(&text, &line)) {
        buf_add_str(out, "      ");
        text_add_printable(out, line.at, line.size < LINE_SHOWN_LONGEST ? line.size : LINE_SHOWN_LONGEST);
        buf_add_char(out, '\n');
    }
}

static void add_totals(struct overview *overview, struct buf *out)
{
    struct result all = {0};
    vec_each (const struct overview_task, task, &overview->tasks) {
        all.milliseconds += task->result.milliseconds;
        all.cpu_milliseconds += task->result.cpu_milliseconds;
        all.changes += task->result.changes;
        all.hosts_refused += task->result.hosts_refused;
        all.tripwires += task->result.tripwires;
        all.peak_memory =
            task->result.peak_memory > all.peak_memory ? task->result.peak_memory : all.peak_memory;
    }
    buf_printf(out,
               "In all: %s, %s of processor time, at most %s a process, %" PRIu64 " files changed, %" PRIu64
               " connections refused, %" PRIu64 " decoys opened\n",
               seconds_text(&overview->arena, all.milliseconds),
               seconds_text(&overview->arena, all.cpu_milliseconds),
               size_text(&overview->arena, all.peak_memory), all.changes, all.hosts_refused, all.tripwires);
}

void overview_add_text(struct overview *overview, const struct style *style, bool is_long, struct buf *out)
{
    size_t rows = 0, left_out = 0;
    overview_add_line(overview, out);
    vec_each (const struct overview_task, task, &overview->tasks) {
        bool is_bad = task->state == TASK_FAILED || task->state == TASK_INTERRUPTED;
        if (!is_long && !is_bad && task->state != TASK_RUNNING && !is_blocked(overview, task))
            continue;
        if (!is_long && rows == MOST_SHOWN) {
            left_out++;
            continue;
        }
        rows++;
        add_row(overview, task, style, out);
        if (is_bad)
            add_last_lines(overview, task, out);
    }
    if (left_out)
        buf_printf(out, "  … and %zu more; --all lists every task\n", left_out);
    struct stat log;
    if (overview->counts[TASK_INTERRUPTED] &&
        fstatat(overview->fleet->fd, FLEET_LOG, &log, AT_SYMLINK_NOFOLLOW) == 0 && log.st_size)
        buf_printf(out, "bawn's own messages are in %s\n",
                   style_path(style, &overview->arena,
                              arena_printf(&overview->arena, "%s/" FLEET_LOG, overview->fleet->own)));
    add_totals(overview, out);
}

void overview_add_json(const struct overview *overview, struct buf *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '[');
    vec_each (const struct overview_task, task, &overview->tasks) {
        json_open(&json, NULL, '{');
        json_str(&json, "id", task->id);
        json_str(&json, "state", task_state_name(task->state));
        if (task->result.id)
            result_add_members(&task->result, &json);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    buf_add_char(out, '\n');
}
