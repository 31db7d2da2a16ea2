#include "broker/warning.h"

#include <string.h>

#include "base/text.h"
#include "policy/classes.h"

/* Do the names differ by one letter: another one, one more, one less, or two that changed places? */
static bool differ_by_one(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    a += same;
    b += same;
    if (!*a && !*b)
        return false;
    bool is_swapped = *a && *b && a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0;
    return is_swapped || (*a && *b && strcmp(a + 1, b + 1) == 0) || (*a && strcmp(a + 1, b) == 0) ||
           (*b && strcmp(a, b + 1) == 0);
}

/* The allowed host that the name could be taken for, or NULL. */
static const struct host_object *lookalike(const struct policy *policy, const char *name)
{
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_CONNECT && rule->host.kind != HOST_ADDRESS &&
            policy_rule_counts(policy, rule) && differ_by_one(rule->host.name, name))
            return &rule->host;
    }
    return NULL;
}

const char *warning_of_host(struct arena *arena, const struct policy *policy, const struct host_object *host)
{
    if (host->kind == HOST_ADDRESS) {
        struct endpoint address = endpoint_of_network(host->address, host->prefix, 0);
        return address_classify(&address) == ADDRESS_PUBLIC
                   ? "this is an address, not a name: nothing says whose it is"
                   : "the address is one of your own network or of this machine's provider";
    }
    if (text_starts_with(host->name, "xn--") || strstr(host->name, ".xn--"))
        return "the name has letters of another alphabet, which can look like others";
    const struct host_object *like = lookalike(policy, host->name);
    return like ? arena_printf(arena, "the name differs by one letter from %s, which is allowed", like->name)
                : "";
}
