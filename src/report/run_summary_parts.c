#include "report/run_summary_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "policy/decide.h"

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

const char *summary_allow_command(const struct run_summary *summary, const struct refused_host *refused)
{
    const struct policy *policy = summary->plan->policy;
    struct arena *arena = policy->arena;
    const char *object = summary_refused(arena, refused), *problem = NULL, *hint = NULL;
    struct host_object host;
    if (summary_count_alarms(summary) || !*refused->host || !strstr(refused->sentence, "is not on the list"))
        return NULL;
    /* The sandbox chose the text: it may be an option and not a host, and a person will type it. */
    if (host_parse(arena, object, &host, &problem, &hint) < 0)
        return NULL;
    const struct rule *rule = decide_host(policy, &host, host.port ? host.port : PORT_HTTPS, NULL).decides;
    if (rule && rule->verb == VERB_REFUSE)
        return NULL;
    auto_buf struct buf printable = {0};
    text_add_printable(&printable, object, strlen(object));
    return arena_printf(arena, "bawn --connect %s CMD", buf_text(&printable));
}

size_t summary_count_alarms(const struct run_summary *summary)
{
    return summary->fired->count + summary->misused->count + summary->leaked->count +
           summary->refused_keys->count;
}
