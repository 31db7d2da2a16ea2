/* Which rules match a path. */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "policy/decide.h"

static void add_candidate(const struct policy *policy, const struct placed *placed, const char *path,
                          size_t specificity, candidate_list *candidates)
{
    const char *unless = placed->rule->unless;
    if (unless && strcmp(unless, "workspace") == 0 && policy_in_workspace(policy, path))
        return;
    struct candidate candidate = {.rule = placed->rule,
                                  .placed = placed,
                                  .specificity = specificity,
                                  .is_literal = !placed->has_wildcard};
    vec_push(candidates, candidate);
}

/*
 * The depth of the deepest place at or above the path that the pattern matches; 0: none. The path has that size and depth. The
 * pattern begins with the first `fixed` bytes of the path, so that no shorter one matches.
 */
static size_t matching_depth(const char *pattern, size_t fixed, const char *path, size_t size, size_t depth)
{
    /* Most names fail at the pattern's last name, which is cheaper to compare. */
    const char *last = strrchr(pattern, '/') + 1;
    bool any_name = strcmp(last, "**") == 0;
    for (size_t parent; size > 1 && size >= fixed; size = parent, depth--) {
        parent = path_parent_size(path, size);
        size_t name = parent + (parent > 1);
        if ((any_name || pattern_matches_name(last, path + name, size - name)) &&
            pattern_matches_path(pattern, path, size))
            return depth;
    }
    return 0;
}

static bool has_candidate(const candidate_list *candidates, const struct placed *placed)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->at[i].placed == placed)
            return true;
    }
    return false;
}

void decide_collect(const struct policy *policy, const char *path, candidate_list *candidates)
{
    enum { USUAL = 24 };
    const size_t whole_size = strlen(path), whole_depth = path_depth(path);
    size_t depth = whole_depth;
    vec_reserve(candidates, USUAL);
    for (size_t size = whole_size, parent; size; size = parent, depth--) {
        parent = path_parent_size(path, size);
        size_t name = parent + (parent > 1);
        const struct placed *here = map_get(&policy->by_path, path, size);
        for (; here; here = here->next_here)
            add_candidate(policy, here, path, depth, candidates);
        for (here = map_get(&policy->by_name, path + name, size - name); here; here = here->next_here) {
            if (pattern_matches_path(here->path, path, size) && !has_candidate(candidates, here))
                add_candidate(policy, here, path, depth, candidates);
        }
        for (here = map_get(&policy->by_directory, path, size); here; here = here->next_here) {
            size_t matched = matching_depth(here->path, size, path, whole_size, whole_depth);
            if (matched)
                add_candidate(policy, here, path, matched, candidates);
        }
    }
}
