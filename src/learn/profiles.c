/*
 * Finds the profile that would grant what was wanted. A toolchain's directory is better granted by its profile, which leaves the secrets
 * beside it out. Profiles of agents are not searched: they open another agent's own files.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "learn/parts.h"
#include "policy/parse.h"

enum { HOSTS_FROM = 2 }; /* a single host is named itself: a profile of hosts gives more */

static bool is_searched(const char *name)
{
    return text_starts_with(name, "toolchain/") || text_starts_with(name, "service/") ||
           text_starts_with(name, "net/");
}

static bool is_in_use(const struct policy *policy, const char *name)
{
    return fs_has_name(&policy->profiles_in_use, name);
}

static bool grants_path(const struct policy *policy, struct arena *arena, const struct rule *rule,
                        const struct proposal *proposal)
{
    bool is_read = rule->verb == VERB_READ || rule->verb == VERB_COPY || rule->verb == VERB_SEED;
    bool fits = proposal->verb == VERB_READ     ? is_read || rule->verb == VERB_WRITE
                : proposal->verb == VERB_SOCKET ? rule->verb == VERB_SOCKET
                                                : rule->verb == proposal->verb;
    if (!fits || rule->path.has_wildcard || rule->path.start == START_RELATIVE || rule->unless)
        return false;
    const char *start = rule->path.start == START_ROOT ? "/" : policy->request.starts[rule->path.start];
    return start &&
           path_is_beneath(proposal->object, path_clean(arena, start, word_plain(arena, rule->path.pattern)));
}

static bool grants(const struct policy *policy, struct arena *arena, const struct rule *rule,
                   const struct proposal *proposal)
{
    if (verb_object(proposal->verb) == OBJECT_PATH)
        return verb_object(rule->verb) == OBJECT_PATH && grants_path(policy, arena, rule, proposal);
    struct host_object host;
    const char *problem, *hint;
    return proposal->verb == VERB_CONNECT && rule->verb == VERB_CONNECT && !rule->request &&
           host_parse_target(arena, proposal->object, &host, &problem, &hint) == 0 &&
           rule->host.port == host.port && host_covers(&rule->host, &host);
}

static bool is_granted_by(const struct policy *policy, struct arena *arena, const rule_list *rules,
                          const struct proposal *proposal)
{
    bool is_asked =
        proposal->line && (proposal->class == PROPOSAL_NEEDED || proposal->class == PROPOSAL_WIDE) &&
        (proposal->verb == VERB_READ || proposal->verb == VERB_SOCKET || proposal->verb == VERB_CONNECT);
    for (size_t i = 0; is_asked && i < rules->count; i++) {
        if (grants(policy, arena, &rules->at[i], proposal))
            return true;
    }
    return false;
}

/* "docker's socket. Gives away: the whole machine": from there on, or all of it. */
static const char *what_it_gives(struct arena *arena, const char *name, const char *about)
{
    static const char mark[] = "Gives away: ";
    const char *given = strstr(about, mark);
    return given ? given + strlen(mark)
                 : arena_printf(arena, "all that the profile %s grants (`bawn profiles %s`)", name, name);
}

static void replace(const struct policy *policy, struct arena *arena, const char *name, const char *about,
                    const rule_list *rules, proposal_list *list)
{
    struct proposal whole = {.class = PROPOSAL_WENT_ON, .verb = VERB_USE, .object = name, .program = ""};
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_granted_by(policy, arena, rules, &list->at[i]))
            proposal_merge(&whole, &list->at[i]);
        else
            list->at[kept++] = list->at[i];
    }
    list->count = kept;
    proposal_spell(policy, arena, &whole);
    whole.gives = what_it_gives(arena, name, about);
    if (text_starts_with(name, "service/"))
        whole.class = PROPOSAL_WIDE;
    vec_push(list, whole);
}

static void try_profile(const struct policy *policy, const struct profile_finder *finder, struct arena *arena,
                        const char *name, proposal_list *list)
{
    struct source source;
    struct err ignored;
    if (profile_find(finder, name, &source, &ignored) <= 0)
        return;
    auto_vec rule_list rules = {0};
    struct diags diags = {.arena = arena};
    parse_source(arena, &source, &rules, &diags);
    size_t count = 0, paths = 0;
    vec_each (const struct proposal, proposal, list) {
        bool is_granted = is_granted_by(policy, arena, &rules, proposal);
        count += is_granted;
        paths += is_granted && proposal->verb != VERB_CONNECT;
    }
    if (diags.errors == 0 && (paths || count >= HOSTS_FROM))
        replace(policy, arena, name, profile_about(finder, name), &rules, list);
    diags_free(&diags);
}

void use_profiles(const struct policy *policy, const struct profile_finder *finder, struct arena *arena,
                  proposal_list *list)
{
    auto_vec fs_names names = {0};
    profile_names(finder, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (is_searched(names.at[i]) && !is_in_use(policy, names.at[i]))
            try_profile(policy, finder, arena, names.at[i], list);
    }
}
