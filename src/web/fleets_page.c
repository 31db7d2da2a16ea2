/* A fleet: its progress, what it came to, what it took, and its tasks. */
#include "base/style.h"
#include "web/fleets.h"

enum { MOST_TASKS_SHOWN = 2000 };

/* What a task left: its session, and how it stands. */
struct outcome {
    const char *session;
    struct listed listed; /* if there is that session */
    bool is_there, waits;
};

static struct outcome outcome_of(struct visit *visit, const struct fleet *fleet,
                                 const struct overview_task *task)
{
    struct outcome outcome = {.session = fleet_session(visit, fleet, task)};
    outcome.is_there = outcome.session && session_look(visit, outcome.session, &outcome.listed);
    outcome.waits = outcome.is_there && session_waits(&outcome.listed);
    return outcome;
}

static void add_state(struct html *page, const struct overview_task *task)
{
    static const char *const signs[] = {
        [TASK_WAITING] = "○",   [TASK_RUNNING] = "●", [TASK_INTERRUPTED] = "✗",
        [TASK_CANCELLED] = "–", [TASK_DONE] = "✓",    [TASK_FAILED] = "✗"};
    bool is_bad = task->state == TASK_FAILED || task->state == TASK_INTERRUPTED;
    html_add(page, "<span class=\"state %s\"><span aria-hidden=true>%s</span> %s</span>",
             is_bad                        ? "killed"
             : task->state == TASK_DONE    ? "done"
             : task->state == TASK_RUNNING ? "running"
                                           : "ended",
             signs[task->state], task_state_name(task->state));
    if (task->result.ended_by)
        html_add(page, "<br><span class=bad>limit %s</span>", task->result.ended_by);
    else if (task->result.id && task->result.status)
        html_add(page, "<br><span class=dim>status %llu</span>", (unsigned long long)task->result.status);
}

static void add_result(struct visit *visit, const struct overview_task *task)
{
    struct html *page = &visit->page;
    const struct result *result = &task->result;
    if (!result->id)
        return;
    html_add(page, "%llu file%s changed", (unsigned long long)result->changes,
             result->changes == 1 ? "" : "s");
    fleet_add_alarms(page, result);
    if (result->branch)
        html_add(page, "<br><span class=mono>%s</span>", result->branch);
}

static void add_task(struct visit *visit, const struct overview_task *task, const struct outcome *outcome)
{
    struct html *page = &visit->page;
    struct arena *arena = &visit->arena;
    const char *url = outcome->is_there ? url_part(arena, outcome->session) : "";
    html_add(page, "<tr><td>");
    add_state(page, task);
    html_add(page, "</td><th scope=row>");
    if (outcome->is_there)
        html_add(page, "<a href=\"/session/%s\">%s</a><br><span class=dim>%s</span>", url, task->id,
                 outcome->session);
    else
        html_add(page, "%s", task->id);
    html_add(page, "</th><td>");
    if (outcome->waits)
        html_add(
            page,
            "<a class=\"button review\" href=\"/session/%s/review\">Review<span class=off> %s</span></a>",
            url, task->id);
    if (outcome->is_there && outcome->listed.is_running)
        session_add_stop(visit, outcome->session, "Stop");
    html_add(page, "</td><td>");
    add_result(visit, task);
    html_add(page, "</td><td>");
    if (task->result.id)
        html_add(page, "%s, %s of processor time, %s", length_text(arena, task->result.milliseconds),
                 length_text(arena, task->result.cpu_milliseconds),
                 size_text(arena, task->result.peak_memory));
    html_add(page, "</td></tr>\n");
}

typedef VEC(struct outcome) outcome_list;

static void add_tasks(struct visit *visit, const struct overview *overview, const outcome_list *outcomes)
{
    struct html *page = &visit->page;
    html_add(
        page,
        "<label class=filter>Filter <input type=search id=filter aria-controls=rows></label>"
        "<div class=scroll tabindex=0 role=region aria-label=Tasks><table class=\"sessions tasks\"><thead><tr>"
        "<th scope=col>State<th scope=col>Task<th scope=col>Review or stop<th scope=col>Result<th scope=col>"
        "Time and memory</tr></thead><tbody id=rows>\n");
    for (size_t i = 0; i < outcomes->count; i++)
        add_task(visit, &overview->tasks.at[i], &outcomes->at[i]);
    html_add(page, "</tbody></table></div>\n");
}

static void add_head(struct visit *visit, const struct fleet *fleet, const struct fleet_row *row)
{
    struct html *page = &visit->page;
    const struct style style = {.home = visit->web->place->home};
    html_add(page, "<p class=crumbs><a href=\"/\">Sessions</a></p><h1>Fleet %s</h1><p>", row->shown);
    fleet_add_progress(page, row);
    html_add(page, "</p><dl class=facts><dt>Results</dt><dd>");
    fleet_add_results(page, row);
    html_add(page, "</dd><dt>Cost</dt><dd>");
    fleet_add_cost(visit, row);
    html_add(page,
             "</dd><dt>Command</dt><dd class=mono>%s</dd><dt>Started in</dt><dd class=mono>%s</dd></dl>\n",
             row->command, style_path(&style, &visit->arena, fleet->directory));
    if (row->to_review)
        html_add(
            page,
            "<p><code>bawn fleet apply %s</code> applies everything that waits, except files that could run on your machine.</p>\n",
            style_path(&style, &visit->arena, fleet->path));
}

void fleet_page(struct visit *visit, const char *name)
{
    auto_fleet struct fleet fleet = FLEET_NONE;
    auto_overview struct overview overview = {0};
    auto_vec outcome_list outcomes = {0};
    if (fleets_open(visit, name, &fleet) < 0) {
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no such fleet.");
        return;
    }
    struct fleet_row row = {.name = name};
    fleet_describe(visit, &fleet, &row);
    size_t count = row.tasks < MOST_TASKS_SHOWN ? row.tasks : MOST_TASKS_SHOWN;
    if (count)
        overview_look(&fleet, fleet.ids.at, count, &overview);
    vec_each (const struct overview_task, task, &overview.tasks) {
        struct outcome outcome = outcome_of(visit, &fleet, task);
        fleet_take_task(&row, task);
        row.to_review += outcome.waits;
        vec_push(&outcomes, outcome);
    }
    page_begin(visit, arena_printf(&visit->arena, "Fleet %s", row.shown), "/");
    add_head(visit, &fleet, &row);
    add_tasks(visit, &overview, &outcomes);
    if (count < row.tasks)
        html_add(&visit->page,
                 "<p class=dim>and %zu more tasks: <code>bawn fleet status --all</code> lists them.</p>\n",
                 row.tasks - count);
    page_end(visit);
}
