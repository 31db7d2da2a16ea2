/* Operations without a path: the network, the environment, limits. */
#include <string.h>

#include "base/text.h"
#include "plan/steps.h"
#include "policy/compose.h"
#include "policy/decide.h"

static void add_host(struct plan *plan, const struct rule *rule, uint16_t port)
{
    if (decide_host(plan->policy, &rule->host, port, NULL).decides != rule)
        return;
    struct operation operation = {
        .kind = rule->verb == VERB_CONNECT ? OP_CONNECT : OP_REFUSE,
        .because = rule,
        .value = host_text(plan->policy->arena, &rule->host),
        .port = port,
    };
    if (operation.kind == OP_CONNECT && rule->host.kind == HOST_ADDRESS) {
        operation.listening = endpoint_of_network(rule->host.address, rule->host.prefix, port);
        operation.is_network = rule->host.prefix < 128;
    }
    plan_add(plan, operation);
}

/* A refusal without a port refuses every port that a rule connects to. */
static void add_refusals(struct plan *plan, const struct rule *refuse)
{
    auto_vec VEC(uint16_t) ports = {0};
    vec_each (const struct rule, rule, &plan->policy->rules) {
        if (rule->verb != VERB_CONNECT || !policy_rule_counts(plan->policy, rule) ||
            !(host_covers(&rule->host, &refuse->host) || host_may_lead_to(&rule->host, &refuse->host)))
            continue;
        bool is_known = false;
        for (size_t j = 0; j < ports.count; j++)
            is_known |= ports.at[j] == rule->host.port;
        if (!is_known)
            vec_push(&ports, rule->host.port);
    }
    for (size_t i = 0; i < ports.count; i++)
        add_host(plan, refuse, ports.at[i]);
}

void plan_add_network(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const struct rule *net = decide_net(policy, NULL).decides;
    enum net_mode mode = net ? net->net : NET_ALLOW;
    plan_add(plan, (struct operation){.kind = OP_NET, .because = net, .value = net_mode_name(mode)});
    vec_each (const struct rule, rule, &policy->rules) {
        if (!policy_rule_counts(policy, rule))
            continue;
        bool is_host = verb_object(rule->verb) == OBJECT_HOST && mode == NET_ALLOW;
        if (is_host && rule->host.port)
            add_host(plan, rule, rule->host.port);
        else if (is_host)
            add_refusals(plan, rule);
        else if (verb_object(rule->verb) == OBJECT_PORT)
            plan_add(plan, (struct operation){
                               .kind = rule->verb == VERB_PUBLISH ? OP_PUBLISH : OP_HOST_PORT,
                               .because = rule,
                               .port = rule->port.inside,
                               .host_port = rule->port.host,
                           });
    }
}

void plan_add_environment(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    for (const char *const *entry = policy->request.environment; entry && *entry; entry++) {
        const char *name = arena_copy(policy->arena, *entry, strcspn(*entry, "="));
        const struct rule *rule = decide_env(policy, name, NULL).decides;
        if (rule && rule->verb == VERB_ENV && (!rule->env.value || rule->env.is_default))
            plan_add(plan, (struct operation){.kind = OP_ENV_PASS, .because = rule, .name = name});
    }
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_ENV || !rule->env.value ||
            decide_env(policy, rule->env.name, NULL).decides != rule ||
            (rule->env.is_default && text_variable(policy->request.environment, rule->env.name)))
            continue;
        plan_add(plan, (struct operation){
                           .kind = OP_ENV_SET,
                           .because = rule,
                           .name = rule->env.name,
                           .value = expand_value(policy, rule->env.value),
                       });
    }
}

static enum limit_means means_of(const struct plan *plan, enum limit limit)
{
    switch (limit) {
    case LIMIT_MEMORY:
        return plan->request.cgroup_memory ? HELD_BY_CGROUP : HELD_BY_OOM_SCORE;
    case LIMIT_PIDS:
        /* With full access, processes of the machine's root are not counted. */
        return plan->request.cgroup_pids                                    ? HELD_BY_CGROUP
               : plan->request.is_root && plan->policy->request.full_access ? HELD_BY_NOTHING
                                                                            : HELD_BY_RLIMIT;
    case LIMIT_FILES:
        return HELD_BY_RLIMIT;
    case LIMIT_TIME:
        return HELD_BY_SUPERVISOR;
    default:
        return HELD_BY_NOTHING;
    }
}

void plan_add_limits(struct plan *plan)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const struct rule *rule = decide_limit(plan->policy, limit, NULL).decides;
        if (rule)
            plan_add(plan,
                     (struct operation){.kind = OP_LIMIT,
                                        .because = rule,
                                        .name = limit_name(limit),
                                        .amount = rule->limit.most,
                                        .held_by = rule->limit.most == UINT64_MAX ? HELD_BY_NOTHING
                                                                                  : means_of(plan, limit)});
    }
}

void plan_add_artifacts(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_ARTIFACTS && policy_rule_counts(policy, rule))
            plan_add(plan, (struct operation){.kind = OP_ARTIFACTS, .because = rule, .name = rule->text});
    }
}
