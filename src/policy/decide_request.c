/*
 * Which rule decides about a request, at a host whose requests are judged.
 *
 *   1. Rules with a path add up. A `connect` without a path allows all requests, unless a `connect` with a
 *      path for the same host comes from a later layer, or names the host more exactly: then that one was
 *      meant to narrow it.
 *   2. A `refuse` with a path beats every `connect`, but one of a later layer that has the same path, or a path without wildcards.
 *   3. A `refuse` without a path is weaker than a `connect` with one of the same layer, and stronger than those of earlier layers. Between
 *      rules without a path the order is that of decide_host.
 *   4. Where a rule that matches is locked, of the others only the administrator's count, and refusals with a path: they only take away.
 */
#include <string.h>

#include "policy/decide.h"
#include "policy/request.h"

/* Above 0: `a` names the host more exactly, or comes from a later layer. */
static int compare(const struct candidate *a, const struct candidate *b)
{
    if (a->specificity != b->specificity)
        return a->specificity > b->specificity ? 1 : -1;
    enum layer first = a->rule->source->layer, second = b->rule->source->layer;
    return first == second ? 0 : first > second ? 1 : -1;
}

static bool is_refusal_of_requests(const struct rule *rule)
{
    return rule->verb == VERB_REFUSE && rule->request;
}

static bool is_about(const struct rule *rule, const struct asked_request *request)
{
    return !rule->request || request_matches(rule, request);
}

/* Both are about the request. */
static bool beats_connect(const struct candidate *refuse, const struct candidate *connect)
{
    const struct request_object *refused = refuse->rule->request, *allowed = connect->rule->request;
    if (!refused) {
        int order = compare(connect, refuse);
        return order ? order < 0 : !allowed && refuse->rule > connect->rule;
    }
    bool is_later = connect->rule->source->layer > refuse->rule->source->layer;
    return !allowed || !is_later || (!allowed->is_literal && strcmp(allowed->path, refused->path) != 0);
}

/* Why a `connect` that is about the request does not allow it. `all` has the host's other rules, too. */
static enum loss loss_of_connect(const struct candidate *connect, const candidate_list *all,
                                 const struct asked_request *request)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct candidate *other = &all->at[i];
        if (other->loss != LOSS_NONE)
            continue;
        if (other->rule->verb == VERB_REFUSE && is_about(other->rule, request) &&
            beats_connect(other, connect))
            return other->rule->request ? LOSS_REFUSED : loss_between(other, connect);
        if (other->rule->verb == VERB_CONNECT && other->rule->request && !connect->rule->request &&
            compare(other, connect) > 0)
            return LOSS_NARROWED;
    }
    return LOSS_NONE;
}

static void settle_locks(candidate_list *all, const struct asked_request *request)
{
    bool is_locked = false;
    vec_each (const struct candidate, candidate, all)
        is_locked |= candidate->rule->locked && is_about(candidate->rule, request);
    vec_each (struct candidate, candidate, all) {
        if (is_locked && candidate->rule->source->layer != LAYER_ADMIN &&
            !is_refusal_of_requests(candidate->rule))
            candidate->loss = LOSS_LOCKED;
    }
}

/* Of rules that both allow, or both refuse, the one that is named as the reason. */
static bool is_better_reason(const struct candidate *a, const struct candidate *b)
{
    return !b || (a->rule->request && !b->rule->request) ||
           (!a->rule->request == !b->rule->request && candidate_beats(a, b));
}

/* The winner among the rules of a verb that are about the request and have not lost; NULL: none. */
static const struct candidate *best_of(enum verb verb, const candidate_list *all,
                                       const struct asked_request *request)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const struct candidate *at = &all->at[i];
        if (at->rule->verb == verb && at->loss == LOSS_NONE && is_about(at->rule, request) &&
            (verb == VERB_REFUSE || loss_of_connect(at, all, request) == LOSS_NONE) &&
            is_better_reason(at, best))
            best = at;
    }
    return best;
}

struct verdict decide_request(const struct policy *policy, const struct host_object *host, uint16_t port,
                              const struct asked_request *request, candidate_list *candidates)
{
    auto_vec candidate_list all = {0};
    decide_collect_hosts(policy, host, port, &all);
    settle_locks(&all, request);
    const struct candidate *winner = best_of(VERB_CONNECT, &all, request);
    if (!winner)
        winner = best_of(VERB_REFUSE, &all, request);
    struct verdict verdict = {winner ? winner->rule : NULL};
    for (size_t i = 0; candidates && i < all.count; i++) {
        struct candidate candidate = all.at[i];
        if (!is_about(candidate.rule, request))
            continue;
        if (candidate.loss == LOSS_NONE && candidate.rule->verb == VERB_CONNECT)
            candidate.loss = loss_of_connect(&candidate, &all, request);
        if (candidate.loss == LOSS_NONE && winner && candidate.rule != winner->rule)
            candidate.loss = loss_between(winner, &candidate);
        vec_push(candidates, candidate);
    }
    return verdict;
}

bool decide_judges_requests(const struct policy *policy, const struct host_object *host, uint16_t port)
{
    auto_vec candidate_list all = {0};
    bool is_judged = false;
    decide_collect_hosts(policy, host, port, &all);
    for (size_t i = 0; i < all.count; i++)
        is_judged |= all.at[i].rule->request != NULL;
    return is_judged;
}
