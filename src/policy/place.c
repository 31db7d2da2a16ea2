/* Finds the places of path rules: makes paths absolute, follows symlinks, and indexes them for decide.c. */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/compose.h"
#include "policy/sift.h"

/* The last name of a pattern if it has no wildcard; most have none, and are indexed by it. NULL otherwise. */
static const char *plain_last_name(const char *pattern)
{
    const char *name = strrchr(pattern, '/') + 1;
    return strpbrk(name, "*?\\") ? NULL : name;
}

static void index_place(struct policy *policy, struct rule *rule, struct placed placed)
{
    struct placed *kept = arena_new(policy->arena, struct placed);
    *kept = placed;
    const char *key = kept->path;
    struct map *index = &policy->by_path;
    if (kept->has_wildcard) {
        const char *name = plain_last_name(kept->path);
        key = name ? name : pattern_fixed_directory(policy->arena, kept->path);
        index = name ? &policy->by_name : &policy->by_directory;
    }
    struct placed **chain = (struct placed **)map_at(index, key, strlen(key));
    kept->next_here = *chain;
    *chain = kept;
    kept->next_of_rule = rule->places;
    rule->places = kept;
    vec_push(&policy->places, kept);
}

/* The directories of a pattern before its first wildcard are followed through symlinks, as in a literal path. */
static int place_pattern(struct policy *policy, struct rule *rule, const char *start, const char *pattern,
                         struct err *err)
{
    while (text_starts_with(pattern, "../")) {
        start = path_parent(policy->arena, start);
        start = *start ? start : "/";
        pattern += strlen("../");
    }
    const char *whole = path_join(policy->arena, pattern_quote(policy->arena, start), pattern);
    const char *fixed = pattern_fixed_directory(policy->arena, whole);
    const struct fs_place *place = NULL;
    if (fs_resolve(policy->request.fs, fixed, &place, err) < 0)
        return -1;
    const char *rest = whole;
    for (size_t names = path_depth(fixed); names; names--)
        rest = strchr(rest + 1, '/');
    struct placed placed = {
        .rule = rule,
        .path = path_join(policy->arena, pattern_quote(policy->arena, place->real), rest + 1),
        .spelled = whole,
        .has_wildcard = true,
    };
    index_place(policy, rule, placed);
    return 0;
}

/*
 * `hide` and `seal` also apply to the symlink itself; grants and flags apply to its target. If the path ends in a symlink, that is the
 * last link that lies in the directory of the spelled path, under its last name. `freeze` applies to every link on the way: another
 * one in its place would lead elsewhere.
 */
static const char *own_place_of_link(struct policy *policy, const char *spelled, const struct fs_place *found)
{
    const struct fs_place *parent = NULL;
    struct err ignored;
    if (!found->links || spelled[1] == '\0' ||
        fs_resolve(policy->request.fs, path_parent(policy->arena, spelled), &parent, &ignored) < 0)
        return NULL;
    const char *own = path_join(policy->arena, parent->real, path_name(spelled));
    for (const struct fs_link *link = found->links; link; link = link->next) {
        if (strcmp(link->path, own) == 0)
            return own;
    }
    return NULL;
}

/* Does the verb only take away? Then it applies even if a symlink leads nowhere. */
static bool only_restricts(enum verb verb)
{
    return verb == VERB_HIDE || verb == VERB_SEAL || verb == VERB_FREEZE || verb == VERB_FLAG;
}

bool rule_is_of_home(const struct policy *policy, const struct rule *rule, const char *spelled)
{
    return rule->verb == VERB_COPY || rule->verb == VERB_SEED || rule->verb == VERB_SYNC ||
           (rule->verb == VERB_SIFT && !sifted_destination(spelled, policy->request.home));
}

/* The link at the path, whatever it leads to. */
static void place_link(struct policy *policy, struct rule *rule, const char *link, const char *spelled)
{
    struct fs_place *at_link = arena_new(policy->arena, struct fs_place);
    *at_link = (struct fs_place){.real = link, .kind = FILE_LINK};
    index_place(policy, rule,
                (struct placed){.rule = rule, .path = link, .spelled = spelled, .found = at_link});
}

static int place_literal(struct policy *policy, struct rule *rule, const char *spelled, struct err *err)
{
    if (rule->path.is_link) {
        place_link(policy, rule, spelled, spelled);
        return 0;
    }
    if (rule_is_of_home(policy, rule, spelled) && rule->source->is_profile &&
        !path_is_beneath(spelled, policy->request.home))
        return 0; /* an XDG directory outside the home has no place in the private home */
    const struct fs_place *found = NULL;
    if (fs_resolve(policy->request.fs, spelled, &found, err) < 0) {
        if (!only_restricts(rule->verb) || strlen(spelled) >= PATH_LONGEST)
            return -1;
        struct fs_place *unknown = arena_new(policy->arena, struct fs_place);
        *unknown = (struct fs_place){.real = spelled, .kind = FILE_UNKNOWN};
        found = unknown;
    }
    struct placed placed = {.rule = rule, .path = found->real, .spelled = spelled, .found = found};
    index_place(policy, rule, placed);

    if (rule->verb == VERB_FREEZE) {
        for (const struct fs_link *on_way = found->links; on_way; on_way = on_way->next)
            place_link(policy, rule, on_way->path, spelled);
        return 0;
    }
    bool holds_at_link = rule->verb == VERB_HIDE || rule->verb == VERB_SEAL;
    const char *link = holds_at_link ? own_place_of_link(policy, spelled, found) : NULL;
    if (link)
        place_link(policy, rule, link, spelled);
    return 0;
}

/* Joins a start and the rest of a path. The parser has cleaned the rest, except for a leading "..". */
static const char *literal_path(struct arena *arena, const char *start, const char *pattern)
{
    const char *literal = strchr(pattern, '\\') ? pattern_literal(arena, pattern) : pattern;
    return text_starts_with(literal, "..") ? path_clean(arena, start, literal)
                                           : path_join(arena, start, literal);
}

static void place_at(struct policy *policy, struct rule *rule, const char *start, struct diags *diags)
{
    not_zeroed struct err err; /* filled only on a mistake; zeroing it for every rule would cost time */
    const char *pattern = expand_slug(policy, rule->path.pattern);
    int placed;
    if (rule->path.has_wildcard)
        placed = place_pattern(policy, rule, start, pattern, &err);
    else
        placed = place_literal(policy, rule, literal_path(policy->arena, start, pattern), &err);
    if (placed < 0)
        diag_error(diags, spot_of_rule(rule), NULL, "'%s' cannot be followed: %s", rule->written,
                   err.message);
}

static void place_relative(struct policy *policy, struct rule *rule, struct diags *diags)
{
    if (!rule->source->all_workspaces) {
        place_at(policy, rule, rule->source->start ? rule->source->start : policy->request.directory, diags);
        return;
    }
    /* The rest of a repository is not writable. What is hidden in a repository is so in all of it. */
    bool hides = rule->verb == VERB_HIDE || rule->verb == VERB_SEAL;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (hides || workspace->parts.count == 0)
            place_at(policy, rule, workspace->path, diags);
        for (size_t i = 0; i < workspace->parts.count; i++)
            place_at(policy, rule, workspace->parts.at[i], diags);
    }
}

/* Rules on git directories apply to those of every workspace, and to a repository at the top of a `write` tree. */
static void place_in_repo(struct policy *policy, struct rule *rule, const struct git_repo *repo,
                          struct diags *diags)
{
    if (rule->path.start == START_GIT) {
        for (size_t i = 0; i < repo->dirs.count; i++)
            place_at(policy, rule, repo->dirs.at[i], diags);
    } else {
        for (size_t i = 0; i < repo->links.count; i++)
            place_at(policy, rule, repo->links.at[i], diags);
    }
}

typedef VEC(struct git_repo) repo_list;

/* A git directory that a workspace uses elsewhere belongs to the workspace. */
static bool is_of_workspace(const struct policy *policy, const char *git_dir)
{
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const char *outside = policy->workspaces.at[i].git.outside;
        if (outside && strcmp(outside, git_dir) == 0)
            return true;
    }
    return false;
}

static void find_granted_repos(struct policy *policy, repo_list *repos)
{
    size_t count = policy->places.count;
    for (size_t i = 0; i < count; i++) {
        const struct placed *placed = policy->places.at[i];
        if (placed->rule->verb != VERB_WRITE || placed->found->kind != FILE_DIRECTORY ||
            is_of_workspace(policy, placed->path))
            continue;
        struct git_repo repo;
        git_find(policy->request.fs, placed->path, NULL, &repo);
        vec_push(repos, repo);
    }
}

static void place_git_rules(struct policy *policy, struct diags *diags)
{
    auto_vec repo_list repos = {0};
    find_granted_repos(policy, &repos);
    vec_each (struct rule, rule, &policy->rules) {
        bool is_git = verb_object(rule->verb) == OBJECT_PATH && rule->path.start >= START_GIT;
        if (!is_git || !policy_rule_counts(policy, rule))
            continue;
        for (size_t j = 0; j < policy->workspaces.count; j++)
            place_in_repo(policy, rule, &policy->workspaces.at[j].git, diags);
        for (size_t j = 0; j < repos.count; j++)
            place_in_repo(policy, rule, &repos.at[j], diags);
    }
    for (size_t i = 0; i < repos.count; i++)
        git_repo_free(&repos.at[i]);
}

void place_rules(struct policy *policy, struct diags *diags)
{
    if (policy->workspaces.count == 0)
        return; /* already an error: without a workspace nothing can be placed */
    /* Many rules share a place. */
    size_t probably = policy->rules.count / 4 * 3;
    map_reserve(&policy->by_path, probably);
    map_reserve(&policy->request.fs->places, probably);
    vec_each (struct rule, rule, &policy->rules) {
        if (verb_object(rule->verb) != OBJECT_PATH || !policy_rule_counts(policy, rule))
            continue;
        if (rule->path.start == START_ROOT)
            place_at(policy, rule, "/", diags);
        else if (rule->path.start == START_RELATIVE)
            place_relative(policy, rule, diags);
        else if (rule->path.start < START_GIT && policy->request.starts[rule->path.start])
            place_at(policy, rule, policy->request.starts[rule->path.start], diags);
    }
    place_git_rules(policy, diags);
}
