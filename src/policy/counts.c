/* Which rules count. */
#include "policy/policy.h"

static bool may_tighten(enum verb verb)
{
    switch (verb) {
    case VERB_READ: /* takes away: it makes a writable path read-only */
    case VERB_HIDE:
    case VERB_SEAL:
    case VERB_FREEZE:
    case VERB_FLAG:
    case VERB_REFUSE:
    case VERB_UNSET:
    case VERB_GUARD:
    case VERB_LIMIT:
    case VERB_NET:
    case VERB_REQUIRE:
    case VERB_USE:
    case VERB_ABOUT:
    case VERB_MATCH:
    case VERB_DETECT:
        return true;
    default:
        return false;
    }
}

bool policy_rule_awaits_trust(const struct rule *rule)
{
    return rule->source->only_tightens && !may_tighten(rule->verb);
}

bool policy_rule_counts(const struct policy *policy, const struct rule *rule)
{
    return !policy_rule_awaits_trust(rule) &&
           !(rule->source->without_network && rule->verb == VERB_CONNECT) &&
           !(rule->unless && fs_has_name(&policy->profiles_in_use, rule->unless));
}
