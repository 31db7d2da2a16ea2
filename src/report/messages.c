#include "report/messages.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"

/* Adds a full stop, unless the sentence ends in punctuation already. */
static void add_sentence(struct buf *out, const struct style *style, const char *text)
{
    style_add(style, out, COLOUR_PLAIN, text);
    size_t size = strlen(text);
    if (size && !strchr(".?!", text[size - 1]))
        buf_add_char(out, '.');
}

static void add_hint(struct buf *out, const struct style *style, const char *hint)
{
    auto_buf struct buf capital = {0};
    buf_add_str(&capital, hint);
    if (capital.size && capital.bytes[0] >= 'a' && capital.bytes[0] <= 'z')
        capital.bytes[0] = (char)(capital.bytes[0] - 'a' + 'A');
    add_sentence(out, style, buf_text(&capital));
}

static void add_message(struct buf *out, const struct style *style, enum colour colour, const char *message,
                        const char *hint)
{
    style_add(style, out, colour, "bawn:");
    buf_add_char(out, ' ');
    add_sentence(out, style, message);
    if (hint && *hint) {
        buf_add_char(out, ' ');
        add_hint(out, style, hint);
    }
    buf_add_char(out, '\n');
}

void report_add_problem(struct buf *out, const struct style *style, const char *message, const char *hint)
{
    add_message(out, style, COLOUR_RED, message, hint);
}

void report_add_note(struct buf *out, const struct style *style, const char *message, const char *hint)
{
    add_message(out, style, COLOUR_BOLD, message, hint);
}

/* The line of the source, and a caret under the words that the diagnostic is about. */
static void add_excerpt(struct buf *out, const struct style *style, const struct diag *diag)
{
    const char *line = diag->source->text, *end = line + diag->source->size;
    for (uint32_t number = 1; number < diag->line && line < end; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t size = (size_t)((newline ? newline : end) - line);
    if (size && line[size - 1] == '\r')
        size--;
    size_t before = diag->column - 1 < size ? diag->column - 1 : size;
    size_t marked = diag->width < size - before ? diag->width : size - before;

    enum { MOST_SHOWN = 160 }; /* a line of a megabyte helps nobody */
    auto_buf struct buf ignored = {0};
    buf_add_str(out, "    ");
    text_add_printable(out, line, size < MOST_SHOWN ? size : MOST_SHOWN);
    buf_add_char(out, '\n');
    if (before >= MOST_SHOWN)
        return;
    for (size_t columns = 4 + text_add_printable(&ignored, line, before); columns; columns--)
        buf_add_char(out, ' ');
    size_t carets = text_add_printable(&ignored, line + before, marked);
    auto_buf struct buf caret = {0};
    do {
        buf_add_char(&caret, caret.size ? '~' : '^');
    } while (caret.size < carets && caret.size < MOST_SHOWN);
    style_add(style, out, COLOUR_GREEN, buf_text(&caret));
    buf_add_char(out, '\n');
}

/* "FILE:LINE:COLUMN: ", or "bawn: --read /x: " for the command line. */
static void add_place(struct buf *out, const struct style *style, const struct diag *diag)
{
    if (diag->line) {
        style_add_path(style, out, COLOUR_BOLD, diag->source->name);
        buf_printf(out, ":%u", diag->line);
        if (diag->column)
            buf_printf(out, ":%u", diag->column);
        buf_add_str(out, ": ");
        return;
    }
    style_add(style, out, COLOUR_RED, "bawn:");
    buf_add_char(out, ' ');
    if (diag->verb && diag->source->layer == LAYER_COMMAND_LINE) {
        buf_printf(out, "--%s ", verb_word(diag->verb));
        style_add(style, out, COLOUR_PLAIN, diag->written);
        buf_add_str(out, ": ");
    } else if (*diag->source->name == '/') {
        style_add_path(style, out, COLOUR_PLAIN, diag->source->name);
        buf_add_str(out, ": ");
    }
}

static void add_diag(struct buf *out, const struct style *style, const struct diag *diag)
{
    add_place(out, style, diag);
    if (diag->severity == SEVERITY_WARNING)
        style_add(style, out, COLOUR_YELLOW, "warning: ");
    style_add(style, out, COLOUR_PLAIN, diag->message);
    buf_add_char(out, '\n');
    if (diag->line && diag->source->text && diag->column)
        add_excerpt(out, style, diag);
    if (diag->hint) {
        buf_add_str(out, "    hint: ");
        style_add(style, out, COLOUR_PLAIN, diag->hint);
        buf_add_char(out, '\n');
    }
}

void report_add_diags(struct buf *out, const struct style *style, const struct diags *diags)
{
    for (size_t i = 0; i < diags->list.count; i++)
        add_diag(out, style, &diags->list.at[i]);
    if (diags->left_out)
        buf_printf(out, "bawn: %zu more of these are not shown.\n", diags->left_out);
}

const char *rule_text(struct arena *arena, const struct rule *rule)
{
    return arena_printf(arena, "%s%s %s%s%s", rule->locked ? "lock " : "", verb_word(rule->verb),
                        rule->written, rule->unless ? " unless " : "", rule->unless ? rule->unless : "");
}

const char *rule_place(const struct style *style, struct arena *arena, const struct rule *rule)
{
    const char *origin = style_path(style, arena, rule_origin(arena, rule));
    if (rule->line == 0)
        return origin;
    return arena_printf(arena, "%s (%s)", origin, layer_name(rule->source->layer));
}

const char *opened_decoy_text(struct arena *arena, const char *home, const struct fired *fired)
{
    struct style style = {.home = home};
    auto_buf struct buf out = {0};
    style_add_path(&style, &out, COLOUR_PLAIN, fired->path);
    buf_add_str(&out, " was opened");
    if (fired->times > 1)
        buf_printf(&out, " %zu times", fired->times);
    if (fired->process) {
        buf_add_str(&out, " by `");
        style_add(&style, &out, COLOUR_PLAIN, fired->process);
        buf_add_char(&out, '`');
    }
    return arena_str(arena, buf_text(&out));
}

size_t plan_count_hosts(const struct plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        bool is_new = operation->kind == OP_CONNECT;
        for (size_t j = 0; is_new && j < i; j++)
            is_new = plan->operations.at[j].kind != OP_CONNECT ||
                     strcmp(plan->operations.at[j].value, operation->value) != 0;
        count += is_new;
    }
    return count;
}

/* The workspaces as the user named them: of a repository, the directories of which `--workspace` made only these writable. */
static size_t count_named(const struct policy *policy)
{
    size_t count = 0;
    vec_each (const struct workspace, workspace, &policy->workspaces)
        count += workspace->parts.count ? workspace->parts.count : 1;
    return count;
}

void run_start_add(const struct plan *plan, const char *command, bool is_aside, struct buf *out)
{
    const struct policy *policy = plan->policy;
    const struct style style = {.home = policy->request.home};
    size_t named = count_named(policy), hosts = plan_count_hosts(plan);
    const char *name = path_name(command), *net = operations_net(&plan->operations);
    text_add_printable(out, name, strlen(name));
    buf_add_str(out, policy->request.read_only ? " may read "
                     : is_aside                ? " may write a copy of "
                                               : " may write ");
    style_add_path(&style, out, COLOUR_PLAIN, named ? policy_first_named(policy) : "nothing");
    if (named > 1)
        buf_printf(out, ", %zu more workspace%s", named - 1, named == 2 ? "" : "s");
    if (strcmp(net, "open") == 0)
        buf_add_str(out, " and reach every host");
    else if (strcmp(net, "off") == 0 || hosts == 0)
        buf_add_str(out, " and reach no host");
    else
        buf_printf(out, " and reach %zu host%s", hosts, hosts == 1 ? "" : "s");
    buf_add_str(out, " (bawn show)");
}

const char *leak_remark(const char *word)
{
    return strcmp(word, "off") == 0     ? "not searched for"
           : strcmp(word, "block") == 0 ? "reported and stopped"
                                        : "reported";
}
