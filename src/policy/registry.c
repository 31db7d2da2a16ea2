/*
 * Which package registry a host belongs to. A registry has several hosts, an index and one for files, and one of them alone is of no use: who is
 * refused the first is told of the profile that has all.
 */
#include <string.h>

#include "base/text.h"
#include "policy/builtin.h"
#include "policy/profile.h"

static bool has_host(const struct builtin_profile *profile, const char *host)
{
    static const struct source shipped = {.layer = LAYER_PROFILE, .asked_by = LAYER_PROFILE};
    for (size_t i = 0; i < profile->rule_count; i++) {
        if (profile->rules[i].verb != VERB_CONNECT)
            continue;
        const struct rule rule = builtin_rule_of(&shipped, &profile->rules[i]);
        if (rule.host.kind == HOST_NAME && strcmp(rule.host.name, host) == 0)
            return true;
    }
    return false;
}

static bool is_used_by_a_toolchain(const char *name)
{
    for (size_t i = 0; i < builtin_profile_count; i++) {
        const struct builtin_profile *profile = &builtin_profiles[i];
        for (size_t j = 0; text_starts_with(profile->name, "toolchain/") && j < profile->rule_count; j++) {
            if (profile->rules[j].verb == VERB_USE &&
                strcmp(builtin_texts + profile->rules[j].text, name) == 0)
                return true;
        }
    }
    return false;
}

const char *profile_of_registry(const char *host)
{
    for (size_t i = 0; i < builtin_profile_count; i++) {
        const struct builtin_profile *profile = &builtin_profiles[i];
        if (text_starts_with(profile->name, "net/") && has_host(profile, host) &&
            is_used_by_a_toolchain(profile->name))
            return profile->name;
    }
    return NULL;
}
