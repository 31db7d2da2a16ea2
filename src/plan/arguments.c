/* Arguments that an agent's profile adds to the command, line by line, unless the user gave them. */
#include <string.h>

#include "base/text.h"
#include "plan/steps.h"

static bool is_same_line(const struct rule *one, const struct rule *other)
{
    return one->source == other->source && one->line == other->line;
}

/* "mcp", "login": one of the agent's own verbs. Not every agent takes a flag before it. */
static bool is_verb(const char *word)
{
    return word && *word && strspn(word, "abcdefghijklmnopqrstuvwxyz-") == strlen(word) && *word != '-';
}

/* Is a long flag already in what was typed ("--flag", "--flag=value", or a flag that begins with it)? */
static bool has_no_place(const struct policy *policy, const char *flag)
{
    const char *const *typed = policy->request.command + policy->agent_word + 1;
    if (!text_starts_with(flag, "--"))
        return false;
    if (is_verb(*typed))
        return true;
    for (const char *const *word = typed; *word; word++) {
        if (text_starts_with(*word, flag))
            return true;
    }
    return false;
}

/* Of "key=$BRIEFING": does a settings file that is copied have a value for the key? */
static bool is_set_by_user(const struct plan *plan, const char *word)
{
    enum { SETTINGS_LARGEST = 1024 * 1024 };
    const struct policy *policy = plan->policy;
    const char *key = arena_copy(policy->arena, word, strcspn(word, "="));
    vec_each (const struct operation, operation, &plan->operations) {
        char *text = NULL;
        size_t size = 0;
        struct err ignored;
        if (operation->kind == OP_COPY && !operation->is_directory &&
            fs_read(policy->request.fs, operation->source, SETTINGS_LARGEST, &text, &size, &ignored) > 0 &&
            memmem(text, size, key, strlen(key)))
            return true;
    }
    return false;
}

/* Is the line that begins with this word left out: the user told the agent otherwise, or the agent would ignore it? */
static bool is_left_out(const struct plan *plan, size_t first)
{
    const rule_list *rules = &plan->policy->rules;
    if (has_no_place(plan->policy, rules->at[first].text))
        return true;
    for (size_t i = first; i < rules->count && is_same_line(&rules->at[i], &rules->at[first]); i++) {
        if (strstr(rules->at[i].text, "=" BRIEFING_VARIABLE) && is_set_by_user(plan, rules->at[i].text))
            return true;
    }
    return false;
}

void plan_add_arguments(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const struct rule *line = NULL;
    bool is_wanted = false;
    bool is_agent =
        policy->agent && policy->agent_word != AGENT_UNSEEN; /* not a command that just uses its profile */
    for (size_t i = 0; is_agent && i < policy->rules.count; i++) {
        const struct rule *rule = &policy->rules.at[i];
        if (rule->verb != VERB_ARGUMENT || rule->source->layer != LAYER_AGENT ||
            !policy_rule_counts(policy, rule))
            continue;
        if (!line || !is_same_line(line, rule))
            is_wanted = !is_left_out(plan, i);
        line = rule;
        if (is_wanted)
            plan_add(plan, (struct operation){.kind = OP_ARGUMENT, .because = rule, .value = rule->text});
    }
}

bool plan_argument_briefs(const struct plan *plan, const struct operation *argument)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_ARGUMENT && is_same_line(operation->because, argument->because) &&
            strstr(operation->value, BRIEFING_VARIABLE))
            return true;
    }
    return false;
}
