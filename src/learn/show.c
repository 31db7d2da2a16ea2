#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "learn/learn.h"

/* "Wanted 3 times by node, which failed." */
static void add_wanted(const struct proposal *proposal, struct buf *out)
{
    bool is_named = proposal->verb == VERB_ENV;
    buf_printf(out, "%s %" PRIu64 " time%s", is_named ? "named" : "wanted", proposal->times,
               proposal->times == 1 ? "" : "s");
    if (*proposal->program) {
        buf_add_str(out, is_named ? " in " : " by ");
        text_add_printable(out, proposal->program, strlen(proposal->program));
    }
    buf_add_str(out, proposal->ending == WANT_FAILED    ? ", which failed"
                     : proposal->ending == WANT_WENT_ON ? ", which went on without it"
                                                        : "");
}

void proposal_add_text(const struct proposal *proposal, size_t number, const struct style *style,
                       struct buf *out)
{
    buf_printf(out, "  %2zu  ", number);
    bool is_path = !proposal->line && *proposal->object == '/';
    if (is_path)
        style_add_path(style, out, COLOUR_BOLD, proposal->object);
    else
        style_add(style, out, COLOUR_BOLD, proposal->line ? proposal->line : proposal->object);
    buf_add_str(out, "\n      ");
    if (proposal->gives && *proposal->gives) {
        style_add(style, out, COLOUR_PLAIN, proposal->gives);
        buf_add_str(out, "\n      ");
    }
    if (proposal->by_hand) {
        buf_add_str(out, "to give it anyway, write into your own policy file: ");
        style_add(style, out, COLOUR_PLAIN, proposal->by_hand);
        buf_add_str(out, "\n      ");
    }
    add_wanted(proposal, out);
    buf_add_char(out, '\n');
}

static const char *heading(enum proposal_class class)
{
    static const char *const headings[PROPOSAL_CLASS_COUNT] = {
        [PROPOSAL_NEEDED] = "Needed:",
        [PROPOSAL_WIDE] = "Wide: gives much more than was wanted, so it is written only if you pick it:",
        [PROPOSAL_WENT_ON] = "Wanted, but the programs went on without it:",
        [PROPOSAL_PROBE] = "Only looked for:",
        [PROPOSAL_NEVER] = "Asked for, not proposed:",
    };
    return headings[class];
}

void learnt_add_text(const struct learnt *learnt, const char *session, const struct style *style,
                     struct buf *out)
{
    enum proposal_class before = PROPOSAL_CLASS_COUNT;
    size_t number = 0;
    vec_each (const struct proposal, proposal, &learnt->list) {
        if (proposal->class != before) {
            buf_add_str(out, before == PROPOSAL_CLASS_COUNT ? "" : "\n");
            style_add(style, out, COLOUR_PLAIN, heading(proposal->class));
            buf_add_char(out, '\n');
        }
        before = proposal->class;
        proposal_add_text(proposal, ++number, style, out);
    }
    if (learnt->left_out)
        buf_printf(out, "\nNot checked: %" PRIu64 " further paths, which were too many to record.\n",
                   learnt->left_out);
    if (session && learnt_count(learnt, PROPOSAL_NEEDED))
        buf_printf(out, "\nWrite the needed lines: bawn learn --from %s --write user\n", session);
    if (!learnt_count(learnt, PROPOSAL_NEEDED) && !learnt_count(learnt, PROPOSAL_WIDE))
        buf_printf(out, "%sNothing to propose.\n", number ? "\n" : "");
}

void learnt_add_json(const struct learnt *learnt, const char *session, struct buf *out)
{
    struct json json = {.out = out, .on_one_line = true};
    json_open(&json, NULL, '{');
    json_str(&json, "schema", "bawn.learn");
    json_int(&json, "version", 1);
    json_str(&json, "session", session);
    json_int(&json, "left-out", (int64_t)learnt->left_out);
    json_open(&json, "proposals", '[');
    vec_each (const struct proposal, proposal, &learnt->list) {
        json_open(&json, NULL, '{');
        json_str(&json, "class", proposal_class_name(proposal->class));
        json_str(&json, "line", proposal->line);
        json_str(&json, "object", proposal->object);
        json_str(&json, proposal->line ? "gives" : "why", proposal->gives);
        json_str(&json, "by-hand", proposal->by_hand);
        json_str(&json, "program", proposal->program);
        json_str(&json, "ending", want_ending_name(proposal->ending));
        json_int(&json, "times", (int64_t)proposal->times);
        json_int(&json, "wanted", (int64_t)proposal->wanted);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* A text between double quotes, as a policy reads it. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (; *text; text++) {
        if ((unsigned char)*text >= ' ' && *text != 0x7f)
            buf_printf(out, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
    }
    buf_add_char(out, '"');
}

void learnt_add_profile(const struct learnt *learnt, const char *about, const char *match, struct buf *out)
{
    buf_add_str(out, "about ");
    add_quoted(out, about);
    buf_printf(out, "\nmatch %s\n", match);
    vec_each (const struct proposal, proposal, &learnt->list) {
        if (proposal->is_picked && proposal->line)
            buf_printf(out, "\n# %s.\n%s\n", proposal->gives ? proposal->gives : "", proposal->line);
    }
}
