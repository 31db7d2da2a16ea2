/* The summary at the end of a run: lines for a terminal, JSON, one line for a log, Markdown. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "report/summary.h"

enum { MOST_SHOWN = 8, MOST_OFFERED = 4, LABEL_COLUMNS = 10, PATH_COLUMNS = 48, WORTH_TELLING_SECONDS = 60 };

/* "1 m 12 s" */
static const char *elapsed_text(const struct run_summary *summary)
{
    uint64_t seconds = summary->milliseconds / 1000;
    struct arena *arena = summary->plan->policy->arena;
    if (seconds < 10)
        return arena_printf(arena, "%" PRIu64 ".%" PRIu64 " s", seconds, summary->milliseconds % 1000 / 100);
    if (seconds < 60)
        return arena_printf(arena, "%" PRIu64 " s", seconds);
    if (seconds < 3600)
        return arena_printf(arena, "%" PRIu64 " m %" PRIu64 " s", seconds / 60, seconds % 60);
    return arena_printf(arena, "%" PRIu64 " h %" PRIu64 " m", seconds / 3600, seconds % 3600 / 60);
}

/* What `bawn allow` takes: "other.test", "other.test:22". A name without a port probably means https. */
static const char *refused_object(struct arena *arena, const struct refused_host *refused)
{
    bool is_plain = refused->port == 0 || refused->port == PORT_HTTPS;
    return is_plain ? refused->host : host_with_port(arena, refused->host, refused->port);
}

/*
 * The command that would open a refused host; NULL if none should be offered. It helps only if no rule lists the name:
 * refusals for other reasons say what would help. What a rule refuses by name, such as an agent's telemetry, is refused on
 * purpose.
 */
static const char *allow_command(const struct policy *policy, const struct refused_host *refused)
{
    struct arena *arena = policy->arena;
    const char *object = refused_object(arena, refused), *problem = NULL, *hint = NULL;
    struct host_object host;
    if (!*refused->host || !strstr(refused->sentence, "is not on the list"))
        return NULL;
    /* The sandbox chose the text: it may be an option and not a host, and a person will type it. */
    if (host_parse(arena, object, &host, &problem, &hint) < 0)
        return NULL;
    const struct rule *rule = decide_host(policy, &host, host.port ? host.port : PORT_HTTPS, NULL).decides;
    if (rule && rule->verb == VERB_REFUSE)
        return NULL;
    auto_buf struct buf printable = {0};
    text_add_printable(&printable, object, strlen(object));
    return arena_printf(arena, "bawn allow --always %s", buf_text(&printable));
}

/* --- files in the private home -------------------------------------------------------------------------------------- */

/* Drops the files that the launcher made to mount something on: the command did not make them. */
static void drop_places(const struct plan *plan, struct home_files *left)
{
    size_t kept = 0;
    for (size_t i = 0; i < left->list.count; i++) {
        const char *path = path_join(left->arena, plan->policy->request.home, left->list.at[i].path + 1);
        bool is_place = false;
        for (size_t j = 0; j < plan->operations.count && !is_place; j++)
            is_place = text_equal(plan->operations.at[j].path, path);
        if (!is_place)
            left->list.at[kept++] = left->list.at[i];
    }
    left->list.count = kept;
}

void home_files_find_new(const struct plan *plan, const struct home *home, struct home_files *ret_left)
{
    *ret_left = (struct home_files){.arena = plan->policy->arena, .since = home->began};
    home_files_find(home->fd, ret_left);
    drop_places(plan, ret_left);
}

void home_files_add(struct buf *out, const struct style *style, const struct home_files *left, size_t most,
                    size_t indent)
{
    for (size_t i = 0; i < left->list.count && i < most; i++) {
        const struct home_file *file = &left->list.at[i];
        buf_printf(out, "%*s", (int)indent, "");
        style_add_column(style, out, COLOUR_BOLD, arena_printf(left->arena, "~%s", file->path), PATH_COLUMNS);
        buf_printf(out, "%12s", size_text(left->arena, file->size));
        buf_add_char(out, '\n');
    }
    size_t more = left->list.count > most ? left->list.count - most : 0;
    if (more || left->is_cut)
        buf_printf(out, "%*sand %s%zu more\n", (int)indent, "", left->is_cut ? "at least " : "", more);
}

/* The path in quotes, so that bawn and not the shell reads the ~. NULL if quotes do not make it safe to type. */
static const char *typed_path(struct arena *arena, const char *path)
{
    if (strchr(path, '\''))
        return NULL;
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            return NULL;
    }
    return arena_printf(arena, "'~%s'", path);
}

/* --- lines for a terminal -------------------------------------------------------------------------------------------- */

struct lines {
    const struct run_summary *summary;
    struct style style;
    struct arena *arena;
    struct buf *out;
};

/* Begins a line with its label, or below the label of the line before. */
static void begin_line(struct lines *lines, enum colour colour, const char *label)
{
    buf_add_str(lines->out, "  ");
    style_add_column(&lines->style, lines->out, *label ? colour : COLOUR_PLAIN, label, LABEL_COLUMNS);
}

static void add(struct lines *lines, enum colour colour, const char *text)
{
    style_add(&lines->style, lines->out, colour, text);
}

static void add_files(struct lines *lines)
{
    const struct changed *changed = lines->summary->changed;
    if (changed->mode == RECORD_DISCARD) {
        begin_line(lines, COLOUR_BOLD, "files");
        buf_add_str(lines->out, "what it wrote in the workspace was discarded\n");
    }
    if (!changed->count)
        return;
    bool waits = changed->mode == RECORD_REVIEW;
    begin_line(lines, COLOUR_BOLD, "files");
    buf_printf(lines->out, "%" PRIu64 " %s", changed->count - changed->in_repository,
               waits ? "waiting for review" : "changed");
    if (changed->in_repository)
        buf_printf(lines->out, " and %zu of git's own", changed->in_repository);
    if (changed->risky) {
        buf_add_str(lines->out, ", ");
        add(lines, COLOUR_YELLOW,
            arena_printf(lines->arena, "%zu would run or be obeyed on the host", changed->risky));
    }
    buf_add_char(lines->out, '\n');
    size_t shown = 0;
    for (; shown < changed->files.count && shown < MOST_SHOWN; shown++) {
        const struct changed_file *file = &changed->files.at[shown];
        begin_line(lines, COLOUR_PLAIN, "");
        buf_printf(lines->out, "%c ", file->letter);
        add(lines, file->reason ? COLOUR_YELLOW : COLOUR_PLAIN, file->path);
        if (file->reason)
            add(lines, COLOUR_DIM, arena_printf(lines->arena, "  %s", file->reason));
        buf_add_char(lines->out, '\n');
    }
    uint64_t more = changed->count - changed->in_repository - shown;
    if (more && shown) {
        begin_line(lines, COLOUR_PLAIN, "");
        buf_printf(lines->out, "and %" PRIu64 " more\n", more);
    }
}

static void add_used(struct lines *lines)
{
    const used_list *used = lines->summary->used;
    if (!used->count)
        return;
    begin_line(lines, COLOUR_BOLD, "reached");
    for (size_t i = 0; i < used->count && i < MOST_SHOWN; i++) {
        buf_add_str(lines->out, i ? ", " : "");
        add(lines, COLOUR_PLAIN, used->at[i].host);
        uint64_t moved = used->at[i].sent + used->at[i].received;
        if (moved)
            add(lines, COLOUR_DIM, arena_printf(lines->arena, " (%s)", size_text(lines->arena, moved)));
    }
    if (used->count > MOST_SHOWN)
        buf_printf(lines->out, " and %zu more", used->count - MOST_SHOWN);
    buf_add_char(lines->out, '\n');
}

static void add_host(struct lines *lines, enum colour colour, const char *label,
                     const struct refused_host *host)
{
    begin_line(lines, colour, label);
    add(lines, COLOUR_PLAIN, refused_object(lines->arena, host));
    add(lines, COLOUR_DIM, arena_printf(lines->arena, " %s", host->sentence));
    buf_add_char(lines->out, '\n');
}

/* Hosts that a rule allows, and that could not be reached. */
static void add_unreachable(struct lines *lines)
{
    const refused_list *unreachable = lines->summary->unreachable;
    for (size_t i = 0; i < unreachable->count && i < MOST_SHOWN; i++)
        add_host(lines, COLOUR_YELLOW, i ? "" : "failed", &unreachable->at[i]);
}

static void add_refused(struct lines *lines)
{
    const struct run_summary *summary = lines->summary;
    for (size_t i = 0; i < summary->refused->count && i < MOST_SHOWN; i++)
        add_host(lines, COLOUR_RED, i ? "" : "refused", &summary->refused->at[i]);
    if (summary->refused_in_all > MOST_SHOWN) {
        begin_line(lines, COLOUR_PLAIN, "");
        buf_printf(lines->out, "and %zu more\n", summary->refused_in_all - MOST_SHOWN);
    }
}

static size_t count_alarms(const struct run_summary *summary)
{
    return summary->fired->count + summary->misused->count + summary->leaked->count +
           summary->refused_keys->count;
}

static void add_tripwires(struct lines *lines)
{
    const fired_list *fired = lines->summary->fired;
    for (size_t i = 0; i < fired->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "tripwire");
        /* The sentence is printable already, and has ~ for the home. */
        buf_add_str(lines->out, opened_decoy_text(lines->arena, lines->style.home, &fired->at[i]));
        buf_add_str(lines->out, i ? "\n" : "; it is a decoy without secrets\n");
    }
}

static void add_misused(struct lines *lines)
{
    const misused_list *misused = lines->summary->misused;
    for (size_t i = 0; i < misused->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "secret");
        buf_printf(lines->out, "the placeholder of %s was sent to ", misused->at[i].name);
        add(lines, COLOUR_PLAIN, misused->at[i].host);
        buf_add_str(lines->out, ", which it is not for\n");
    }
}

static void add_leaks(struct lines *lines)
{
    const leaked_list *leaked = lines->summary->leaked;
    for (size_t i = 0; i < leaked->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "leak");
        add(lines, COLOUR_PLAIN, leaked->at[i].what);
        buf_printf(lines->out, leaked->at[i].is_stopped ? " was in a request to " : " was sent to ");
        add(lines, COLOUR_PLAIN, leaked->at[i].host);
        buf_add_str(lines->out, leaked->at[i].is_stopped ? ", which was stopped\n" : "\n");
    }
}

static void add_refused_keys(struct lines *lines)
{
    const refused_key_list *refused = lines->summary->refused_keys;
    for (size_t i = 0; i < refused->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "ssh key");
        buf_printf(lines->out, "%s was not used: %s\n", refused->at[i].key, refused->at[i].why);
    }
}

static void add_walls(struct lines *lines)
{
    const struct plan *plan = lines->summary->plan;
    for (size_t i = 0; i < plan->given_up.count; i++) {
        const struct given_up *given_up = &plan->given_up.at[i];
        begin_line(lines, COLOUR_YELLOW, i ? "" : "given up");
        buf_printf(lines->out, "%s by %s%s: %s\n", wall_name(given_up->wall), given_up->by,
                   given_up->if_needed ? ", if this machine lacks it" : "", wall_loss(given_up->wall));
    }
}

static void add_home(struct lines *lines)
{
    const struct home_files *left = lines->summary->left;
    if (!left->list.count)
        return;
    begin_line(lines, COLOUR_BOLD, "home");
    buf_add_str(lines->out, "new in the private home:\n");
    home_files_add(lines->out, &lines->style, left, MOST_SHOWN, LABEL_COLUMNS + 2);
}

static void add_next(struct lines *lines, bool *is_first, const char *command, const char *what)
{
    begin_line(lines, COLOUR_BOLD, *is_first ? "next" : "");
    add(lines, COLOUR_GREEN, command);
    if (what)
        add(lines, COLOUR_DIM, arena_printf(lines->arena, "  %s", what));
    buf_add_char(lines->out, '\n');
    *is_first = false;
}

/* The commands that a person is likely to type next. */
static void add_commands(struct lines *lines)
{
    const struct run_summary *summary = lines->summary;
    const struct changed *changed = summary->changed;
    bool is_first = true;
    if (changed->count) {
        bool waits = changed->mode == RECORD_REVIEW;
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn diff %s", summary->session), NULL);
        add_next(lines, &is_first,
                 arena_printf(lines->arena, waits ? "bawn review %s" : "bawn undo %s", summary->session),
                 waits ? "applies or discards each file" : "takes the changes back");
    }
    /* After a tripwire nobody should be led to open more. */
    size_t offered = count_alarms(summary) ? MOST_OFFERED : 0;
    for (size_t i = 0; i < summary->refused->count && offered < MOST_OFFERED; i++) {
        const char *command = allow_command(summary->plan->policy, &summary->refused->at[i]);
        if (!command)
            continue;
        add_next(lines, &is_first, command, "from now on");
        offered++;
    }
    if (summary->held)
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn held %s", summary->session), NULL);
    if (summary->left->list.count) {
        const char *typed = typed_path(lines->arena, summary->left->list.at[0].path);
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn home fetch %s", typed ? typed : "PATH"),
                 "copies it here");
    }
    if (summary->session && (summary->refused_in_all || count_alarms(summary)))
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn log %s --denied", summary->session),
                 NULL);
}

/* A short run that changed and was refused nothing is not worth a line. */
static bool is_worth_telling(const struct run_summary *summary)
{
    return summary->changed->count || summary->changed->mode == RECORD_DISCARD || summary->refused_in_all ||
           summary->unreachable->count || count_alarms(summary) || summary->left->list.count ||
           summary->milliseconds / 1000 >= WORTH_TELLING_SECONDS;
}

void run_summary_add_text(const struct run_summary *summary, const struct style *style, struct buf *out)
{
    if (!is_worth_telling(summary))
        return;
    struct lines lines = {summary, *style, summary->plan->policy->arena, out};
    lines.style.home = summary->plan->policy->request.home;
    add(&lines, COLOUR_BOLD, "bawn:");
    buf_printf(out, " %s ended after %s%s\n", summary->session ? summary->session : "the run",
               elapsed_text(summary),
               summary->status ? arena_printf(lines.arena, " with status %d", summary->status) : "");
    add_files(&lines);
    add_used(&lines);
    add_unreachable(&lines);
    add_refused(&lines);
    add_tripwires(&lines);
    add_misused(&lines);
    add_refused_keys(&lines);
    add_leaks(&lines);
    add_walls(&lines);
    add_home(&lines);
    add_commands(&lines);
}

/* --- JSON, one line, Markdown ---------------------------------------------------------------------------------------- */

static void add_strings(struct json *json, const struct run_summary *summary)
{
    struct arena *arena = summary->plan->policy->arena;
    json_open(json, "reached", '[');
    for (size_t i = 0; i < summary->used->count; i++)
        json_str(json, NULL, summary->used->at[i].host);
    json_close(json, ']');
    json_open(json, "refused", '[');
    for (size_t i = 0; i < summary->refused->count; i++)
        json_str(json, NULL, refused_object(arena, &summary->refused->at[i]));
    json_close(json, ']');
    json_open(json, "unreachable", '[');
    for (size_t i = 0; i < summary->unreachable->count; i++)
        json_str(json, NULL, refused_object(arena, &summary->unreachable->at[i]));
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
               summary->status, elapsed_text(summary));
    add_counted(out, (size_t)changed->count, "file changed", "files changed");
    if (changed->risky)
        buf_printf(out, " (%zu would run or be obeyed on the host)", changed->risky);
    add_counted(out, summary->held, "held aside", "held aside");
    add_counted(out, summary->used->count, "host reached", "hosts reached");
    if (summary->refused->count) {
        add_counted(out, summary->refused->count, "refusal:", "refusals:");
        for (size_t i = 0; i < summary->refused->count && i < 5; i++) {
            const char *object = refused_object(summary->plan->policy->arena, &summary->refused->at[i]);
            buf_add_char(out, ' ');
            text_add_printable(out, object, strlen(object));
        }
    }
    add_counted(out, count_alarms(summary), "tripwire", "tripwires");
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
               elapsed_text(summary), changed->count);
    for (size_t i = 0; i < changed->files.count && changed->files.at[i].reason; i++) {
        auto_buf struct buf reason = {0};
        add_code(&reason, changed->files.at[i].reason); /* it may be a rule of the repository's own */
        add_row(out, buf_text(&reason), changed->files.at[i].path);
    }
    for (size_t i = 0; i < summary->used->count; i++)
        add_row(out, "reached", summary->used->at[i].host);
    for (size_t i = 0; i < summary->refused->count; i++)
        add_row(out, "refused", refused_object(arena, &summary->refused->at[i]));
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
    size_t offered = 0;
    for (size_t i = 0; i < summary->refused->count && offered < MOST_OFFERED; i++) {
        const char *command = allow_command(summary->plan->policy, &summary->refused->at[i]);
        if (command)
            buf_printf(out, "%s- `%s`\n", offered++ ? "" : "\nTo allow what was refused:\n\n", command);
    }
    buf_add_char(out, '\n');
}
