/* A session: its buttons, hosts, processes and the timeline. */
#include "web/session_rows.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/style.h"
#include "base/text.h"
#include "base/timespec.h"
#include "report/facts.h"
#include "report/time_text.h"
#include "web/changes.h"
#include "web/confirm.h"

enum { STOP_GRACE = 10 /* seconds */, MOST_ROWS = 2000, DEEPEST = 64 };

/* --- the timeline ------------------------------------------------------------------------------------------------------ */

static const char *time_of_day(struct arena *arena, const struct journal_record *record)
{
    struct timespec time;
    struct tm parts;
    char text[64];
    if (!event_time(record, &time))
        return record->at;
    localtime_r(&time.tv_sec, &parts);
    return strftime(text, sizeof(text), "%H:%M:%S", &parts) ? arena_str(arena, text) : "";
}

void timeline_add_row(struct html *page, struct arena *arena, const struct journal_record *record,
                      const char *home)
{
    auto_buf struct buf sentence = {0};
    event_add_sentence(&sentence, record, home);
    bool is_denial = event_kinds(record->event) & EVENT_DENIED;
    html_add(page, "<tr class=\"%s\"><td class=t>%s</td><td class=e>%s%s</td><td class=mono>%s</td></tr>",
             is_denial ? "denied" : "plain", time_of_day(arena, record), is_denial ? "▲ " : "", record->event,
             buf_text(&sentence));
}

static void add_timeline(struct visit *visit, const char *session, const struct session_facts *facts,
                         bool is_running)
{
    struct html *page = &visit->page;
    size_t first = facts->records.count > MOST_ROWS ? facts->records.count - MOST_ROWS : 0;
    html_add(page, "<section><h2 id=timeline>Timeline</h2>");
    if (is_running)
        html_add(page, "<p class=live role=status>Live: new records appear here.</p>");
    html_add(
        page,
        "<label class=filter>Filter <input type=search id=filter aria-controls=rows></label>"
        "<div class=scroll tabindex=0 role=region aria-labelledby=timeline><table><thead><tr><th scope=col>Time<th "
        "scope=col>Event<th scope=col>What happened</tr></thead>");
    if (is_running)
        html_add(page, "<tbody id=rows data-events=\"/session/%s/events?from=%llu\">",
                 url_part(&visit->arena, session), (unsigned long long)facts->size);
    else
        html_add(page, "<tbody id=rows>");
    for (size_t i = first; i < facts->records.count; i++) {
        timeline_add_row(page, &visit->arena, &facts->records.at[i], visit->web->place->home);
        html_add(page, "\n");
    }
    html_add(page, "</tbody></table></div>");
    if (first)
        html_add(page, "<p class=dim>%zu earlier records: <code>bawn log %s</code> shows them.</p>", first,
                 session);
    html_add(page, "</section>\n");
}

/* --- hosts ------------------------------------------------------------------------------------------------------------ */

static void add_allow(struct visit *visit, const char *session, const struct session_host *host)
{
    struct html *page = &visit->page;
    const char *object =
        *host->port ? arena_printf(&visit->arena, "%s:%s", host->name, host->port) : host->name;
    html_add(page, "<form method=post action=\"/session/%s/allow\" class=inline>",
             url_part(&visit->arena, session));
    page_add_form_token(visit);
    html_add(
        page,
        "<input type=hidden name=host value=\"%s\"><button name=for value=session>Allow<span class=off> %s</span> for this "
        "session</button> <button name=for value=once class=quiet>once<span class=off> allow %s</span></button> "
        "<button name=for value=always class=quiet>always<span class=off> allow %s</span></button></form>",
        object, object, object, object);
}

static void add_hosts(struct visit *visit, const char *session, const struct session_facts *facts,
                      bool is_running)
{
    struct html *page = &visit->page;
    auto_vec session_hosts hosts = {0};
    facts_hosts(facts, &hosts);
    html_add(page, "<section><h2 id=hosts>Hosts</h2>\n");
    if (!hosts.count) {
        html_add(page, "<p class=empty>The command asked for no host.</p></section>\n");
        return;
    }
    html_add(
        page,
        "<div class=scroll tabindex=0 role=region aria-labelledby=hosts><table><thead><tr><th scope=col>Host<th scope=col "
        "class=n>Connections<th scope=col class=n>Sent<th scope=col class=n>Received<th scope=col>Refused</tr></thead>"
        "<tbody>\n");
    vec_each (const struct session_host, host, &hosts) {
        html_add(page, "<tr class=\"%s\"><th scope=row class=mono>%s%s%s</th>",
                 host->refused ? "denied" : "plain", host->name, *host->port ? ":" : "", host->port);
        html_add(
            page,
            "<td class=n>%llu<span class=unit> connection%s</span></td><td class=n>%s</td><td class=n>%s</td><td>",
            (unsigned long long)host->connections, host->connections == 1 ? "" : "s",
            size_text(&visit->arena, host->sent), size_text(&visit->arena, host->received));
        if (host->refused)
            html_add(page, "▲ %s ", host->why ? host->why : "refused");
        if (host->refused && is_running)
            add_allow(visit, session, host);
        html_add(page, "</td></tr>\n");
    }
    html_add(page, "</tbody></table></div></section>\n");
}

/* --- processes -------------------------------------------------------------------------------------------------------- */

static void add_process(struct html *page, const struct processes *processes, size_t index, int depth)
{
    const struct process *process = &processes->all.at[index];
    html_add(page, "<li><span class=mono>%s</span> <span class=dim>%s</span>", process->arguments,
             process->pid);
    if (*process->ending)
        html_add(page, " <span class=\"%s\">%s%s</span>", process->failed ? "bad" : "dim",
                 process->failed ? "✗ " : "", process->ending);
    bool has_children = process->first_child && depth < DEEPEST;
    if (has_children)
        html_add(page, "<ul>");
    for (size_t i = process->first_child; i && depth < DEEPEST; i = processes->all.at[i - 1].next_sibling)
        add_process(page, processes, i - 1, depth + 1);
    if (has_children)
        html_add(page, "</ul>");
    html_add(page, "</li>\n");
}

static void add_processes(struct html *page, const struct session_facts *facts)
{
    struct processes processes = {0};
    for (size_t i = 0; i < facts->records.count; i++)
        processes_take(&processes, &facts->records.at[i]);
    html_add(page, "<section><h2>Processes</h2>");
    if (!processes.all.count)
        html_add(page, "<p class=empty>Not recorded. <code>bawn --log-exec</code> records them.</p>");
    else
        html_add(page, "<details open><summary>%zu process%s</summary><ul class=tree>", processes.all.count,
                 processes.all.count == 1 ? "" : "es");
    for (size_t i = 0; i < processes.all.count; i++) {
        if (processes.all.at[i].is_top)
            add_process(page, &processes, i, 0);
    }
    if (processes.all.count)
        html_add(page, "</ul></details>");
    html_add(page, "</section>\n");
    processes_free(&processes);
}

/* --- the page --------------------------------------------------------------------------------------------------------- */

static void add_button(struct visit *visit, const char *session, const char *act, const char *label)
{
    html_add(&visit->page, "<form method=post action=\"/session/%s/%s\" class=inline>",
             url_part(&visit->arena, session), act);
    page_add_form_token(visit);
    html_add(&visit->page, "<button class=quiet>%s</button></form> ", label);
}

static const struct stop_asked *find_stop(const struct web *web, const char *session)
{
    vec_each (const struct stop_asked, asked, &web->stops) {
        if (strcmp(asked->session, session) == 0)
            return asked;
    }
    return NULL;
}

static int64_t grace_left(const struct stop_asked *asked)
{
    return asked->since + STOP_GRACE - now_seconds();
}

void session_add_stop(struct visit *visit, const char *session, const char *label)
{
    const struct stop_asked *asked = find_stop(visit->web, session);
    int64_t left = asked ? grace_left(asked) : 0;
    if (left > 0) {
        html_add(&visit->page, "<span class=dim>It was asked to end. You can kill it in %zu seconds.</span>",
                 (size_t)left);
        return;
    }
    html_add(&visit->page, "<form method=post action=\"/session/%s/stop\" class=inline>",
             url_part(&visit->arena, session));
    page_add_form_token(visit);
    if (asked)
        html_add(
            &visit->page,
            "<button class=quiet name=again value=yes>Kill the run<span class=off> %s, which did not end</span></button></form> ",
            session);
    else
        html_add(&visit->page, "<button class=quiet>%s<span class=off> %s</span></button></form> ", label,
                 session);
}

static void add_fact(struct html *page, const char *name, const char *value)
{
    if (*value)
        html_add(page, "<dt>%s</dt><dd class=mono>%s</dd>", name, value);
}

static void add_head(struct visit *visit, const struct listed *listed)
{
    struct html *page = &visit->page;
    bool waits = session_waits(listed);
    html_add(page, "<p class=crumbs><a href=\"/\">Sessions</a></p><div class=head><h1>%s</h1>", listed->name);
    session_add_state(page, listed);
    html_add(page, "</div>\n<div class=acts>");
    if (listed->has_record && listed->record.changes)
        html_add(page, "<a class=button href=\"/session/%s/review\">%s %zu file%s</a> ",
                 url_part(&visit->arena, listed->name), waits ? "Review" : "Look at",
                 (size_t)listed->record.changes, listed->record.changes == 1 ? "" : "s");
    if (listed->has_record && listed->record.changes && !listed->is_running)
        html_add(page, "<a class=button href=\"%s\" download>Save as a patch</a> ",
                 session_address(visit, listed->name, "/patch"));
    if (listed->is_running)
        session_add_stop(visit, listed->name, "Stop the run");
    else if (listed->has_record && listed->record.state == STATE_DONE && listed->record.changes)
        add_button(visit, listed->name, "undo", "Undo its changes");
    html_add(page, "</div>\n");
}

static void add_facts(struct visit *visit, const struct listed *listed, const struct session_facts *facts)
{
    struct html *page = &visit->page;
    const struct journal_record *plan = facts_find(facts, "plan"), *end = facts_find(facts, "end");
    const struct style style = {.home = visit->web->place->home};
    html_add(page, "<dl class=facts>");
    add_fact(page, "Command",
             *event_field(plan, "arguments") ? event_field(plan, "arguments")
             : listed->glance.command        ? listed->glance.command
                                             : "");
    add_fact(page, "Agent", listed->glance.agent ? listed->glance.agent : "");
    add_fact(page, "Workspace", style_path(&style, &visit->arena, listed_workspace(listed)));
    add_fact(page, "Began", age_text(&visit->arena, listed_began(listed)));
    if (end)
        add_fact(
            page, "Ended",
            arena_printf(&visit->arena, "status %s after %s", event_field(end, "status"),
                         length_text(&visit->arena, strtoull(event_field(end, "milliseconds"), NULL, 10))));
    add_fact(page, "Mode", listed_mode(listed));
    add_fact(page, "Network", event_field(plan, "net"));
    add_fact(page, "Walls", event_field(plan, "walls"));
    add_fact(page, "Journal", facts->integrity);
    html_add(page, "</dl>\n");
}

bool session_waits(const struct listed *listed)
{
    return !listed->is_running && listed->has_record && listed->record.state == STATE_WAITING;
}

bool session_look(struct visit *visit, const char *session, struct listed *ret_listed)
{
    auto_fd int fd = visit_session(visit, session);
    struct err ignored;
    *ret_listed = (struct listed){.name = session};
    if (fd < 0)
        return false;
    ret_listed->has_record = record_load(fd, &visit->arena, &ret_listed->record, &ignored) > 0;
    bool has_journal = glance_at(fd, &visit->arena, visit->web->place->home, &ret_listed->glance);
    ret_listed->is_running = record_has_lock(fd);
    return (has_journal || ret_listed->has_record) && listed_workspace(ret_listed);
}

void session_page(struct visit *visit, const char *session)
{
    struct listed listed;
    auto_fd int fd = visit_session(visit, session);
    if (fd < 0 || !session_look(visit, session, &listed)) {
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no such session.");
        return;
    }
    /* Whether a file is risky is for the policy to say, which this process does not have. */
    if (session_waits(&listed) && !visit_act(visit, ACT_REVIEW, NULL, (const char *[]){session, NULL}))
        return;
    struct session_facts facts;
    facts_read(&visit->arena, fd, &facts);
    page_begin(visit, session, "/");
    add_head(visit, &listed);
    attention_add(visit, &facts, &listed);
    add_facts(visit, &listed, &facts);
    add_hosts(visit, session, &facts, listed.is_running);
    add_processes(&visit->page, &facts);
    add_timeline(visit, session, &facts, listed.is_running);
    page_end(visit);
    facts_free(&facts);
}

/* --- its buttons ------------------------------------------------------------------------------------------------------ */

static void show_outcome(struct visit *visit, const char *session, const char *title)
{
    page_begin(visit, title, "/");
    html_add(&visit->page,
             "<p class=crumbs><a href=\"/\">Sessions</a> › <a href=\"/session/%s\">%s</a></p><h1>%s</h1>\n",
             url_part(&visit->arena, session), session, title);
    page_add_outcome(visit);
    page_end(visit);
}

/* Is the act confirmed? If not, the page that asks is the reply. */
static bool is_meant(struct visit *visit, const char *session, const char *rest, const char *title,
                     const char *act, const struct html *what)
{
    const struct confirmation confirmation = {.title = title,
                                              .address = session_address(visit, session, rest),
                                              .act = act,
                                              .back = session_address(visit, session, ""),
                                              .here = "/"};
    bool is_confirmed = visit_is_confirmed(visit);
    if (!is_confirmed)
        visit_confirm(visit, &confirmation, what);
    return is_confirmed;
}

/* The second press, after the grace, kills. */
void session_stop(struct visit *visit, const char *session)
{
    struct web *web = visit->web;
    const struct stop_asked *asked = find_stop(web, session);
    struct listed listed;
    auto_html struct html what = {0};
    bool kills = strcmp(visit_field(visit, "again"), "yes") == 0;
    if (kills && !visit->is_done && (!asked || grace_left(asked) > 0)) {
        visit_say(visit, MHD_HTTP_CONFLICT, "Not yet",
                  "A run is killed only if it goes on 10 seconds after it was asked to end.");
        return;
    }
    session_look(visit, session, &listed);
    html_add(&what,
             "<p><span class=mono>%s</span> in %s, with every process inside, %s. What it changed stays.</p>",
             listed.glance.command ? listed.glance.command : session, session,
             kills ? "is killed at once" : "is asked to end, as Ctrl-C in its terminal does");
    if (!is_meant(visit, session, "/stop", kills ? "Kill the run?" : "Stop the run?",
                  kills ? "Kill the run" : "Stop the run", &what))
        return;
    if (!visit_act(visit, kills ? ACT_KILL : ACT_STOP, NULL, (const char *[]){session, NULL}))
        return;
    if (!kills && !asked && visit->done_status == 0)
        vec_push(&web->stops, (struct stop_asked){arena_str(&web->arena, session), now_seconds()});
    show_outcome(visit, session, "Stop");
}

/* The files that an undo takes back. */
static void add_changed(struct visit *visit, const char *session, struct html *what)
{
    enum { NAMED = 50 };
    auto_changes struct changes changes = CHANGES_NONE;
    size_t count = 0;
    html_add(what,
             "<p>The files get back what they had before %s. The undo can be undone.</p><ul class=names>",
             session);
    if (!changes_open(visit, session, &changes))
        changes.list.count = 0;
    vec_each (const struct change, change, &changes.list) {
        if (change_is_shown(change) && !text_starts_with(change->path, ".git/") && count++ < NAMED)
            html_add(what, "<li class=mono>%s</li>", change->path);
    }
    html_add(what, "</ul>");
    if (count > NAMED)
        html_add(what, "<p>and %zu more files.</p>", count - NAMED);
}

void session_undo(struct visit *visit, const char *session)
{
    auto_html struct html what = {0};
    if (!visit_is_confirmed(visit))
        add_changed(visit, session, &what);
    if (is_meant(visit, session, "/undo", "Undo the changes?", "Undo the changes", &what) &&
        visit_act(visit, ACT_UNDO, NULL, (const char *[]){session, NULL}))
        show_outcome(visit, session, "Undo");
}

void session_allow(struct visit *visit, const char *session)
{
    const char *time = visit_field(visit, "for"), *host = visit_field(visit, "host");
    auto_html struct html what = {0};
    enum act act = strcmp(time, "always") == 0 ? ACT_ALLOW_ALWAYS
                   : strcmp(time, "once") == 0 ? ACT_ALLOW_ONCE
                                               : ACT_ALLOW;
    html_add(
        &what,
        "<p><code>connect %s</code> is added to your own policy: from now on each of your sandboxes can send data there.</p>",
        host);
    if (act == ACT_ALLOW_ALWAYS &&
        !is_meant(visit, session, "/allow", "Allow the host always?", "Allow always", &what))
        return;
    if (visit_act(visit, act, NULL, (const char *[]){session, host, NULL}))
        show_outcome(visit, session, "Allow a host");
}
