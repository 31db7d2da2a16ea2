/* Indexes rules on hosts, variables, secrets, limits and the network mode, so that thousands of rules stay fast. */
#include <string.h>

#include "policy/compose.h"

static void index_host(struct policy *policy, const struct rule *rule)
{
    struct host_rule *entry = arena_new(policy->arena, struct host_rule);
    entry->rule = rule;
    struct host_rule **chain = &policy->by_address;
    if (rule->host.kind != HOST_ADDRESS) {
        const char *key = host_text(policy->arena, &rule->host);
        chain = (struct host_rule **)map_at(&policy->by_host, key, strlen(key));
    }
    entry->next = *chain;
    *chain = entry;
}

void limit_resolve_share(const struct policy *policy, struct rule *rule)
{
    const uint64_t mebibyte = 1u << 20;
    if (rule->verb != VERB_LIMIT || !rule->limit.share)
        return;
    uint64_t share = policy->request.memory / mebibyte * rule->limit.share / 100;
    rule->limit.most = (share ? share : 1) * mebibyte;
}

void index_rules(struct policy *policy)
{
    vec_each (struct rule, rule, &policy->rules) {
        limit_resolve_share(policy, rule);
        if (!policy_rule_counts(policy, rule))
            continue;
        if (rule->verb == VERB_SECRET || rule->verb == VERB_SECRETS)
            vec_push(&policy->secret_rules, rule);
        switch (verb_object(rule->verb)) {
        case OBJECT_HOST:
            index_host(policy, rule);
            break;
        case OBJECT_ENV:
            vec_push(&policy->env_rules, rule);
            break;
        case OBJECT_LIMIT:
        case OBJECT_NET:
            vec_push(&policy->other_rules, rule);
            break;
        default:
            break;
        }
    }
}
