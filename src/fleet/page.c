/*
 * The report of a fleet: one page of HTML that needs nothing else and runs nothing. Ids are plain; hosts come from inside the sandboxes and
 * are escaped.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "fleet/overview.h"
#include "report/summary.h"

enum { MOST_NAMED = 20 };

static void add_number(struct buf *out, uint64_t number, const char *class)
{
    buf_printf(out, "<td class=\"n%s\">", number ? class : "");
    if (number)
        buf_printf(out, "%" PRIu64, number);
    buf_add_str(out, "</td>");
}

static void add_seconds(struct buf *out, uint64_t milliseconds)
{
    buf_printf(out, "<td class=n>%" PRIu64 ".%03" PRIu64 "</td>", milliseconds / 1000, milliseconds % 1000);
}

static void add_names(struct buf *out, const text_list *names)
{
    buf_add_str(out, "<td class=m>");
    for (size_t i = 0; i < names->count && i < MOST_NAMED; i++) {
        buf_add_str(out, i ? ", " : "");
        text_add_html(out, names->at[i]);
    }
    if (names->count > MOST_NAMED)
        buf_printf(out, ", and %zu more", names->count - MOST_NAMED);
    buf_add_str(out, "</td>");
}

static void add_task(struct buf *out, const struct overview_task *task)
{
    const struct result *result = &task->result;
    const char *class = task->state == TASK_DONE ? "good" : task->state == TASK_FAILED ? "bad" : "dim";
    buf_add_str(out, "<tr><td class=\"e m\">");
    text_add_html(out, task->id);
    buf_printf(out, "</td><td class=\"e %s\">%s", class, task_state_name(task->state));
    if (result->ended_by) {
        buf_add_str(out, ": limit ");
        text_add_html(out, result->ended_by);
    }
    buf_add_str(out, "</td>");
    if (!result->id) {
        buf_add_str(out, "<td colspan=10></td></tr>\n");
        return;
    }
    buf_printf(out, "<td class=n>%" PRId64 "</td>", result->status);
    add_seconds(out, result->milliseconds);
    add_seconds(out, result->cpu_milliseconds);
    buf_printf(out, "<td class=n>%" PRIu64 "</td>", result->peak_memory >> 20);
    add_number(out, result->changes, "");
    add_number(out, result->risky, " risk");
    add_number(out, result->held, " risk");
    add_number(out, result->tripwires, " bad");
    add_names(out, &result->hosts);
    add_names(out, &result->refused);
    buf_add_str(out, "</tr>\n");
}

static int by_time(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* All tasks with a result together: how long they took, what was refused, which decoys were opened. */
static void add_totals(struct buf *out, const struct overview *overview)
{
    auto_vec VEC(uint64_t) times = {0};
    struct result all = {0};
    vec_each (const struct overview_task, task, &overview->tasks) {
        if (!task->result.id)
            continue;
        vec_push(&times, task->result.milliseconds);
        all.cpu_milliseconds += task->result.cpu_milliseconds;
        all.hosts_refused += task->result.hosts_refused;
        all.tripwires += task->result.tripwires;
    }
    if (!times.count)
        return;
    qsort(times.at, times.count, sizeof(*times.at), by_time);
    uint64_t median = times.at[times.count / 2], longest = times.at[times.count - 1];
    buf_printf(out,
               "<p>A task took %" PRIu64 ".%03" PRIu64 " s (median), at most %" PRIu64 ".%03" PRIu64
               " s. All took %" PRIu64 " s of processor time. %" PRIu64
               " connections were refused, and %" PRIu64 " decoys opened.</p>\n",
               median / 1000, median % 1000, longest / 1000, longest % 1000, all.cpu_milliseconds / 1000,
               all.hosts_refused, all.tripwires);
}

void overview_add_page(const struct overview *overview, struct buf *out)
{
    size_t all = overview->tasks.count, done = overview->counts[TASK_DONE];
    page_begin_add(out, path_name(overview->fleet->path));
    buf_printf(out, "<p class=%s>%zu/%zu tasks done (%zu %%)</p>\n<p>", done == all ? "good" : "bad", done,
               all, all ? done * 100 / all : 0);
    for (enum task_state state = 0; state < TASK_STATE_COUNT; state++) {
        if (overview->counts[state])
            buf_printf(out, "%zu %s. ", overview->counts[state], task_state_name(state));
    }
    buf_add_str(out, "</p>\n");
    add_totals(out, overview);
    buf_add_str(out, "<p>Command: <code>");
    for (const char *const *word = overview->fleet->command; *word; word++) {
        buf_add_str(out, word == overview->fleet->command ? "" : " ");
        text_add_html(out, *word);
    }
    buf_add_str(
        out, "</code></p>\n<table>\n<tr><th>task<th>state<th class=n>status<th class=n>seconds<th "
             "class=n>processor<th class=n>MiB<th class=n>changed<th class=n>risky<th class=n>set aside<th "
             "class=n>decoys<th>hosts reached<th>hosts refused</tr>\n");
    vec_each (const struct overview_task, task, &overview->tasks)
        add_task(out, task);
    buf_add_str(out, "</table>\n</body></html>\n");
}
