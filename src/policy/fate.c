/* What becomes of a single rule: whether it decides where it was written for. */
#include "policy/decide.h"

static enum loss loss_of(const candidate_list *candidates, const struct rule *rule)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->at[i].rule == rule)
            return candidates->at[i].loss;
    }
    return LOSS_NONE;
}

/* A rule may have several places: one where the user's word is asked for counts more than any other loss. */
static struct fate fate_of_path(const struct policy *policy, const struct rule *rule)
{
    struct fate fate = {0};
    for (const struct placed *placed = rule->places; placed; placed = placed->next_of_rule) {
        if (placed->has_wildcard)
            continue;
        candidate_list candidates = {0};
        struct path_verdict verdict = decide_path(policy, placed->path, &candidates);
        enum loss loss = loss_of(&candidates, rule);
        vec_free(&candidates);
        if (fate.loss != LOSS_UNTRUSTED && loss != LOSS_NONE)
            fate = (struct fate){loss, access_of_rule(rule) < verdict.access};
    }
    return fate;
}

struct fate rule_fate(const struct policy *policy, const struct rule *rule)
{
    candidate_list candidates = {0};
    struct verdict verdict = {0};
    switch (verb_object(rule->verb)) {
    case OBJECT_PATH:
        return fate_of_path(policy, rule);
    case OBJECT_HOST:
        verdict =
            decide_host(policy, &rule->host, rule->host.port ? rule->host.port : PORT_HTTPS, &candidates);
        break;
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
    struct fate fate = {loss_of(&candidates, rule), amount_given(rule) < amount_given(verdict.decides)};
    vec_free(&candidates);
    return fate;
}

bool rule_is_held_back(const struct policy *policy, const struct rule *rule)
{
    return rule->source->only_tightens &&
           (policy_rule_awaits_trust(rule) || rule_fate(policy, rule).loss == LOSS_UNTRUSTED);
}
