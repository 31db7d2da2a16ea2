#include <stdlib.h>
#include <string.h>

#include "learn/parts.h"

DEFINE_TEXTS(proposal_class_name, enum proposal_class, PROPOSAL_CLASSES, NAME_OF)

static int compare(const void *one, const void *other)
{
    const struct proposal *a = one, *b = other;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->ending != b->ending)
        return a->ending > b->ending ? -1 : 1;
    if (a->times != b->times)
        return a->times > b->times ? -1 : 1;
    return strcmp(a->object, b->object);
}

void learn(const struct policy *policy, const struct profile_finder *finder, const struct wants *wants,
           struct learnt *ret_learnt)
{
    struct arena *arena = policy->arena;
    proposal_list list = {0};
    struct judge judge;
    judge_begin(&judge, policy, finder);
    for (size_t i = 0; i < wants->all.count; i++) {
        struct proposal proposal;
        if (judge_want(&judge, wants->all.at[i], &proposal))
            vec_push(&list, proposal);
    }
    /* Profiles before folding: a directory that a profile knows is not guessed at. And after it, for what was folded. */
    use_profiles(policy, finder, arena, &list);
    fold(&judge, &list);
    judge_end(&judge);
    if (list.count)
        qsort(list.at, list.count, sizeof(*list.at), compare);
    *ret_learnt = (struct learnt){.arena = arena, .left_out = wants->left_out};
    vec_each (struct proposal, proposal, &list)
        vec_push(&ret_learnt->list, *proposal);
    vec_free(&list);
}

void learnt_free(struct learnt *learnt)
{
    vec_free(&learnt->list);
}

size_t learnt_count(const struct learnt *learnt, enum proposal_class class)
{
    size_t count = 0;
    vec_each (const struct proposal, proposal, &learnt->list)
        count += proposal->class == class;
    return count;
}
