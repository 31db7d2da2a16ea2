/* The summary at the end of a run: JSON, one line for a log, Markdown. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "report/run_summary_parts.h"

static void add_strings(struct json *json, const struct run_summary *summary)
{
    struct arena *arena = summary->plan->policy->arena;
    json_open(json, "reached", '[');
    for (size_t i = 0; i < summary->used->count; i++)
        json_str(json, NULL, summary->used->at[i].host);
    json_close(json, ']');
    json_open(json, "refused", '[');
    for (size_t i = 0; i < summary->refused->count; i++)
        json_str(json, NULL, summary_refused(arena, &summary->refused->at[i]));
    json_close(json, ']');
    json_open(json, "unreachable", '[');
    for (size_t i = 0; i < summary->unreachable->count; i++)
        json_str(json, NULL, summary_refused(arena, &summary->unreachable->at[i]));
    json_close(json, ']');
    json_open(json, "tripwires", '[');
    for (size_t i = 0; i < summary->fired->count; i++)
        json_str(json, NULL, summary->fired->at[i].path);
    json_close(json, ']');
    if (summary->misused->count)
        json_open(json, "misused_secrets", '[');
    for (size_t i = 0; i < summary->misused->count; i++)
        json_str(json, NULL, summary->misused->at[i].name);
    if (summary->misused->count)
        json_close(json, ']');
    if (summary->refused_keys->count)
        json_open(json, "refused_keys", '[');
    for (size_t i = 0; i < summary->refused_keys->count; i++)
        json_str(json, NULL, summary->refused_keys->at[i].key);
    if (summary->refused_keys->count)
        json_close(json, ']');
    if (summary->leaked->count)
        json_open(json, "leaks", '[');
    for (size_t i = 0; i < summary->leaked->count; i++)
        json_str(json, NULL, summary->leaked->at[i].what);
    if (summary->leaked->count)
        json_close(json, ']');
    if (summary->servers->count)
        json_open(json, "unpublished", '[');
    for (size_t i = 0; i < summary->servers->count; i++)
        json_int(json, NULL, summary->servers->at[i]);
    if (summary->servers->count)
        json_close(json, ']');
    json_open(json, "given_up", '[');
    for (size_t i = 0; i < summary->plan->given_up.count; i++)
        json_str(json, NULL, wall_name(summary->plan->given_up.at[i].wall));
    json_close(json, ']');
}

void run_summary_add_json(const struct run_summary *summary, struct buf *out)
{
    const struct changed *changed = summary->changed;
    struct json json = {.out = out, .on_one_line = true};
    json_open(&json, NULL, '{');
    json_str(&json, "schema", "bawn.end");
    json_int(&json, "version", 1);
    json_str(&json, "session", summary->session);
    json_int(&json, "status", summary->status);
    json_int(&json, "milliseconds", (int64_t)summary->milliseconds);
    json_int(&json, "changes", (int64_t)changed->count);
    json_str(&json, "mode", record_mode_name(changed->mode));
    json_open(&json, "files", '[');
    for (size_t i = 0; i < changed->files.count; i++) {
        char letter[] = {changed->files.at[i].letter, '\0'};
        json_open(&json, NULL, '{');
        json_str(&json, "change", letter);
        json_str(&json, "path", changed->files.at[i].path);
        json_str(&json, "risk", changed->files.at[i].reason);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_int(&json, "held", (int64_t)summary->held);
    add_strings(&json, summary);
    json_close(&json, '}');
    buf_add_char(out, '\n');
}

static void add_counted(struct buf *out, size_t count, const char *one, const char *many)
{
    if (count)
        buf_printf(out, ", %zu %s", count, count == 1 ? one : many);
}

void run_summary_add_line(const struct run_summary *summary, struct buf *out)
{
    const struct changed *changed = summary->changed;
    buf_printf(out, "bawn: %s: status %d after %s", summary->session ? summary->session : "the run",
               summary->status, summary_elapsed(summary));
    add_counted(out, (size_t)changed->count, "file changed", "files changed");
    if (changed->risky)
        buf_printf(out, " (%zu could run on your machine)", changed->risky);
    add_counted(out, summary->held, "set aside", "set aside");
    add_counted(out, summary->used->count, "host reached", "hosts reached");
    if (summary->refused->count) {
        add_counted(out, summary->refused->count, "refusal:", "refusals:");
        for (size_t i = 0; i < summary->refused->count && i < 5; i++) {
            const char *object = summary_refused(summary->plan->policy->arena, &summary->refused->at[i]);
            buf_add_char(out, ' ');
            text_add_printable(out, object, strlen(object));
        }
    }
    add_counted(out, summary_count_alarms(summary), "tripwire", "tripwires");
    add_counted(out, summary->plan->given_up.count, "wall given up", "walls given up");
    buf_add_char(out, '\n');
}

/* In backquotes Markdown shows text as it is. A backquote or a bar in it would end the cell. */
static void add_code(struct buf *out, const char *text)
{
    auto_buf struct buf printable = {0};
    text_add_printable(&printable, text, strlen(text));
    for (size_t i = 0; i < printable.size; i++) {
        if (printable.bytes[i] == '`' || printable.bytes[i] == '|')
            printable.bytes[i] = '\'';
    }
    buf_printf(out, "`%s`", buf_text(&printable));
}

static void add_row(struct buf *out, const char *label, const char *code)
{
    buf_printf(out, "| %s | ", label);
    add_code(out, code);
    buf_add_str(out, " |\n");
}

void run_summary_add_markdown(const struct run_summary *summary, struct buf *out)
{
    const struct changed *changed = summary->changed;
    struct arena *arena = summary->plan->policy->arena;
    buf_printf(out, "### bawn: %s\n\n| | |\n|---|---|\n", summary->session ? summary->session : "a run");
    buf_printf(out, "| status | %d |\n| time | %s |\n| files changed | %" PRIu64 " |\n", summary->status,
               summary_elapsed(summary), changed->count);
    for (size_t i = 0; i < changed->files.count && changed->files.at[i].reason; i++) {
        auto_buf struct buf reason = {0};
        add_code(&reason, changed->files.at[i].reason); /* it may be a rule of the repository's own */
        add_row(out, buf_text(&reason), changed->files.at[i].path);
    }
    for (size_t i = 0; i < summary->used->count; i++)
        add_row(out, "reached", summary->used->at[i].host);
    for (size_t i = 0; i < summary->refused->count; i++)
        add_row(out, "refused", summary_refused(arena, &summary->refused->at[i]));
    for (size_t i = 0; i < summary->fired->count; i++)
        add_row(out, "tripwire", summary->fired->at[i].path);
    for (size_t i = 0; i < summary->misused->count; i++)
        add_row(out, "misused secret", summary->misused->at[i].name);
    for (size_t i = 0; i < summary->refused_keys->count; i++)
        add_row(out, "refused ssh key", summary->refused_keys->at[i].key);
    for (size_t i = 0; i < summary->leaked->count; i++)
        add_row(out, summary->leaked->at[i].is_stopped ? "leak, stopped" : "leak",
                summary->leaked->at[i].what);
    for (size_t i = 0; i < summary->plan->given_up.count; i++)
        add_row(out, "wall given up", wall_name(summary->plan->given_up.at[i].wall));
    struct summary_offer offers[SUMMARY_MOST_OFFERED];
    for (size_t i = 0, count = summary_offers(summary, offers); i < count; i++)
        buf_printf(out, "%s- `%s`\n", i ? "" : "\nTo allow what was refused, for one run:\n\n",
                   offers[i].command);
    buf_add_char(out, '\n');
}
