/*
 * What programs outside run or obey, so that no line lets a command write it. There is no list of that here:
 *
 *   - what a policy says of itself: each path that the base policy, a profile (used or not) or a file of policies seals, flags or freezes;
 *   - what bawn's own profiles show without letting it be written (read, copy, seed, sift, sync): programs of
 *     the user's, and their settings;
 *   - the directories of PATH that the profiles know (detect), and those of the caller's PATH;
 *   - the gate's names (workspace/gate.h), for any directory.
 *
 * Of a directory that does not lie in such a place, all is looked at. In what cannot be looked at as a whole
 * something of the kind is taken to lie.
 */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "learn/parts.h"
#include "plan/plan.h"
#include "policy/compose.h"
#include "policy/parse.h"
#include "workspace/gate.h"

enum { ENTRIES_MOST = 5000, ALL_ENTRIES_MOST = 50000, DEEPEST = 16 };

/* --- the places --------------------------------------------------------------------------------------------------- */

static bool is_own(const struct rule *rule)
{
    return rule->source->builtin != NULL;
}

static bool is_used_outside(const struct rule *rule)
{
    switch (rule->verb) {
    case VERB_SEAL:
    case VERB_FLAG:
    case VERB_FREEZE:
        return true;
    case VERB_READ:
    case VERB_COPY:
    case VERB_SEED:
    case VERB_SIFT:
    case VERB_SYNC:
        return is_own(rule);
    default:
        return false;
    }
}

/* Seals and pins hold in a directory that is granted around them, if they hold at all. */
static bool holds_within(const struct rule *rule)
{
    return rule->places && (rule->verb == VERB_SEAL || rule->verb == VERB_FREEZE);
}

static void add_place(struct judge *judge, const struct rule *rule, const char *start, const char *pattern)
{
    struct arena *arena = judge->arena;
    const struct fs_place *place = NULL;
    struct err ignored;
    struct used used = {.rule = rule, .has_wildcard = pattern_has_wildcard(pattern)};
    if (used.has_wildcard) {
        bool is_there = fs_resolve(judge->policy->request.fs, start, &place, &ignored) == 0;
        used.path = path_join(arena, pattern_quote(arena, is_there ? place->real : start), pattern);
        used.is_deep = pattern_is_deep(used.path);
        used.fixed = pattern_fixed_directory(arena, used.path);
    } else {
        const char *spelled = path_clean(arena, start, pattern_literal(arena, pattern));
        bool is_there = fs_resolve(judge->policy->request.fs, spelled, &place, &ignored) == 0;
        used.path = used.fixed = is_there ? place->real : spelled;
    }
    vec_push(&judge->used, used);
}

/* What bawn's own rules say of any workspace's tree holds for any tree: a repository has the same names. */
static void add_rule(struct judge *judge, const struct rule *rule)
{
    const struct policy_request *request = &judge->policy->request;
    if (rule->verb == VERB_DETECT && text_starts_with(rule->text, "~/"))
        add_place(judge, rule, request->home, rule->text + strlen("~/"));
    if (verb_object(rule->verb) != OBJECT_PATH || !is_used_outside(rule) || rule->path.start >= START_GIT)
        return;
    const char *pattern = expand_slug(judge->policy, rule->path.pattern);
    bool is_anywhere = text_starts_with(pattern, "**/");
    if (rule->path.start == START_RELATIVE && (is_anywhere || is_own(rule)))
        add_place(judge, rule, "/", is_anywhere ? pattern : arena_printf(judge->arena, "**/%s", pattern));
    else if (rule->path.start == START_ROOT)
        add_place(judge, rule, "/", pattern);
    else if (rule->path.start != START_RELATIVE && request->starts[rule->path.start])
        add_place(judge, rule, request->starts[rule->path.start], pattern);
}

static void add_profile(struct judge *judge, const struct profile_finder *finder, const char *name)
{
    struct source *source = arena_new(judge->arena, struct source);
    struct diags diags = {.arena = judge->arena};
    struct err ignored;
    rule_list rules = {0};
    if (profile_find(finder, name, source, &ignored) <= 0)
        return;
    parse_source(judge->arena, source, &rules, &diags);
    struct rule *kept = arena_alloc(judge->arena, rules.count * sizeof(*kept));
    for (size_t i = 0; i < rules.count; i++) {
        kept[i] = rules.at[i];
        add_rule(judge, &kept[i]);
    }
    vec_free(&rules);
    diags_free(&diags);
}

void judge_begin(struct judge *judge, const struct policy *policy, const struct profile_finder *finder)
{
    *judge = (struct judge){.policy = policy, .arena = policy->arena, .left = ALL_ENTRIES_MOST};
    for (size_t i = 0; i < policy->rules.count; i++)
        add_rule(judge, &policy->rules.at[i]);
    auto_vec fs_names names = {0};
    profile_names(finder, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (!fs_has_name(&policy->profiles_in_use, names.at[i]))
            add_profile(judge, finder, names.at[i]);
    }
}

void judge_end(struct judge *judge)
{
    vec_free(&judge->used);
    map_free(&judge->directories);
}

/* --- a path ------------------------------------------------------------------------------------------------------- */

static const char *why_used(struct arena *arena, const struct rule *rule)
{
    return arena_printf(arena, "%s (%s)",
                        rule->verb == VERB_SEAL     ? "no command may have it"
                        : rule->verb == VERB_FREEZE ? "no command may change it"
                        : rule->verb == VERB_FLAG   ? "programs outside obey it"
                                                    : "programs that you run outside use it",
                        rule_origin(arena, rule));
}

/* Is the path such a place, or does it lie in one? */
static bool lies_in(const char *path, const struct used *used)
{
    if (!used->has_wildcard)
        return path_is_beneath(path, used->path);
    for (size_t size = strlen(path); size > 1; size = path_parent_size(path, size)) {
        if (pattern_matches_path(used->path, path, size))
            return true;
    }
    return false;
}

const char *judge_unused_seal(const struct judge *judge, const char *path)
{
    vec_each (const struct used, used, &judge->used) {
        bool is_idle = used->rule->verb == VERB_SEAL && !used->rule->places && !used->rule->unless;
        if (is_idle && lies_in(path, used))
            return arena_printf(judge->arena, "sealed by %s, a profile that is not in use here",
                                rule_origin(judge->arena, used->rule));
    }
    return NULL;
}

const char *judge_used_outside(const struct judge *judge, const char *path, bool is_directory)
{
    const char *folders = text_variable(judge->policy->request.environment, "PATH");
    for (const char *folder; (folder = path_next_folder(judge->arena, &folders));) {
        if (*folder == '/' &&
            (path_is_beneath(path, folder) || (is_directory && path_is_beneath(folder, path))))
            return "programs that you run outside lie there (PATH)";
    }
    vec_each (const struct used, used, &judge->used) {
        if (lies_in(path, used))
            return why_used(judge->arena, used->rule);
    }
    const char *why = is_directory ? NULL : gate_reason_of_name(path);
    return why ? arena_printf(judge->arena, "it could run on your machine: %s", why) : NULL;
}

/* --- a directory -------------------------------------------------------------------------------------------------- */

/* Could such a place lie in the directory, whatever is there now? Names that lie anywhere must be looked for. */
static bool may_lie_in(const struct used *used, const char *directory)
{
    return !holds_within(used->rule) &&
           (used->has_wildcard && !used->is_deep ? pattern_may_match_beneath(used->path, directory)
                                                 : path_is_inside(used->fixed, directory));
}

static const char *find_at(const struct judge *judge, const char *path, bool is_directory)
{
    vec_each (const struct used, used, &judge->used) {
        if (used->is_deep && !holds_within(used->rule) &&
            pattern_matches_path(used->path, path, strlen(path)))
            return why_used(judge->arena, used->rule);
    }
    return is_directory ? NULL : gate_reason_of_name(path);
}

static const char *find_in(struct judge *judge, const char *directory, unsigned depth, size_t *left)
{
    static const char too_many[] =
        "there are too many files in it to look for what programs outside run or obey";
    struct fsview *fs = judge->policy->request.fs;
    auto_vec fs_names names = {0};
    size_t most = judge->left < *left ? judge->left : *left;
    fs_list(fs, directory, most + 1, &names);
    if (names.count > most || depth > DEEPEST || !fs_can_list(fs, directory))
        return too_many;
    judge->left -= names.count;
    *left -= names.count;
    for (size_t i = 0; i < names.count; i++) {
        const char *path = path_join(judge->arena, directory, names.at[i]);
        enum file_kind kind = fs_kind(fs, path);
        const char *why = find_at(judge, path, kind == FILE_DIRECTORY);
        if (why)
            return arena_printf(judge->arena, "%s lies in it: %s", path, why);
        why = kind == FILE_DIRECTORY ? find_in(judge, path, depth + 1, left) : NULL;
        if (why)
            return why;
    }
    return NULL;
}

static const char *look_through(struct judge *judge, const char *directory)
{
    size_t left = ENTRIES_MOST;
    vec_each (const struct used, used, &judge->used) {
        if (may_lie_in(used, directory))
            return arena_printf(judge->arena, "%s lies in it: %s", used->path,
                                why_used(judge->arena, used->rule));
    }
    return find_in(judge, directory, 0, &left);
}

const char *judge_used_within(struct judge *judge, const char *directory)
{
    const char **known = map_get(&judge->directories, directory, strlen(directory));
    if (!known) {
        known = arena_new(judge->arena, const char *);
        *known = look_through(judge, directory);
        *map_at(&judge->directories, arena_str(judge->arena, directory), strlen(directory)) = known;
    }
    return *known;
}
