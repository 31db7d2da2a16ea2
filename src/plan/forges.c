/* Repositories on servers: operations, and the variables that lead git to bawn. */
#include <string.h>

#include "base/text.h"
#include "plan/steps.h"
#include "policy/decide.h"
#include "policy/forge.h"
#include "policy/request.h"

static const char command_variable[] = "GIT_SSH_COMMAND", variant_variable[] = "GIT_SSH_VARIANT";

/* ssh outside would reach the host past the rules on hosts. With a token the rule is a `connect`, which such a lock beats. */
static bool is_locked_out(const struct policy *policy, const struct rule *rule)
{
    const struct host_object host = {
        .kind = HOST_NAME, .name = rule->forge->host, .port = forge_ssh_port(rule->forge)};
    return !rule->forge->token && rule->source->layer != LAYER_ADMIN && decide_host_lock(policy, &host);
}

/* Why the rule about a forge cannot be carried out here; NULL: it can. */
static const char *why_not(const struct policy *policy, const struct rule *rule)
{
    const struct rule *net = decide_net(policy, NULL).decides;
    if (policy->request.full_access)
        return "with --full-access git uses your keys directly";
    if (net && net->net == NET_OFF)
        return "the network is off";
    if (rule->forge->token)
        return net && net->net != NET_ALLOW ? "only `net allow` has a place where the token is added" : NULL;
    if (is_locked_out(policy, rule))
        return "the administrator refuses its host";
    if (!plan_own_path(policy))
        return "bawn itself is not visible inside, and git needs it there";
    return NULL;
}

bool plan_forge_sets(const struct plan *plan, const char *name)
{
    if (strcmp(name, command_variable) != 0 && strcmp(name, variant_variable) != 0 &&
        strcmp(name, "GIT_SSH") != 0)
        return false;
    vec_each (const struct rule, rule, &plan->policy->rules) {
        if (rule->verb == VERB_FORGE && !rule->forge->token && decide_forge_counts(plan->policy, rule) &&
            !why_not(plan->policy, rule))
            return true;
    }
    return false;
}

static void set_variable(struct plan *plan, const struct rule *rule, const char *name, const char *value)
{
    plan_add(plan, (struct operation){.kind = OP_ENV_SET, .because = rule, .name = name, .value = value});
}

void plan_add_forges(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    bool is_first = true;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_FORGE || !decide_forge_counts(policy, rule) || why_not(policy, rule))
            continue;
        if (is_first && !rule->forge->token) {
            set_variable(plan, rule, command_variable,
                         arena_printf(policy->arena, "%s git-ssh --", plan_own_path(policy)));
            set_variable(plan, rule, variant_variable, "ssh");
        }
        is_first &= rule->forge->token != NULL;
        plan_add(plan, (struct operation){.kind = OP_FORGE,
                                          .because = rule,
                                          .name = forge_place(policy->arena, rule->forge),
                                          .value = forge_rights(policy->arena, rule->forge)});
    }
}

/* One note for each host of a file: its rules with {forge} have the same reason. */
static void note_without_forge(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const struct rule *last = NULL;
    vec_each (const struct rule, rule, &policy->without_forge) {
        if (!policy_rule_counts(policy, rule) ||
            (last && last->source == rule->source && strcmp(last->host.name, rule->host.name) == 0))
            continue;
        last = rule;
        const char *why = rule->source->asked_by == LAYER_REPOSITORY
                              ? "a repository cannot say what is done with your tokens"
                              : "no `forge` rule with a token names a repository at this server";
        vec_push(&plan->notes, (struct note){.about = rule,
                                             .text = arena_printf(policy->arena,
                                                                  "rules of %s with " REQUEST_FORGE
                                                                  " for %s do nothing: %s",
                                                                  rule->source->name, rule->host.name, why)});
    }
}

void plan_note_forges(struct plan *plan)
{
    note_without_forge(plan);
    const struct policy *policy = plan->policy;
    struct arena *arena = policy->arena;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_FORGE || !policy_rule_counts(policy, rule))
            continue;
        const char *why = !decide_forge_counts(policy, rule)
                              ? "the administrator has locked what is done with this repository"
                              : why_not(policy, rule);
        if (why)
            vec_push(&plan->notes,
                     (struct note){.about = rule,
                                   .text = arena_printf(arena, "the rule for %s does nothing: %s",
                                                        forge_place(arena, rule->forge), why)});
    }
}
