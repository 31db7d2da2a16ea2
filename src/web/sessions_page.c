/* The first page: all sessions. */
#include <string.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "base/style.h"
#include "report/time_text.h"
#include "web/fleets.h"

/* A state has a word and a sign, so that it is told apart without its colour. */
static const char *sign_of(const char *state)
{
    static const struct {
        const char *state, *sign;
    } signs[] = {{"running", "●"}, {"waiting", "◐"}, {"done", "✓"},       {"undone", "↶"},
                 {"killed", "✗"},  {"ended", "○"},   {"unrepaired", "✗"}, {"discarded", "–"}};
    for (size_t i = 0; i < array_len(signs); i++) {
        if (strcmp(signs[i].state, state) == 0)
            return signs[i].sign;
    }
    return "○";
}

static const char *state_text(const char *state)
{
    return strcmp(state, "waiting") == 0  ? "waiting for review"
           : strcmp(state, "pruned") == 0 ? "too old to undo"
           : *state                       ? state
                                          : "running or with changes";
}

void session_add_state(struct html *page, const struct listed *listed)
{
    const char *state = listed_state(listed);
    html_add(page, "<span class=\"state %s\"><span aria-hidden=true>%s</span> %s</span>", state,
             sign_of(state), state_text(state));
}

static const char *short_path(struct visit *visit, const char *path)
{
    const struct style style = {.home = visit->web->place->home};
    return style_path(&style, &visit->arena, path);
}

static bool has_text(const struct listed *listed, const char *text)
{
    const char *texts[] = {listed->name,           listed_workspace(listed),
                           listed->glance.command, listed->glance.arguments,
                           listed->glance.refusal, listed_state(listed)};
    for (size_t i = 0; i < array_len(texts); i++) {
        if (texts[i] && strcasestr(texts[i], text))
            return true;
    }
    return false;
}

static const char *command_shown(struct visit *visit, const struct listed *listed)
{
    enum { SHOWN_LONGEST = 120 };
    const struct glance *glance = &listed->glance;
    const char *command = glance->arguments ? glance->arguments : glance->command;
    size_t size = command ? strlen(command) : 0, shown = html_piece(command, size, SHOWN_LONGEST);
    return shown < size ? arena_printf(&visit->arena, "%.*s …", (int)shown, command) : command ? command : "";
}

static void add_row(struct visit *visit, const struct listed *listed)
{
    struct html *page = &visit->page;
    struct arena *arena = &visit->arena;
    const char *url = url_part(arena, listed->name);
    size_t files = (size_t)listed_files(listed);
    bool waits = session_waits(listed);
    html_add(page, "<tr><td>");
    session_add_state(page, listed);
    if (waits)
        html_add(
            page,
            "<br><a class=\"button review\" href=\"/session/%s/review\">Review<span class=off> %s</span></a>",
            url, listed->name);
    if (listed->is_running) {
        html_add(page, "<div class=below>");
        session_add_stop(visit, listed->name, "Stop");
        html_add(page, "</div>");
    }
    const char *agent = listed->glance.agent ? path_name(listed->glance.agent) : "";
    html_add(page, "</td><th scope=row><a href=\"/session/%s\">%s</a><br><span class=dim>%s%s%s</span></th>",
             url, listed->name, listed_mode(listed), *agent ? ", " : "", agent);
    html_add(page, "<td class=mono>%s<br><span class=dim>%s</span></td>", command_shown(visit, listed),
             short_path(visit, listed_workspace(listed)));
    html_add(page, "<td>%s", age_text(arena, listed_began(listed)));
    if (listed->is_running)
        html_add(page, "<br><span class=dim>last active %s</span>", age_text(arena, listed->glance.last));
    html_add(page, "</td><td class=n>%zu<span class=unit> file%s</span></td>", files, files == 1 ? "" : "s");
    html_add(page, "<td class=n>%zu<span class=unit> connection%s</span></td>", listed->glance.connections,
             listed->glance.connections == 1 ? "" : "s");
    html_add(page, "<td class=n>%zu<span class=unit> refusal%s</span></td><td>", listed->glance.refusals,
             listed->glance.refusals == 1 ? "" : "s");
    if (listed->glance.tripwires)
        html_add(page, "<strong class=bad>▲ %zu decoy%s opened</strong><br>", listed->glance.tripwires,
                 listed->glance.tripwires == 1 ? "" : "s");
    if (listed->glance.refusal)
        html_add(page, "<span class=dim>%s:</span> %s", event_label(listed->glance.refusal_event),
                 listed->glance.refusal);
    html_add(page, "</td></tr>\n");
}

static void add_filter(struct visit *visit, const char *text, const char *state)
{
    static const char *const states[] = {"",          "running", "waiting", "done",  "ended",
                                         "discarded", "undone",  "killed",  "pruned"};
    struct html *page = &visit->page;
    html_add(page,
             "<form class=filter method=get action=\"/\" role=search>"
             "<label>Search <input type=search name=q value=\"%s\"></label>"
             "<label>State <select name=state>",
             text);
    for (size_t i = 0; i < array_len(states); i++) {
        const char *name = state_text(states[i]);
        if (strcmp(states[i], state) == 0)
            html_add(page, "<option value=\"%s\" selected>%s</option>", states[i], name);
        else
            html_add(page, "<option value=\"%s\">%s</option>", states[i], name);
    }
    html_add(page, "</select></label><button>Show</button></form>\n");
}

/* A fleet is one row; its tasks are on its page, and are found by a search. */
static void add_fleets(struct visit *visit, const fleet_rows *fleets)
{
    struct html *page = &visit->page;
    html_add(
        page,
        "<h2 id=fleets>Fleets</h2><div class=scroll tabindex=0 role=region aria-labelledby=fleets>"
        "<table class=\"sessions fleets\"><thead><tr><th scope=col>Progress<th scope=col>Fleet"
        "<th scope=col>Command and results folder<th scope=col>Results<th scope=col>Cost</tr></thead><tbody>\n");
    vec_each (const struct fleet_row, row, fleets)
        fleet_add_row(visit, row);
    html_add(page, "</tbody></table></div><h2>Other sessions</h2>\n");
}

static bool is_shown(const struct listed *listed, const char *text, const char *state)
{
    if (*state ? strcmp(listed_state(listed), state) != 0 : !*text && listed_left_nothing(listed))
        return false;
    return !*text || has_text(listed, text);
}

void sessions_page(struct visit *visit)
{
    enum { MOST_ROWS = 500 };
    struct html *page = &visit->page;
    const char *text = visit_query(visit, "q"), *state = visit_query(visit, "state");
    auto_fd int sessions_fd = visit_sessions(visit);
    auto_vec listed_list sessions = {0};
    const struct sessions_wanted wanted = {
        .arena = &visit->arena, .state = visit->web->place->state, .home = visit->web->place->home};
    sessions_find(&wanted, sessions_fd, &sessions);
    size_t shown = 0, running = 0, waiting = 0, quiet = 0, pruned = 0;
    auto_vec fleet_rows fleets = {0};
    struct map of = {0};
    bool is_all = !*text && !*state;
    if (is_all)
        fleets_find(visit, &sessions, &fleets, &of);
    vec_each (const struct listed, listed, &sessions) {
        running += listed->is_running;
        waiting += session_waits(listed);
    }
    page_begin(visit, "Sessions", "/");
    html_add(page, "<h1>Sessions</h1>\n");
    add_filter(visit, text, state);
    html_add(
        page,
        "<div id=list data-live=\"/events\"><p class=lead>%zu running, %zu waiting for review, %zu in all.</p>\n",
        running, waiting, sessions.count);
    if (fleets.count)
        add_fleets(visit, &fleets);
    html_add(
        page,
        "<div class=scroll tabindex=0 role=region aria-label=Sessions><table class=sessions><thead><tr><th scope=col>State<th scope=col>Session"
        "<th scope=col>Command and workspace<th scope=col>Began<th scope=col class=n>Files<th scope=col "
        "class=n>Connections<th scope=col class=n>Refusals<th scope=col>Last refusal</tr></thead><tbody>\n");
    vec_each (const struct listed, listed, &sessions) {
        if (map_get(&of, listed->name, strlen(listed->name)))
            continue;
        pruned += listed_is_pruned(listed);
        quiet += listed_left_nothing(listed) && !listed_is_pruned(listed);
        if (is_shown(listed, text, state) && shown++ < MOST_ROWS)
            add_row(visit, listed);
    }
    html_add(page, "</tbody></table></div>\n");
    if (!shown && !fleets.count)
        html_add(page, "<p class=empty>%s</p>\n",
                 sessions.count ? "No session matches."
                                : "No session has run yet. `bawn claude` starts one.");
    if (shown > MOST_ROWS)
        html_add(page, "<p class=dim>and %zu more: search for them</p>\n", shown - MOST_ROWS);
    if (pruned && is_all)
        html_add(page, "<p class=dim>%zu older run%s can no longer be undone; search finds %s.</p>\n", pruned,
                 pruned == 1 ? "" : "s", pruned == 1 ? "it" : "them");
    if (quiet && is_all)
        html_add(page, "<p class=dim>%zu run%s changed nothing; search finds %s.</p>\n", quiet,
                 quiet == 1 ? "" : "s", quiet == 1 ? "it" : "them");
    html_add(page, "</div>\n");
    page_end(visit);
    map_free(&of);
}
