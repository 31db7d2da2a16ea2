/* Does a single rule decide the object it was written for? */
#include "policy/decide.h"

static enum loss loss_of(const candidate_list *candidates, const struct rule *rule)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->at[i].rule == rule)
            return candidates->at[i].loss;
    }
    return LOSS_NONE;
}

/* A rule may have several places. LOSS_UNTRUSTED at one of them counts more than any other loss. */
static struct fate fate_of_path(const struct policy *policy, const struct rule *rule)
{
    struct fate fate = {0};
    for (const struct placed *placed = rule->places; placed; placed = placed->next_of_rule) {
        if (placed->has_wildcard)
            continue;
        auto_vec candidate_list candidates = {0};
        struct path_verdict verdict = decide_path(policy, placed->path, &candidates);
        enum loss loss = loss_of(&candidates, rule);
        if (fate.loss != LOSS_UNTRUSTED && loss != LOSS_NONE)
            fate = (struct fate){loss, access_of_rule(rule) < verdict.access};
    }
    return fate;
}

/* A refusal without a port covers every port that a rule connects to. */
static struct fate fate_of_host(const struct policy *policy, const struct rule *rule)
{
    struct fate fate = {0};
    for (size_t i = 0; i < policy->rules.count && fate.loss == LOSS_NONE; i++) {
        const struct rule *other = &policy->rules.at[i];
        bool concerns = other == rule || (rule->host.port == 0 && other->verb == VERB_CONNECT &&
                                          other->locked && host_covers(&other->host, &rule->host));
        uint16_t port = rule->host.port ? rule->host.port : other->host.port ? other->host.port : PORT_HTTPS;
        if (!concerns)
            continue;
        auto_vec candidate_list candidates = {0};
        struct verdict verdict = decide_host(policy, &rule->host, port, &candidates);
        fate = (struct fate){loss_of(&candidates, rule), amount_given(rule) < amount_given(verdict.decides)};
    }
    return fate;
}

struct fate rule_fate(const struct policy *policy, const struct rule *rule)
{
    auto_vec candidate_list candidates = {0};
    struct verdict verdict = {0};
    switch (verb_object(rule->verb)) {
    case OBJECT_PATH:
        return fate_of_path(policy, rule);
    case OBJECT_HOST:
        return fate_of_host(policy, rule);
    case OBJECT_ENV:
        verdict = decide_env(policy, rule->env.name, &candidates);
        break;
    case OBJECT_LIMIT:
        verdict = decide_limit(policy, rule->limit.limit, &candidates);
        break;
    case OBJECT_NET:
        verdict = decide_net(policy, &candidates);
        break;
    default:
        return (struct fate){0};
    }
    return (struct fate){loss_of(&candidates, rule), amount_given(rule) < amount_given(verdict.decides)};
}

bool rule_is_held_back(const struct policy *policy, const struct rule *rule)
{
    return rule->source->only_tightens &&
           (policy_rule_awaits_trust(rule) || rule_fate(policy, rule).loss == LOSS_UNTRUSTED);
}
