/* Which rule decides a path. */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "policy/decide.h"

DEFINE_TEXTS(access_name, enum access, ACCESSES, NAME_OF)

static bool is_modifier(const struct rule *rule)
{
    return rule->verb == VERB_FREEZE || rule->verb == VERB_FLAG;
}

enum access access_of_rule(const struct rule *rule)
{
    switch (rule->verb) {
    case VERB_WORKSPACE:
    case VERB_WRITE:
        return ACCESS_WRITE;
    case VERB_READ:
        return ACCESS_READ;
    case VERB_COPY:
        return ACCESS_COPY;
    case VERB_SEED:
        return ACCESS_SEED;
    case VERB_SIFT:
        return ACCESS_SIFT;
    case VERB_SYNC:
        return ACCESS_SYNC;
    case VERB_SOCKET:
        return ACCESS_SOCKET;
    case VERB_FREEZE:
        return ACCESS_FROZEN;
    case VERB_FLAG:
        return ACCESS_FLAGGED;
    default:
        return ACCESS_NONE;
    }
}

static bool may_open_seals(const struct rule *rule)
{
    enum layer layer = rule->source->layer;
    return layer == LAYER_ADMIN || layer == LAYER_USER || layer == LAYER_COMMAND_LINE;
}

static void shut_out_by_locks(candidate_list *candidates)
{
    bool locked[2] = {false, false}; /* grants, modifiers */
    for (size_t i = 0; i < candidates->count; i++)
        locked[is_modifier(candidates->at[i].rule)] |= candidates->at[i].rule->locked;
    vec_each (struct candidate, candidate, candidates) {
        if (locked[is_modifier(candidate->rule)] && candidate->rule->source->layer != LAYER_ADMIN)
            candidate->loss = LOSS_LOCKED;
    }
}

static void shut_out_by_seals(candidate_list *candidates)
{
    bool sealed = false;
    for (size_t i = 0; i < candidates->count; i++)
        sealed |= candidates->at[i].rule->verb == VERB_SEAL && candidates->at[i].loss == LOSS_NONE;
    for (size_t i = 0; sealed && i < candidates->count; i++) {
        struct candidate *candidate = &candidates->at[i];
        enum access access = access_of_rule(candidate->rule);
        /* A sifted copy omits the secrets, so it may pass a seal. */
        bool grants = access != ACCESS_NONE && access != ACCESS_SIFT && !is_modifier(candidate->rule);
        if (grants && candidate->loss == LOSS_NONE && !may_open_seals(candidate->rule))
            candidate->loss = LOSS_SEALED;
    }
}

static void shut_out_by_own_hide(candidate_list *candidates)
{
    vec_each (const struct candidate, hide, candidates) {
        if (hide->rule->verb != VERB_HIDE || hide->rule->source->layer < LAYER_USER ||
            hide->loss != LOSS_NONE)
            continue;
        vec_each (struct candidate, other, candidates) {
            bool weaker = other->rule->source->layer < hide->rule->source->layer;
            if (weaker && !is_modifier(other->rule) && other->loss == LOSS_NONE &&
                access_of_rule(other->rule) != ACCESS_NONE && other->specificity >= hide->specificity)
                other->loss = LOSS_HIDDEN;
        }
    }
}

/* Grants (with refusals), freezes and flags are decided separately. */
enum kind { KIND_GRANT, KIND_FREEZE, KIND_FLAG };

static enum kind kind_of(const struct rule *rule)
{
    return rule->verb == VERB_FREEZE ? KIND_FREEZE : rule->verb == VERB_FLAG ? KIND_FLAG : KIND_GRANT;
}

static const struct candidate *best_of(const candidate_list *candidates, enum kind kind)
{
    const struct candidate *best = NULL;
    vec_each (const struct candidate, candidate, candidates) {
        if (kind_of(candidate->rule) == kind && candidate->loss == LOSS_NONE &&
            (!best || candidate_beats(candidate, best)))
            best = candidate;
    }
    return best;
}

/* Is a freeze or flag locked? Then only a more specific grant of the administrator lifts it. */
static bool is_held_by_lock(const candidate_list *candidates, enum kind kind, const struct candidate *grant)
{
    vec_each (const struct candidate, candidate, candidates) {
        bool lifts = grant->rule->source->layer == LAYER_ADMIN && candidate_beats(grant, candidate);
        if (kind_of(candidate->rule) == kind && candidate->rule->locked && candidate->loss == LOSS_NONE &&
            !lifts)
            return true;
    }
    return false;
}

/* A freeze or a flag applies in a writable place, unless a stronger grant lifts it. A flag never lifts a freeze. */
static const struct candidate *modifier_of(const candidate_list *candidates, const struct candidate *grant)
{
    if (!grant || access_of_rule(grant->rule) != ACCESS_WRITE)
        return NULL;
    for (enum kind kind = KIND_FREEZE; kind <= KIND_FLAG; kind++) {
        const struct candidate *modifier = best_of(candidates, kind);
        if (modifier && (candidate_beats(modifier, grant) || is_held_by_lock(candidates, kind, grant)))
            return modifier;
    }
    return NULL;
}

static bool is_sparing(const struct candidate *pattern, const struct candidate *grant)
{
    bool hides = pattern->rule->verb == VERB_HIDE || pattern->rule->verb == VERB_SEAL;
    return hides && !pattern->is_literal && pattern->rule->source->is_profile && pattern->loss == LOSS_NONE &&
           pattern->specificity > grant->specificity && pattern_is_deep(pattern->placed->path);
}

/*
 * A profile's hiding pattern with ** does not apply in a directory that a profile grants by name. Toolchains have a hundred
 * thousand files, and the author of the profile knows their content. Other patterns are searched for.
 */
static void spare_profile_trees(const struct policy *policy, candidate_list *candidates)
{
    const struct candidate *grant = NULL;
    vec_each (const struct candidate, candidate, candidates) {
        bool grants = access_of_rule(candidate->rule) != ACCESS_NONE && !is_modifier(candidate->rule);
        if (grants && candidate->loss == LOSS_NONE && (!grant || candidate_beats(candidate, grant)))
            grant = candidate;
    }
    if (!grant || !grant->rule->source->is_profile ||
        (grant->rule->verb != VERB_READ && grant->rule->verb != VERB_WRITE && grant->rule->verb != VERB_SEED))
        return;
    bool holds = false,
         was_asked = false; /* does the grant decide at the tree's own root? Asked only if needed */
    vec_each (struct candidate, candidate, candidates) {
        if (!is_sparing(candidate, grant))
            continue;
        if (!was_asked) {
            const struct placed *at_root = decide_path(policy, grant->placed->path, NULL).grants;
            holds = at_root && at_root->rule == grant->rule;
            was_asked = true;
        }
        if (holds)
            candidate->loss = LOSS_PROFILE_TREE;
    }
}

static struct path_verdict judge(const struct policy *policy, candidate_list *candidates)
{
    shut_out_by_locks(candidates);
    spare_profile_trees(policy, candidates);
    shut_out_by_seals(candidates);
    shut_out_by_own_hide(candidates);
    const struct candidate *grant = best_of(candidates, KIND_GRANT),
                           *modifier = modifier_of(candidates, grant);
    const struct candidate *winner = modifier ? modifier : grant;
    vec_each (struct candidate, candidate, candidates) {
        if (candidate == winner || candidate->loss != LOSS_NONE)
            continue;
        bool is_idle =
            is_modifier(candidate->rule) && (!grant || access_of_rule(grant->rule) != ACCESS_WRITE);
        bool is_frozen =
            kind_of(candidate->rule) == KIND_FLAG && modifier && kind_of(modifier->rule) == KIND_FREEZE;
        candidate->loss = is_idle     ? LOSS_NOT_WRITABLE
                          : is_frozen ? LOSS_FROZEN
                                      : loss_between(winner, candidate);
    }
    return (struct path_verdict){winner ? access_of_rule(winner->rule) : ACCESS_NONE,
                                 winner ? winner->placed : NULL, grant ? grant->placed : NULL};
}

typedef bool (*condition)(const struct candidate *candidate, const struct rule *rule);

static bool is_other_rule(const struct candidate *candidate, const struct rule *rule)
{
    return candidate->rule != rule;
}

static bool is_trusted(const struct candidate *candidate, const struct rule *rule not_used)
{
    return !candidate->rule->source->only_tightens;
}

static bool is_no_grant_through_link(const struct candidate *candidate, const struct rule *rule not_used)
{
    bool grants = access_of_rule(candidate->rule) != ACCESS_NONE && !is_modifier(candidate->rule);
    return !(grants && candidate->is_literal && candidate->placed->found->links);
}

static void keep(candidate_list *candidates, condition holds, const struct rule *rule)
{
    size_t kept = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (holds(&candidates->at[i], rule))
            candidates->at[kept++] = candidates->at[i];
    }
    candidates->count = kept;
}

static bool any_only_tightens(const candidate_list *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->at[i].rule->source->only_tightens)
            return true;
    }
    return false;
}

/* Marks what the repository asked for as not trusted, after a verdict without the repository's rules. */
static void show_untrusted(candidate_list *all, const candidate_list *judged, enum access access)
{
    for (size_t i = 0, j = 0; i < all->count; i++) {
        struct candidate *candidate = &all->at[i];
        if (!candidate->rule->source->only_tightens)
            candidate->loss = judged->at[j++].loss;
        else if (candidate->loss == LOSS_NONE || access_of_rule(candidate->rule) >= access)
            candidate->loss = access_of_rule(candidate->rule) < access ? LOSS_FROZEN : LOSS_UNTRUSTED;
    }
}

static const struct candidate *candidate_of(const candidate_list *candidates,
                                            const struct path_verdict *verdict)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->at[i].placed == verdict->decides)
            return &candidates->at[i];
    }
    return NULL;
}

/*
 * Would the repository end the watch on a frozen path? bawn notices when a pin falls and compares the file; it does not do so
 * for hidden or read-only paths. So a repository may hide a directory around a frozen path, but not the path itself.
 */
static bool lifts_freeze(const candidate_list *all, const struct path_verdict *verdict,
                         const candidate_list *trusted, const struct path_verdict *without)
{
    const struct candidate *repository = candidate_of(all, verdict), *freeze = candidate_of(trusted, without);
    return without->access == ACCESS_FROZEN && verdict->access < ACCESS_FROZEN && repository && freeze &&
           repository->specificity >= freeze->specificity;
}

static bool is_no_hide(const struct candidate *candidate, const struct rule *rule not_used)
{
    return candidate->rule->verb != VERB_HIDE && candidate->rule->verb != VERB_SEAL;
}

static bool any_modifies(const candidate_list *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (is_modifier(candidates->at[i].rule))
            return true;
    }
    return false;
}

/* A hidden path is masked if it exists at the start. A file that appears there later is as risky as anywhere else. */
static const struct placed *flag_beneath_hide(const struct policy *policy, candidate_list *candidates)
{
    keep(candidates, is_no_hide, NULL);
    for (size_t i = 0; i < candidates->count; i++)
        candidates->at[i].loss = LOSS_NONE;
    struct path_verdict verdict = judge(policy, candidates);
    return verdict.access == ACCESS_FLAGGED || verdict.access == ACCESS_FROZEN ? verdict.decides : NULL;
}

static struct path_verdict decide(const struct policy *policy, const char *path, condition considered,
                                  const struct rule *rule, candidate_list *ret_candidates)
{
    if (policy->request.full_access)
        return (struct path_verdict){.access = ACCESS_WRITE}; /* no rule is needed */
    auto_vec candidate_list all = {0};
    decide_collect(policy, path, &all);
    if (considered)
        keep(&all, considered, rule);
    bool two_ways = any_only_tightens(&all);
    auto_vec candidate_list trusted = {0};
    for (size_t i = 0; two_ways && i < all.count; i++)
        vec_push(&trusted, all.at[i]);
    struct path_verdict verdict = judge(policy, &all);
    if (two_ways) {
        keep(&trusted, is_trusted, NULL);
        struct path_verdict without = judge(policy, &trusted);
        if (without.access <= verdict.access || lifts_freeze(&all, &verdict, &trusted, &without)) {
            show_untrusted(&all, &trusted, without.access);
            verdict = without;
        }
        if (without.access == ACCESS_FLAGGED && verdict.access != ACCESS_FROZEN)
            verdict.flagged_by = without.decides;
    }
    if (verdict.access == ACCESS_FLAGGED)
        verdict.flagged_by = verdict.decides;
    bool writes =
        verdict.access == ACCESS_WRITE || verdict.access == ACCESS_FLAGGED || verdict.access == ACCESS_FROZEN;
    if (policy->request.read_only && writes)
        verdict.access = ACCESS_READ;
    for (size_t i = 0; ret_candidates && i < all.count; i++)
        vec_push(ret_candidates, all.at[i]);
    if (verdict.access == ACCESS_NONE && verdict.decides && !verdict.flagged_by && any_modifies(&all))
        verdict.flagged_by = flag_beneath_hide(policy, &all);
    return verdict;
}

struct path_verdict decide_path(const struct policy *policy, const char *path, candidate_list *candidates)
{
    return decide(policy, path, NULL, NULL, candidates);
}

struct path_verdict decide_path_without(const struct policy *policy, const char *path,
                                        const struct rule *left_out)
{
    return decide(policy, path, left_out ? is_other_rule : is_no_grant_through_link, left_out, NULL);
}
