/* Which rule decides a host, a variable, a limit or the network mode; and the order that all decisions share. */
#include "policy/decide.h"

#include <string.h>

#include "base/pattern.h"
#include "policy/forge.h"

DEFINE_TEXTS(loss_text, enum loss, LOSSES, NAME_OF)

enum loss loss_between(const struct candidate *winner, const struct candidate *loser)
{
    if (winner->rule->locked && candidate_beats(loser, winner))
        return LOSS_LOCKED;
    if (winner->specificity != loser->specificity || winner->is_literal != loser->is_literal)
        return LOSS_LESS_SPECIFIC;
    return winner->rule->source->layer != loser->rule->source->layer ? LOSS_EARLIER_LAYER : LOSS_EARLIER_LINE;
}

bool candidate_beats(const struct candidate *a, const struct candidate *b)
{
    if (a->specificity != b->specificity)
        return a->specificity > b->specificity;
    if (a->is_literal != b->is_literal)
        return a->is_literal;
    if (a->rule->source->layer != b->rule->source->layer)
        return a->rule->source->layer > b->rule->source->layer;
    if (!a->rule->request != !b->rule->request) /* a rule on some requests says more than one on the host */
        return a->rule->request != NULL;
    return a->rule > b->rule; /* rules of one layer are stored in the order in which they were read */
}

/* Returns the best candidate that has not lost, and marks why the others lost. NULL: none is left. */
static const struct candidate *pick_winner(candidate_list *candidates)
{
    bool locked = false;
    for (size_t i = 0; i < candidates->count; i++)
        locked |= candidates->at[i].rule->locked;
    const struct candidate *winner = NULL;
    vec_each (struct candidate, candidate, candidates) {
        if (locked && candidate->rule->source->layer != LAYER_ADMIN)
            candidate->loss = LOSS_LOCKED;
        else if (!winner || candidate_beats(candidate, winner))
            winner = candidate;
    }
    for (size_t i = 0; winner && i < candidates->count; i++) {
        struct candidate *candidate = &candidates->at[i];
        if (candidate != winner && candidate->loss == LOSS_NONE)
            candidate->loss = loss_between(winner, candidate);
    }
    return winner;
}

uint64_t amount_given(const struct rule *rule)
{
    if (!rule)
        return 0;
    switch (rule->verb) {
    case VERB_CONNECT:
        return rule->request ? 1 : 2;
    case VERB_ENV:
        /* A value from the policy reveals nothing of the caller's. */
        return rule->env.value && !rule->env.is_default ? 0 : 1;
    case VERB_LIMIT:
        return rule->limit.most;
    case VERB_NET:
        return rule->net;
    default:
        return 0;
    }
}

/* A repository that is not trusted counts only if it gives less, as with paths. */
static struct verdict choose(candidate_list *all, uint64_t given_without_rule, candidate_list *ret_candidates)
{
    const struct candidate *winner = pick_winner(all);
    struct verdict verdict = {winner ? winner->rule : NULL};
    if (winner && winner->rule->source->only_tightens) {
        auto_vec candidate_list trusted = {0};
        for (size_t i = 0; i < all->count; i++) {
            all->at[i].loss = all->at[i].rule->source->only_tightens ? LOSS_UNTRUSTED : LOSS_NONE;
            if (!all->at[i].rule->source->only_tightens)
                vec_push(&trusted, all->at[i]);
        }
        const struct candidate *without = pick_winner(&trusted);
        uint64_t given = without ? amount_given(without->rule) : given_without_rule;
        if (given <= amount_given(verdict.decides)) {
            verdict.decides = without ? without->rule : NULL;
            for (size_t i = 0, j = 0; i < all->count; i++) {
                if (!all->at[i].rule->source->only_tightens)
                    all->at[i].loss = trusted.at[j++].loss;
            }
        } else {
            for (size_t i = 0; i < all->count; i++)
                all->at[i].loss = LOSS_NONE;
            pick_winner(all);
        }
    }
    for (size_t i = 0; ret_candidates && i < all->count; i++)
        vec_push(ret_candidates, all->at[i]);
    return verdict;
}

/* The port does not make a rule more specific: a refusal without a port covers all ports, one with a port only that port. */
static void add_host_rules(const struct host_rule *chain, const struct host_object *host, uint16_t port,
                           candidate_list *candidates)
{
    for (; chain; chain = chain->next) {
        const struct rule *rule = chain->rule;
        if ((rule->host.port && rule->host.port != port) || !host_covers(&rule->host, host))
            continue;
        struct candidate candidate = {
            .rule = rule, .specificity = host_specificity(&rule->host), .is_literal = true};
        vec_push(candidates, candidate);
    }
}

void decide_collect_hosts(const struct policy *policy, const struct host_object *host, uint16_t port,
                          candidate_list *candidates)
{
    if (host->kind == HOST_ADDRESS) {
        add_host_rules(policy->by_address, host, port, candidates);
        return;
    }
    if (host->kind == HOST_NAME)
        add_host_rules(map_get(&policy->by_host, host->name, strlen(host->name)), host, port, candidates);
    /* "*.example.com" for the name itself (as a wildcard), and for the name after each of its dots */
    char wildcard[NAME_LONGEST + 3] = "*.";
    for (const char *suffix = host->name; suffix; suffix = strchr(suffix, '.')) {
        suffix += *suffix == '.';
        size_t size = strlen(suffix);
        memcpy(wildcard + 2, suffix, size);
        add_host_rules(map_get(&policy->by_host, wildcard, size + 2), host, port, candidates);
    }
}

/* A host that is open for some requests can be reached; one that is closed for some can be, too. */
struct verdict decide_host(const struct policy *policy, const struct host_object *host, uint16_t port,
                           candidate_list *candidates)
{
    auto_vec candidate_list all = {0};
    decide_collect_hosts(policy, host, port, &all);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (all.at[i].rule->verb == VERB_CONNECT || !all.at[i].rule->request)
            all.at[kept++] = all.at[i];
    }
    all.count = kept;
    return choose(&all, 0, candidates);
}

const struct rule *decide_host_lock(const struct policy *policy, const struct host_object *host)
{
    candidate_list candidates = {0};
    const struct rule *decides = decide_host(policy, host, host->port, &candidates).decides;
    bool is_locked = false;
    for (size_t i = 0; i < candidates.count; i++)
        is_locked |= candidates.at[i].rule->locked;
    vec_free(&candidates);
    return is_locked && decides && decides->verb == VERB_REFUSE ? decides : NULL;
}

struct verdict decide_env(const struct policy *policy, const char *name, candidate_list *candidates)
{
    auto_vec candidate_list all = {0};
    for (size_t i = 0; i < policy->env_rules.count; i++) {
        const struct rule *rule = policy->env_rules.at[i];
        if (!pattern_matches_name(rule->env.name, name, strlen(name)))
            continue;
        struct candidate candidate = {
            .rule = rule,
            .specificity = pattern_weight(rule->env.name),
            .is_literal = !pattern_has_wildcard(rule->env.name),
        };
        vec_push(&all, candidate);
    }
    return choose(&all, 0, candidates);
}

/* Limits and the network mode have no specificity: the later layer decides. */
static struct verdict decide_single(const struct policy *policy, enum verb verb, enum limit limit,
                                    uint64_t given_without_rule, candidate_list *candidates)
{
    auto_vec candidate_list all = {0};
    for (size_t i = 0; i < policy->other_rules.count; i++) {
        const struct rule *rule = policy->other_rules.at[i];
        if (rule->verb == verb && (verb != VERB_LIMIT || rule->limit.limit == limit))
            vec_push(&all, (struct candidate){.rule = rule, .is_literal = true});
    }
    return choose(&all, given_without_rule, candidates);
}

const struct rule *decide_setting(const struct policy *policy, enum verb verb)
{
    const struct rule *decides = NULL;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == verb && (!decides || rule->source->layer >= decides->source->layer))
            decides = rule;
    }
    return decides;
}

bool decide_switch(const struct policy *policy, enum verb verb, bool otherwise)
{
    const struct rule *decides = decide_setting(policy, verb);
    return decides ? strcmp(decides->text, "on") == 0 : otherwise;
}

struct verdict decide_limit(const struct policy *policy, enum limit limit, candidate_list *candidates)
{
    return decide_single(policy, VERB_LIMIT, limit, UINT64_MAX, candidates);
}

struct verdict decide_net(const struct policy *policy, candidate_list *candidates)
{
    return decide_single(policy, VERB_NET, LIMIT_COUNT, NET_ALLOW, candidates);
}

bool decide_forge_counts(const struct policy *policy, const struct rule *asked)
{
    bool is_locked = false;
    vec_each (const struct rule, rule, &policy->rules)
        is_locked |= rule->verb == VERB_FORGE && rule->locked && forge_may_be_same(rule->forge, asked->forge);
    return policy_rule_counts(policy, asked) && (!is_locked || asked->source->layer == LAYER_ADMIN);
}

bool decide_ssh_key_counts(const struct policy *policy, const struct rule *asked)
{
    bool is_locked = false;
    vec_each (const struct rule, rule, &policy->rules)
        is_locked |= rule->verb == VERB_SSH_KEY && rule->locked;
    return policy_rule_counts(policy, asked) && (!is_locked || asked->source->layer == LAYER_ADMIN);
}

static const struct rule *rule_on_artifacts(const struct policy *policy, const char *name, size_t size)
{
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_ARTIFACTS && pattern_matches_name(rule->text, name, size) &&
            policy_rule_counts(policy, rule))
            return rule;
    }
    return NULL;
}

const struct rule *decide_artifacts(const struct policy *policy, const char *path, bool itself)
{
    const struct rule *found = NULL;
    for (const char *slash; !found && (slash = strchr(path, '/')); path = slash + 1)
        found = rule_on_artifacts(policy, path, (size_t)(slash - path));
    return found || !itself ? found : rule_on_artifacts(policy, path, strlen(path));
}
