/* Keys of the user's ssh agent: operations, and the variable that leads ssh to the socket inside. */
#include <string.h>

#include "base/text.h"
#include "plan/steps.h"
#include "policy/decide.h"
#include "policy/ssh_key.h"

static const char socket_variable[] = "SSH_AUTH_SOCK";

/* Why rules about keys cannot be carried out here; NULL: they can. */
static const char *why_not(const struct policy *policy)
{
    const struct rule *net = decide_net(policy, NULL).decides;
    if (policy->request.full_access)
        return "with --full-access programs use your ssh agent directly";
    if (net && net->net == NET_OFF)
        return "the network is off";
    if (!text_variable(policy->request.environment, socket_variable))
        return "no ssh agent runs outside (SSH_AUTH_SOCK is not set); bawn never reads a private key. "
               "Start ssh-agent, and ssh-add the key";
    return NULL;
}

static bool is_in_force(const struct policy *policy, const struct rule *rule)
{
    return rule->verb == VERB_SSH_KEY && decide_ssh_key_counts(policy, rule) && !why_not(policy);
}

bool plan_ssh_key_sets(const struct plan *plan, const char *name)
{
    if (strcmp(name, socket_variable) != 0)
        return false;
    vec_each (const struct rule, rule, &plan->policy->rules) {
        if (is_in_force(plan->policy, rule))
            return true;
    }
    return false;
}

void plan_add_ssh_keys(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    bool is_first = true;
    vec_each (const struct rule, rule, &policy->rules) {
        if (!is_in_force(policy, rule))
            continue;
        if (is_first)
            plan_add(plan, (struct operation){.kind = OP_ENV_SET,
                                              .because = rule,
                                              .name = socket_variable,
                                              .value = SSH_AGENT_INSIDE});
        is_first = false;
        plan_add(plan, (struct operation){.kind = OP_SSH_KEY,
                                          .because = rule,
                                          .name = rule->ssh_key->key,
                                          .value = ssh_key_rights(policy->arena, rule->ssh_key)});
    }
}

static void note(struct plan *plan, const struct rule *rule, const char *text)
{
    vec_push(&plan->notes, (struct note){.about = rule, .text = text});
}

/* A host that the key is for, and that no program inside can reach. */
static void note_unreached(struct plan *plan, const struct rule *rule)
{
    const struct policy *policy = plan->policy;
    struct arena *arena = policy->arena;
    const struct rule *net = decide_net(policy, NULL).decides;
    if (net && net->net == NET_OPEN)
        return;
    for (size_t i = 0; i < rule->ssh_key->host_count; i++) {
        const struct host_object *host = &rule->ssh_key->hosts[i];
        const struct rule *decides = decide_host(policy, host, host->port, NULL).decides;
        const char *name = host_with_port(arena, host_text(arena, host), host->port);
        if ((!decides || decides->verb != VERB_CONNECT) && !host_is_loopback(host))
            note(plan, rule,
                 arena_printf(
                     arena, "the key %s is for %s, which no rule lets the command reach (--connect %s does)",
                     rule->ssh_key->key, name, name));
    }
}

void plan_note_ssh_keys(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    struct arena *arena = policy->arena;
    bool is_any = false;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_SSH_KEY || !policy_rule_counts(policy, rule))
            continue;
        const char *why = !decide_ssh_key_counts(policy, rule)
                              ? "the administrator has locked which keys are used"
                              : why_not(policy);
        if (why)
            note(plan, rule,
                 arena_printf(arena, "the rule for the key %s does nothing: %s", rule->ssh_key->key, why));
        else
            note_unreached(plan, rule);
        is_any |= !why;
    }
    if (is_any && fs_has_name(&policy->profiles_in_use, "service/ssh-agent"))
        note(plan, NULL, "service/ssh-agent opens your whole ssh agent, whatever `ssh-key` rules say");
}
