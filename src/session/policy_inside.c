#include "session/run_parts.h"

#include <string.h>

/* A double-quoted word, in which no character is special. */
static void add_quoted(struct buf *out, const char *word)
{
    buf_add_char(out, '"');
    for (; *word; word++) {
        if ((unsigned char)*word < ' ' || *word == 0x7f)
            buf_printf(out, "\\x%02x", (unsigned char)*word);
        else
            buf_printf(out, "%s%c", strchr("\"\\", *word) ? "\\" : "", *word);
    }
    buf_add_char(out, '"');
}

/* Paths are written as they were resolved, other objects as they were typed. */
static void add_rule(struct buf *out, const struct rule *rule)
{
    bool is_placed = false;
    for (const struct placed *placed = rule->places; placed; placed = placed->next_of_rule) {
        if (placed->has_wildcard)
            continue;
        is_placed = true;
        buf_printf(out, "%s ", verb_word(rule->verb));
        add_quoted(out, placed->path);
        buf_add_char(out, '\n');
    }
    if (is_placed)
        return;
    buf_printf(out, "%s ", verb_word(rule->verb));
    if (!rule->request &&
        strpbrk(rule->written, " \t\n\"'\\#")) /* one with a path has methods as a second word */
        add_quoted(out, rule->written);
    else
        buf_add_str(out, rule->written);
    buf_add_char(out, '\n');
}

static bool is_told_inside(const struct rule *rule)
{
    enum layer layer = rule->source->layer;
    bool is_own = layer == LAYER_ADMIN || layer == LAYER_USER || layer == LAYER_COMMAND_LINE;
    static const enum verb verbs[] = {VERB_READ,    VERB_WRITE,     VERB_HIDE,    VERB_SEAL,   VERB_FREEZE,
                                      VERB_FLAG,    VERB_SOCKET,    VERB_CONNECT, VERB_REFUSE, VERB_NET,
                                      VERB_PUBLISH, VERB_HOST_PORT, VERB_ENV,     VERB_UNSET,  VERB_LIMIT};
    bool counts = false;
    for (size_t i = 0; i < array_len(verbs); i++)
        counts |= rule->verb == verbs[i];
    return is_own && counts && !rule->source->is_profile && !rule->unless;
}

const char *policy_for_inside(const struct loaded *loaded)
{
    const struct policy *policy = &loaded->policy;
    auto_buf struct buf out = {0};
    if (policy->agent)
        buf_printf(&out, "use %s\n", policy->agent);
    for (size_t i = 0; i < policy->rules.count; i++) {
        if (is_told_inside(&policy->rules.at[i]))
            add_rule(&out, &policy->rules.at[i]);
    }
    return arena_printf(policy->arena, "# Made by bawn: the rules besides the profiles.\n%s", buf_text(&out));
}
