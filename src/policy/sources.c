/* Reads the rules of a source and of the profiles that it uses. */
#include "policy/compose.h"

#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/builtin.h"
#include "policy/parse.h"
#include "policy/profile.h"
#include "policy/request.h"

enum { USE_DEEPEST = 16 };

/* A chain of `use`, from the first file. */
struct use_chain {
    const char *name;
    const struct use_chain *asked_by;
    unsigned depth;
};

static void read_source(struct policy *policy, const struct source *source, const struct use_chain *chain,
                        struct diags *diags);

struct profile_finder profile_finder_for(const struct policy *policy, enum layer asked_by)
{
    const char *config = policy->request.starts[START_CONFIG];
    return (struct profile_finder){
        .fs = policy->request.fs,
        .user_directory = asked_by == LAYER_ADMIN ? NULL : path_join(policy->arena, config, "bawn/profiles"),
        .admin_directory = path_join(policy->arena, ADMIN_DIRECTORY, "profiles"),
    };
}

/* "a uses b uses a", for the message about a cycle. */
static const char *describe_cycle(struct arena *arena, const struct use_chain *chain, const char *name)
{
    const char *text = name;
    for (; chain; chain = chain->asked_by) {
        text = arena_printf(arena, "%s uses %s", chain->name, text);
        if (strcmp(chain->name, name) == 0)
            break;
    }
    return text;
}

static void suggest_profile(struct policy *policy, struct spot spot, const char *name, struct diags *diags)
{
    struct profile_finder finder = profile_finder_for(policy, spot.source->asked_by);
    const char *closest = profile_closest(&finder, name);
    if (closest)
        diag_error(diags, spot, NULL, "there is no profile '%s' (did you mean '%s'?)", name, closest);
    else
        diag_error(diags, spot, "`bawn profiles` lists them", "there is no profile '%s'", name);
}

/* A profile may be used twice. If only an untrusted repository used it before, it is read again, so that it counts in full. */
static bool already_read(const struct policy *policy, const char *name, bool only_tightens)
{
    for (size_t i = 0; i < policy->sources.count; i++) {
        const struct source *source = policy->sources.at[i];
        if (source->is_profile && strcmp(source->name, name) == 0 &&
            (only_tightens || !source->only_tightens))
            return true;
    }
    return false;
}

bool is_trusted_to_lock(struct policy *policy, struct spot whole, const struct fs_place *place,
                        struct diags *diags)
{
    const char *path = whole.source->name;
    if (!path_is_beneath(path, ADMIN_DIRECTORY) ||
        !(fs_is_open_to_all(policy->request.fs, path) || fs_is_open_to_all(policy->request.fs, place->real)))
        return true;
    diag_error(diags, whole, "take the right away, from the directories on its way too: `chmod o-w`",
               "everybody may change this file of the administrator");
    return false;
}

static void use_in_chain(struct policy *policy, struct spot spot, const char *name,
                         const struct use_chain *chain, struct diags *diags)
{
    if (spot.source->without_network && text_starts_with(name, "net/"))
        return;
    for (const struct use_chain *link = chain; link; link = link->asked_by) {
        if (strcmp(link->name, name) == 0) {
            diag_error(diags, spot, "take one of these lines out", "profiles use each other in a circle: %s",
                       describe_cycle(policy->arena, chain, name));
            return;
        }
    }
    unsigned depth = chain ? chain->depth + 1 : 1;
    if (depth > USE_DEEPEST) {
        diag_error(diags, spot, NULL, "`use` is nested more than %d deep", USE_DEEPEST);
        return;
    }
    struct profile_finder finder = profile_finder_for(policy, spot.source->asked_by);
    struct source *source = arena_new(policy->arena, struct source);
    struct err err;
    int found = profile_find(&finder, name, source, &err);
    if (found < 0)
        diag_error(diags, spot, err.hint[0] ? err.hint : NULL, "%s", err.message);
    else if (found == 0)
        suggest_profile(policy, spot, name, diags);
    if (found <= 0)
        return;
    source->asked_by = spot.source->asked_by;
    source->only_tightens = spot.source->only_tightens;
    source->without_network = spot.source->without_network;
    source->workspace = spot.source->workspace;
    if (source->asked_by != LAYER_REPOSITORY && !fs_has_name(&policy->profiles_in_use, name))
        vec_push(&policy->profiles_in_use, name);
    const struct fs_place *place = NULL;
    if (*source->name == '/' && fs_resolve(policy->request.fs, source->name, &place, &err) == 0) {
        if (!is_trusted_to_lock(policy, (struct spot){.source = source}, place, diags))
            return;
        freeze_policy_file(policy, place);
    }
    struct use_chain link = {name, chain, depth};
    if (!already_read(policy, source->name, source->only_tightens))
        read_source(policy, source, &link, diags);
}

/* Is there room for `count` more rules? Reports an error if not. */
static bool has_room(const struct policy *policy, size_t count, const struct rule *first, struct diags *diags)
{
    if (policy->rules.count + count <= RULES_MOST)
        return true;
    if (count)
        diag_error(diags, spot_of_rule(first), "grant directories, not files one by one",
                   "all layers together have more than %d rules", RULES_MOST);
    return false;
}

/* A profile's rules come before those of the file that uses it, so that in the same layer the using file decides. */
static void add_in_chain(struct policy *policy, const rule_list *rules, const struct use_chain *chain,
                         struct diags *diags)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->at[i].verb == VERB_USE)
            use_in_chain(policy, spot_of_rule(&rules->at[i]), rules->at[i].text, chain, diags);
    }
    if (!has_room(policy, rules->count, rules->at, diags))
        return;
    for (size_t i = 0; i < rules->count; i++)
        vec_push(&policy->rules, rules->at[i]);
}

/* A secret that comes from a variable that is not set: its rule does nothing, and no run pays for it. */
static bool has_no_value(const struct policy *policy, const char *written)
{
    const char *name = arena_copy(policy->arena, written, strcspn(written, " "));
    bool has_source =
        text_starts_with(written + strlen(name), " from ") || text_starts_with(written, "login ");
    return !has_source && !text_variable(policy->request.environment, name);
}

/* Has it more parts than a compiled-in rule has room for? Then its line is parsed again. */
static bool is_line(const struct source *source, const struct builtin_rule *builtin)
{
    return builtin->verb == VERB_SECRET || builtin->verb == VERB_FORGE || builtin->verb == VERB_SSH_KEY ||
           (verb_object((enum verb)builtin->verb) == OBJECT_HOST &&
            request_is_word(builtin_rule_of(source, builtin).written));
}

static void add_builtin_line(struct policy *policy, const struct source *source,
                             const struct builtin_rule *builtin, struct diags *diags)
{
    rule_list rules = {0};
    const char *written = builtin_rule_of(source, builtin).written;
    if (builtin->verb != VERB_SECRET || !has_no_value(policy, written))
        parse_argument(policy->arena, source, (enum verb)builtin->verb, written, &rules, diags);
    vec_each (struct rule, rule, &rules) {
        rule->line = builtin->line;
        rule->column = builtin->column;
        vec_push(&policy->rules, *rule);
    }
    vec_free(&rules);
}

/* The same for a profile parsed at build time. */
static void add_builtin_rules(struct policy *policy, const struct source *source,
                              const struct use_chain *chain, struct diags *diags)
{
    const struct builtin_profile *builtin = source->builtin;
    for (size_t i = 0; i < builtin->rule_count; i++) {
        if (builtin->rules[i].verb != VERB_USE)
            continue;
        struct rule use = builtin_rule_of(source, &builtin->rules[i]);
        use_in_chain(policy, spot_of_rule(&use), use.text, chain, diags);
    }
    struct rule first = builtin_rule_of(source, builtin->rules);
    if (!has_room(policy, builtin->rule_count, &first, diags))
        return;
    vec_reserve(&policy->rules, builtin->rule_count);
    for (size_t i = 0; i < builtin->rule_count; i++) {
        if (is_line(source, &builtin->rules[i]))
            add_builtin_line(policy, source, &builtin->rules[i], diags);
        else
            vec_push(&policy->rules, builtin_rule_of(source, &builtin->rules[i]));
    }
}

static void read_source(struct policy *policy, const struct source *source, const struct use_chain *chain,
                        struct diags *diags)
{
    vec_push(&policy->sources, source);
    if (source->builtin) {
        add_builtin_rules(policy, source, chain, diags);
        return;
    }
    auto_vec rule_list rules = {0};
    parse_source(policy->arena, source, &rules, diags);
    add_in_chain(policy, &rules, chain, diags);
}

void compose_source(struct policy *policy, const struct source *source, struct diags *diags)
{
    read_source(policy, source, NULL, diags);
}

void add_found_rule(struct policy *policy, enum verb verb, const struct source *source, const char *path)
{
    struct rule rule = {
        .verb = verb,
        .source = source,
        .written = path,
        .path = {.start = START_ROOT,
                 .pattern = pattern_quote(policy->arena, path + 1),
                 .is_directory = fs_kind(policy->request.fs, path) != FILE_REGULAR && verb != VERB_SOCKET},
    };
    vec_push(&policy->rules, rule);
}

/*
 * If a policy file lies in a writable tree, or is reached through a symlink in one (dotfiles as the workspace), a run could
 * rewrite it for the next start. So the file and every symlink on the way are frozen.
 */
void freeze_policy_file(struct policy *policy, const struct fs_place *place)
{
    static const struct source own = {
        .name = "bawn itself", .layer = LAYER_ADMIN, .asked_by = LAYER_ADMIN, .is_profile = true};
    add_found_rule(policy, VERB_FREEZE, &own, place->real);
    for (const struct fs_link *link = place->links; link; link = link->next)
        add_found_rule(policy, VERB_FREEZE, &own, link->path);
}

void use_profile(struct policy *policy, struct spot spot, const char *name, struct diags *diags)
{
    use_in_chain(policy, spot, name, NULL, diags);
}

void add_rules(struct policy *policy, const rule_list *rules, struct diags *diags)
{
    add_in_chain(policy, rules, NULL, diags);
}
