#include "report/run_summary_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "policy/decide.h"
#include "policy/profile.h"
#include "policy/ssh_key.h"

const char *summary_elapsed(const struct run_summary *summary)
{
    uint64_t seconds = summary->milliseconds / 1000;
    struct arena *arena = summary->plan->policy->arena;
    if (seconds < 10)
        return arena_printf(arena, "%" PRIu64 ".%" PRIu64 " s", seconds, summary->milliseconds % 1000 / 100);
    if (seconds < 60)
        return arena_printf(arena, "%" PRIu64 " s", seconds);
    if (seconds < 3600)
        return arena_printf(arena, "%" PRIu64 " m %" PRIu64 " s", seconds / 60, seconds % 60);
    return arena_printf(arena, "%" PRIu64 " h %" PRIu64 " m", seconds / 3600, seconds % 3600 / 60);
}

const char *summary_refused(struct arena *arena, const struct refused_host *refused)
{
    bool is_plain = refused->port == 0 || refused->port == PORT_HTTPS;
    return is_plain ? refused->host : host_with_port(arena, refused->host, refused->port);
}

/* Whether a rule on the host would help, and the host as it would be typed in one. */
static bool may_be_opened(const struct run_summary *summary, const struct refused_host *refused,
                          struct host_object *ret_host)
{
    const struct policy *policy = summary->plan->policy;
    const char *problem = NULL, *hint = NULL;
    if (!*refused->host || !strstr(refused->sentence, "is not on the list"))
        return false;
    /* The sandbox chose the text: it may be an option and not a host, and a person will type it. */
    if (host_parse(policy->arena, summary_refused(policy->arena, refused), ret_host, &problem, &hint) < 0)
        return false;
    const struct rule *rule =
        decide_host(policy, ret_host, ret_host->port ? ret_host->port : PORT_HTTPS, NULL).decides;
    return !rule || rule->verb != VERB_REFUSE;
}

static void add_offer(struct summary_offer *offers, size_t *count, const char *command, const char *what)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(offers[i].command, command) == 0)
            return;
    }
    if (*count < SUMMARY_MOST_OFFERED)
        offers[(*count)++] = (struct summary_offer){command, what};
}

size_t summary_offers(const struct run_summary *summary,
                      struct summary_offer ret_offers[SUMMARY_MOST_OFFERED])
{
    struct arena *arena = summary->plan->policy->arena;
    size_t count = 0;
    for (size_t i = 0; !summary_count_alarms(summary) && i < summary->refused->count; i++) {
        const struct refused_host *refused = &summary->refused->at[i];
        struct host_object host;
        if (!may_be_opened(summary, refused, &host))
            continue;
        bool is_https = !host.port || host.port == PORT_HTTPS;
        const char *registry = host.kind == HOST_NAME && is_https ? profile_of_registry(host.name) : NULL;
        auto_buf struct buf printable = {0};
        const char *object = summary_refused(arena, refused);
        text_add_printable(&printable, object, strlen(object));
        if (host.kind == HOST_NAME && host.port == SSH_PORT)
            add_offer(ret_offers, &count,
                      arena_printf(arena, "bawn --forge '%s/OWNER/REPO fetch' CMD", host.name),
                      "if git asked: your keys stay outside");
        if (registry)
            add_offer(ret_offers, &count, arena_printf(arena, "bawn --use %s CMD", registry),
                      "for one run: all hosts of this registry");
        else
            add_offer(ret_offers, &count, arena_printf(arena, "bawn --connect %s CMD", buf_text(&printable)),
                      "for one run");
    }
    return count;
}

size_t summary_count_alarms(const struct run_summary *summary)
{
    return summary->fired->count + summary->misused->count + summary->leaked->count +
           summary->refused_keys->count;
}
