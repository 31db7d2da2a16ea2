/* The end of a run for programs: one line of JSON, one sentence for the log of a CI, Markdown for its page. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/summary.h"

static void add_strings(struct json *json, const struct summary *summary)
{
    const struct network *network = summary->network;
    struct arena *arena = summary->loaded->policy.arena;
    json_open(json, "reached", '[');
    for (size_t i = 0; network && i < network->used.count; i++)
        json_str(json, NULL, network->used.at[i].host);
    json_close(json, ']');
    json_open(json, "refused", '[');
    for (size_t i = 0; network && i < network->refused.count; i++)
        json_str(json, NULL, refused_object(arena, &network->refused.at[i]));
    json_close(json, ']');
    json_open(json, "unreachable", '[');
    for (size_t i = 0; network && i < network->unreachable.count; i++)
        json_str(json, NULL, refused_object(arena, &network->unreachable.at[i]));
    json_close(json, ']');
    json_open(json, "tripwires", '[');
    for (size_t i = 0; summary->tripwires && i < summary->tripwires->fired.count; i++)
        json_str(json, NULL, summary->tripwires->fired.at[i].path);
    json_close(json, ']');
    json_open(json, "given_up", '[');
    for (size_t i = 0; i < summary->loaded->plan.given_up.count; i++)
        json_str(json, NULL, wall_name(summary->loaded->plan.given_up.at[i].wall));
    json_close(json, ']');
}

void summary_add_json(const struct summary *summary, struct buf *out)
{
    const struct changed *changed = summary->changed;
    struct json json = {.out = out, .on_one_line = true};
    json_open(&json, NULL, '{');
    json_str(&json, "schema", "bawn.end");
    json_int(&json, "version", 1);
    if (summary->session)
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
        if (changed->files.at[i].reason)
            json_str(&json, "risk", changed->files.at[i].reason);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_int(&json, "held", (int64_t)summary->settlement.held);
    add_strings(&json, summary);
    json_close(&json, '}');
    buf_add_char(out, '\n');
}

static void add_counted(struct buf *out, size_t count, const char *one, const char *many)
{
    if (count)
        buf_printf(out, ", %zu %s", count, count == 1 ? one : many);
}

void summary_add_line(const struct summary *summary, struct buf *out)
{
    const struct changed *changed = summary->changed;
    const struct network *network = summary->network;
    buf_printf(out, "bawn: %s: status %d after %s", summary->session ? summary->session : "the run",
               summary->status, summary_time(summary));
    add_counted(out, (size_t)changed->count, "file changed", "files changed");
    if (changed->risky)
        buf_printf(out, " (%zu would run or be obeyed on the host)", changed->risky);
    add_counted(out, summary->settlement.held, "held aside", "held aside");
    add_counted(out, network ? network->used.count : 0, "host reached", "hosts reached");
    if (network && network->refused.count) {
        add_counted(out, network->refused.count, "refusal:", "refusals:");
        for (size_t i = 0; i < network->refused.count && i < 5; i++) {
            const char *object = refused_object(summary->loaded->policy.arena, &network->refused.at[i]);
            buf_add_char(out, ' ');
            text_add_printable(out, object, strlen(object));
        }
    }
    add_counted(out, summary->tripwires ? summary->tripwires->fired.count : 0, "tripwire", "tripwires");
    add_counted(out, summary->loaded->plan.given_up.count, "wall given up", "walls given up");
    buf_add_char(out, '\n');
}

/* As code: what is between the quotes is shown as it is, if no quote is in it. */
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

void summary_add_markdown(const struct summary *summary, struct buf *out)
{
    const struct changed *changed = summary->changed;
    const struct network *network = summary->network;
    struct arena *arena = summary->loaded->policy.arena;
    buf_printf(out, "### bawn: %s\n\n| | |\n|---|---|\n", summary->session ? summary->session : "a run");
    buf_printf(out, "| status | %d |\n| time | %s |\n| files changed | %" PRIu64 " |\n", summary->status,
               summary_time(summary), changed->count);
    for (size_t i = 0; i < changed->files.count && changed->files.at[i].reason; i++) {
        add_row(out, changed->files.at[i].reason, changed->files.at[i].path);
    }
    for (size_t i = 0; network && i < network->used.count; i++) {
        add_row(out, "reached", network->used.at[i].host);
    }
    for (size_t i = 0; network && i < network->refused.count; i++) {
        add_row(out, "refused", refused_object(arena, &network->refused.at[i]));
    }
    for (size_t i = 0; summary->tripwires && i < summary->tripwires->fired.count; i++) {
        add_row(out, "tripwire", summary->tripwires->fired.at[i].path);
    }
    for (size_t i = 0; i < summary->loaded->plan.given_up.count; i++) {
        add_row(out, "wall given up", wall_name(summary->loaded->plan.given_up.at[i].wall));
    }
    auto_buf struct buf objects = {0};
    refused_add_objects(&objects, arena, network);
    if (objects.size)
        buf_printf(out, "\nTo allow what was refused: `bawn allow --always%s`\n", buf_text(&objects));
    buf_add_char(out, '\n');
}
