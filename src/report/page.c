/*
 * A session as one page of HTML that needs nothing else: no script, no font, no picture, and nothing may be loaded.
 * A journal has text from inside the sandbox, and its owner can change it: all of it is escaped.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/style.h"
#include "base/text.h"
#include "report/facts.h"
#include "report/summary.h"

enum { NAMES_SHOWN = 5 };

struct page {
    const char *session;
    const char *home; /* shown as ~; may be NULL */
    const struct session_facts *facts;
    const struct changed *changed;
};

static const char style_sheet[] =
    ":root{color-scheme:light dark;--line:#8884;--dim:#777;--red:#b3261e;--amber:#9a6700;--green:#1a7f37}"
    "@media(prefers-color-scheme:dark){:root{--dim:#999;--red:#ff8a80;--amber:#e3b341;--green:#56d364}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid var(--line);padding:.25rem .6rem;"
    "text-align:left;vertical-align:top;overflow-wrap:anywhere}th{font-weight:600;white-space:nowrap}th,td.t,td.e{width:1%}"
    "td.n,th.n{text-align:right;white-space:nowrap}td.t{white-space:nowrap;color:var(--dim)}td.e{white-space:nowrap}"
    "code,td.m,.tree{font:13px/1.5 ui-monospace,monospace}.dim{color:var(--dim)}"
    ".denied td.e{color:var(--red);font-weight:600}.risk{color:var(--amber)}.bad{color:var(--red)}"
    ".good{color:var(--green)}.box{border:1px solid var(--amber);border-radius:.4rem;padding:.6rem 1rem;margin:1rem 0}"
    ".box h2{margin:0}.tree ul{list-style:none;margin:0;padding-left:1.2rem;border-left:1px solid "
    "var(--line)}.tree{overflow-wrap:anywhere}";

void page_begin_add(struct buf *out, const char *title)
{
    buf_add_str(out, "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
                     "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
                     "'unsafe-inline'\">\n"
                     "<meta name=viewport content=\"width=device-width\">\n<title>bawn: ");
    text_add_html(out, title);
    buf_printf(out, "</title>\n<style>%s</style></head><body>\n<h1>", style_sheet);
    text_add_html(out, title);
    buf_add_str(out, "</h1>\n");
}

/* --- text ------------------------------------------------------------------------------------------------------------- */

static const char *record_time(struct arena *arena, const struct journal_record *record, const char *format)
{
    struct timespec time;
    struct tm parts;
    char text[64];
    if (!event_time(record, &time))
        return record->at;
    localtime_r(&time.tv_sec, &parts);
    return strftime(text, sizeof(text), format, &parts) ? arena_str(arena, text) : "";
}

/* --- what needs attention -------------------------------------------------------------------------------------------- */

static void add_command(struct buf *out, const struct page *page, const char *verb, const char *flags)
{
    buf_printf(out, " <code>bawn %s ", verb);
    text_add_html(out, page->session);
    buf_printf(out, "%s</code></p>\n", flags);
}

/* "2 hosts were refused: one.test, two.test. bawn log my-app-3 --denied --net". Returns whether there was anything. */
static bool add_finding(struct buf *out, const struct page *page, const struct finding *finding)
{
    auto_vec text_list names = {0};
    facts_names(page->facts, finding, &names);
    if (!names.count)
        return false;
    struct style style = {.home = page->home};
    buf_printf(out, "<p>%s%zu %s", names.count == FACTS_MOST_NAMES ? "at least " : "", names.count,
               names.count == 1 ? finding->one : finding->many);
    for (size_t i = 0; i < names.count && i < NAMES_SHOWN; i++) {
        auto_buf struct buf name = {0};
        style_add_path(&style, &name, COLOUR_PLAIN, names.at[i]);
        const char *first = *names.at[i] ? ": " : ""; /* some records are about no path */
        buf_add_str(out, i ? ", " : first);
        text_add_html_as_is(out, buf_text(&name));
    }
    if (names.count > NAMES_SHOWN)
        buf_printf(out, " and %zu more", names.count - NAMES_SHOWN);
    buf_add_char(out, '.');
    add_command(out, page, finding->verb, finding->flags);
    return true;
}

/* What cannot be known from this journal must not look like nothing. Returns whether there is such a thing. */
static bool add_not_checked(struct buf *out, const struct page *page)
{
    uint64_t lost = facts_lost(page->facts);
    if (!page->facts->is_whole)
        buf_add_str(out, "<p class=bad>The journal is damaged: events that it lost are not checked.</p>\n");
    if (page->facts->is_cut)
        buf_add_str(out, "<p class=bad>The journal is too large: its end is not checked.</p>\n");
    if (lost)
        buf_printf(out, "<p class=bad>%" PRIu64 " events were not recorded, and are not checked.</p>\n",
                   lost);
    return !page->facts->is_whole || page->facts->is_cut || lost;
}

static void add_attention(struct buf *out, const struct page *page)
{
    buf_add_str(out, "<div class=box>\n<h2>Needs attention</h2>\n");
    bool is_any = add_not_checked(out, page);
    for (size_t i = 0; i < finding_count; i++)
        is_any |= add_finding(out, page, &findings[i]);
    if (page->changed->risky) {
        buf_printf(out, "<p>%zu changed %s run on your machine.", page->changed->risky,
                   page->changed->risky == 1 ? "file could" : "files could");
        add_command(out, page, "diff", "");
        is_any = true;
    }
    if (!is_any)
        buf_printf(out,
                   "<p class=good>%sNo decoy was opened, no host was refused, no file was set aside.</p>\n",
                   facts_find(page->facts, "end") ? "" : "Until now: ");
    buf_add_str(out, "</div>\n");
}

/* --- parts ------------------------------------------------------------------------------------------------------------- */

static void add_row(struct buf *out, const char *label, const char *text)
{
    if (!*text)
        return;
    buf_printf(out, "<tr><th>%s</th><td class=m>", label);
    text_add_html(out, text);
    buf_add_str(out, "</td></tr>\n");
}

static void add_head(struct buf *out, struct arena *arena, const struct page *page)
{
    const struct journal_record *start = facts_find(page->facts, "start"),
                                *plan = facts_find(page->facts, "plan"),
                                *end = facts_find(page->facts, "end");
    page_begin_add(out, page->session);
    buf_printf(out, "<p class=%s>", page->facts->is_whole ? "good" : "bad");
    text_add_html(out, page->facts->integrity);
    buf_add_str(out, "</p>\n");
    add_attention(out, page);
    buf_add_str(out, "<table>\n");
    add_row(out, "workspace", event_field(start, "workspace"));
    add_row(out, "command",
            *event_field(plan, "arguments") ? event_field(plan, "arguments") : event_field(start, "command"));
    if (start)
        add_row(out, "began", record_time(arena, start, "%Y-%m-%d %H:%M:%S %Z"));
    add_row(out, "ended",
            end ? arena_printf(arena, "status %s after %s ms", event_field(end, "status"),
                               event_field(end, "milliseconds"))
                : "not yet, or bawn was killed");
    add_row(out, "mode", event_field(plan, "mode"));
    add_row(out, "network", event_field(plan, "net"));
    add_row(out, "walls", event_field(plan, "walls"));
    add_row(out, "policy", event_field(plan, "policy"));
    add_row(out, "plan", event_field(plan, "plan"));
    add_row(out, "kernel", event_field(plan, "kernel"));
    buf_add_str(out, "</table>\n");
}

static void add_changes(struct buf *out, const struct page *page)
{
    const struct changed *changed = page->changed;
    buf_printf(out, "<h2>Changes</h2>\n<p>%" PRIu64 " in the workspace.</p>\n", changed->count);
    if (!changed->files.count)
        return;
    buf_add_str(out, "<table>\n");
    vec_each (const struct changed_file, change, &changed->files) {
        buf_printf(out, "<tr><td class=t>%c</td><td class=m>", change->letter);
        text_add_html(out, change->path);
        buf_add_str(out, "</td><td class=risk>");
        text_add_html(out, change->reason ? change->reason : "");
        buf_add_str(out, "</td></tr>\n");
    }
    buf_add_str(out, "</table>\n");
    if (changed->count > changed->files.count)
        buf_printf(out, "<p class=dim>and %" PRIu64 " more</p>\n", changed->count - changed->files.count);
}

static void add_hosts(struct buf *out, const struct page *page)
{
    auto_vec session_hosts hosts = {0};
    facts_hosts(page->facts, &hosts);
    buf_add_str(out, "<h2>Hosts</h2>\n");
    buf_add_str(
        out,
        hosts.count
            ? "<table><tr><th>host<th class=n>connections<th class=n>bytes sent<th class=n>bytes received<th></tr>\n"
            : "<p class=dim>None.</p>\n");
    vec_each (const struct session_host, host, &hosts) {
        buf_printf(out, "<tr%s><td class=m>", host->refused ? " class=denied" : "");
        text_add_html(out, host->name);
        buf_add_str(out, *host->port ? ":" : "");
        text_add_html(out, host->port);
        buf_printf(out,
                   "</td><td class=n>%" PRIu64 "</td><td class=n>%" PRIu64 "</td><td class=n>%" PRIu64
                   "</td><td class=e>",
                   host->connections, host->sent, host->received);
        text_add_html(out, host->refused ? host->why : "");
        buf_add_str(out, "</td></tr>\n");
    }
    buf_add_str(out, hosts.count ? "</table>\n" : "");
}

/* A process, and below it those that it started. */
static void add_process(struct buf *out, const struct processes *processes, size_t index, int depth)
{
    enum { DEEPEST = 64 };
    const struct process *process = &processes->all.at[index];
    buf_add_str(out, "<li>");
    text_add_html(out, process->arguments);
    buf_add_str(out, " <span class=dim>");
    text_add_html(out, process->pid);
    buf_add_str(out, *process->ending ? ", " : "");
    buf_add_str(out, "</span>");
    if (*process->ending) {
        buf_printf(out, "<span class=%s>", process->failed ? "bad" : "dim");
        text_add_html(out, process->ending);
        buf_add_str(out, "</span>");
    }
    bool has_children = false;
    for (size_t i = process->first_child; i && depth < DEEPEST; i = processes->all.at[i - 1].next_sibling) {
        buf_add_str(out, has_children ? "" : "<ul>\n");
        has_children = true;
        add_process(out, processes, i - 1, depth + 1);
    }
    buf_add_str(out, has_children ? "</ul></li>\n" : "</li>\n");
}

static void add_processes(struct buf *out, const struct page *page)
{
    struct processes processes = {0};
    for (size_t i = 0; i < page->facts->records.count; i++)
        processes_take(&processes, &page->facts->records.at[i]);
    buf_add_str(out, "<h2>Processes</h2>\n");
    if (!processes.all.count)
        buf_add_str(out, "<p class=dim>Not recorded. <code>bawn --log-exec</code> records them.</p>\n");
    else
        buf_add_str(out, "<div class=tree><ul>\n");
    for (size_t i = 0; i < processes.all.count; i++) {
        if (processes.all.at[i].is_top)
            add_process(out, &processes, i, 0);
    }
    buf_add_str(out, processes.all.count ? "</ul></div>\n" : "");
    processes_free(&processes);
}

static void add_timeline(struct buf *out, struct arena *arena, const struct page *page)
{
    enum { MOST_ROWS = 20000 };
    buf_add_str(out, "<h2>Timeline</h2>\n<table>\n");
    for (size_t i = 0; i < page->facts->records.count && i < MOST_ROWS; i++) {
        const struct journal_record *record = &page->facts->records.at[i];
        auto_buf struct buf sentence = {0};
        event_add_sentence(&sentence, record, page->home);
        bool is_denial = event_kinds(record->event) & EVENT_DENIED;
        buf_printf(out, "<tr%s><td class=t>", is_denial ? " class=denied" : "");
        text_add_html(out, record_time(arena, record, "%H:%M:%S"));
        buf_add_str(out, "</td><td class=e>");
        text_add_html(out, record->event);
        buf_add_str(out, "</td><td class=m>");
        text_add_html_as_is(out, buf_text(&sentence)); /* printable already */
        buf_add_str(out, "</td></tr>\n");
    }
    buf_add_str(out, "</table>\n");
    if (page->facts->records.count > MOST_ROWS)
        buf_printf(out, "<p class=dim>and %zu more records</p>\n", page->facts->records.count - MOST_ROWS);
}

bool session_page_add(struct buf *out, struct arena *arena, int session_fd, const char *session,
                      const char *home, const struct changed *changed)
{
    struct session_facts facts;
    facts_read(arena, session_fd, &facts);
    struct page page = {.session = session, .home = home, .changed = changed, .facts = &facts};
    add_head(out, arena, &page);
    add_changes(out, &page);
    add_hosts(out, &page);
    add_processes(out, &page);
    add_timeline(out, arena, &page);
    buf_add_str(out, "</body></html>\n");
    bool is_whole = facts.is_whole;
    facts_free(&facts);
    return is_whole;
}
