/* Arguments that an agent's profile adds to the command, line by line, unless the user gave them. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "plan/steps.h"
#include "policy/decide.h"

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
static bool has_no_place(const struct policy *policy, const char *word)
{
    const char *const *typed = policy->request.command + policy->agent_word + 1;
    if (!text_starts_with(word, "--"))
        return false;
    if (is_verb(*typed))
        return true;
    const char *flag = arena_copy(policy->arena, word, strcspn(word, "="));
    for (; *typed; typed++) {
        if (text_starts_with(*typed, flag))
            return true;
    }
    return false;
}

/*
 * The path of bawn for a program inside. NULL: there is none, because bawn is not visible inside or nobody could be asked
 * there. The path stands in the agents' own formats, so it must need no quoting in any of them.
 */
const char *plan_own_path(const struct policy *policy)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@";
    const struct fs_place *place = NULL;
    struct err ignored;
    const char *path = policy->request.own_path ? policy->request.own_path(policy->arena) : NULL;
    bool is_usable = path && !policy->request.full_access && strspn(path, plain) == strlen(path) &&
                     fs_resolve(policy->request.fs, path, &place, &ignored) == 0 &&
                     place->kind == FILE_REGULAR &&
                     decide_path(policy, place->real, NULL).access != ACCESS_NONE;
    return is_usable ? path : NULL;
}

const char *plan_own_name(const struct policy *policy)
{
    const char *path = plan_own_path(policy), *folders = text_variable(policy->request.environment, "PATH");
    bool is_found = false;
    for (const char *folder; path && (folder = path_next_folder(policy->arena, &folders));)
        is_found |= strcmp(path_join(policy->arena, folder, "bawn"), path) == 0;
    return is_found ? "bawn" : path;
}

const char *plan_tools_path(const struct policy *policy)
{
    return decide_switch(policy, VERB_MCP, true) ? plan_own_path(policy) : NULL;
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
        const char *word = rules->at[i].text;
        if ((strstr(word, "=" BRIEFING_VARIABLE) && is_set_by_user(plan, word)) ||
            (strstr(word, BAWN_VARIABLE) && !plan_tools_path(plan->policy)))
            return true;
    }
    return false;
}

const char *plan_with_tools(const struct policy *policy, const char *word)
{
    const char *variable = strstr(word, BAWN_VARIABLE);
    return variable ? arena_printf(policy->arena, "%.*s%s%s", (int)(variable - word), word,
                                   plan_tools_path(policy), variable + strlen(BAWN_VARIABLE))
                    : word;
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
            plan_add(plan, (struct operation){.kind = OP_ARGUMENT,
                                              .because = rule,
                                              .value = plan_with_tools(policy, rule->text)});
    }
}

bool plan_argument_informs(const struct plan *plan, const struct operation *argument)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_ARGUMENT && is_same_line(operation->because, argument->because) &&
            (strstr(operation->value, BRIEFING_VARIABLE) || strstr(operation->because->text, BAWN_VARIABLE)))
            return true;
    }
    return false;
}
