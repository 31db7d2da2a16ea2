/* Rules on requests, which the vault's front judges: the lines that it and the network helper get, and what the front tells. */
#include <string.h>

#include "base/text.h"
#include "policy/request.h"
#include "supervise/vault.h"

enum {
    MOST_REFUSED_REQUESTS = 4096
}; /* records of them: a front that was taken over must not fill the disk */

/* A rule as its line has it: every part was parsed, so none has a space but the one before the methods. */
static const char *object_of(struct arena *arena, const struct rule *rule)
{
    return rule->request ? request_text(arena, rule)
                         : host_with_port(arena, host_text(arena, &rule->host), rule->host.port);
}

/* Is it a host at which requests are judged, or a wildcard that covers one? */
static bool is_about_inspected(const struct plan *plan, const struct host_object *host)
{
    vec_each (const struct operation, operation, &plan->operations) {
        const struct host_object *inspected =
            operation->kind == OP_REQUEST ? &operation->because->host : NULL;
        if (inspected && (host_covers(inspected, host) || host_covers(host, inspected)))
            return true;
    }
    return false;
}

void judged_add_rules(const struct plan *plan, struct buf *lines)
{
    struct arena *arena = plan->policy->arena;
    vec_each (const struct rule, rule, &plan->policy->rules) {
        if (verb_object(rule->verb) != OBJECT_HOST || !policy_rule_counts(plan->policy, rule) ||
            !is_about_inspected(plan, &rule->host))
            continue;
        const char *place = rule_origin(arena, rule);
        buf_printf(lines, "rule %d %d %s %s\t", rule->source->layer, rule->locked, verb_word(rule->verb),
                   object_of(arena, rule));
        text_add_printable(lines, place, strlen(place));
        buf_add_char(lines, '\n');
    }
}

void judged_add_hosts(const struct plan *plan, struct buf *lines)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_REQUEST)
            continue;
        buf_printf(lines, "inspect %s:%u\n", operation->value, operation->port);
        if (operation->port == PORT_HTTPS) /* the same paths without TLS */
            buf_printf(lines, "inspect %s:%d\n", operation->value, PORT_HTTP);
    }
}

void judged_note_refused(struct vault *vault, char *rest)
{
    const char *host = strsep(&rest, " "), *port = rest ? strsep(&rest, " ") : NULL;
    if (!port || !rest || vault->refused_requests > MOST_REFUSED_REQUESTS)
        return;
    if (vault->refused_requests++ == MOST_REFUSED_REQUESTS) {
        judged_note_untold(vault);
        return;
    }
    journal_event(vault->journal, "refused", "host", host, "port", port, "why", rest);
    if (vault->refused)
        vault->refused(vault->refused_self, host, port, rest);
}

void judged_note_untold(struct vault *vault)
{
    if (!vault->has_untold)
        journal_event(vault->journal, "network-trouble", "why",
                      "too many requests were refused: not all are recorded");
    vault->has_untold = true;
}
