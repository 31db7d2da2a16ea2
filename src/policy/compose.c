#include "policy/compose.h"

#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/builtin.h"
#include "policy/parse.h"
#include "policy/profile.h"

enum { USE_DEEPEST = 16, WORKSPACE_NAMES_MOST = 4096 };

static const char admin_directory[] = "/etc/bawn";
static const char command_line_name[] = "command line";

/* One chain of `use`, from the file that began it. */
struct use_chain {
    const char *name;
    const struct use_chain *asked_by;
    unsigned depth;
};

static void read_source(struct policy *policy, const struct source *source, const struct use_chain *chain,
                        struct diags *diags);

static void freeze_own_file(struct policy *policy, const struct fs_place *place);

static struct profile_finder finder_for(const struct policy *policy, enum layer asked_by)
{
    const char *config = policy->request.starts[START_CONFIG];
    return (struct profile_finder){
        .fs = policy->request.fs,
        .user_directory = asked_by == LAYER_ADMIN ? NULL : path_join(policy->arena, config, "bawn/profiles"),
        .admin_directory = path_join(policy->arena, admin_directory, "profiles"),
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
    struct profile_finder finder = finder_for(policy, spot.source->asked_by);
    const char *closest = profile_closest(&finder, name);
    if (closest)
        diag_error(diags, spot, NULL, "there is no profile '%s' (did you mean '%s'?)", name, closest);
    else
        diag_error(diags, spot, "`bawn profiles` lists them", "there is no profile '%s'", name);
}

/* The same profile may be asked for twice, but a repository that is not trusted must not make it count only half. */
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

static void use_profile(struct policy *policy, struct spot spot, const char *name,
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
    struct profile_finder finder = finder_for(policy, spot.source->asked_by);
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
    if (*source->name == '/' && fs_resolve(policy->request.fs, source->name, &place, &err) == 0)
        freeze_own_file(policy, place);
    struct use_chain link = {name, chain, depth};
    if (!already_read(policy, source->name, source->only_tightens))
        read_source(policy, source, &link, diags);
}

/* Is there room for so many more? Where there is not, that is said. */
static bool has_room(const struct policy *policy, size_t count, const struct rule *first, struct diags *diags)
{
    if (policy->rules.count + count <= RULES_MOST)
        return true;
    if (count)
        diag_error(diags, spot_of_rule(first), "grant directories, not files one by one",
                   "all layers together have more than %d rules", RULES_MOST);
    return false;
}

/* A profile's rules come before those of the file that uses it, so that in the same layer the user of it decides. */
static void add_rules(struct policy *policy, const rule_list *rules, const struct use_chain *chain,
                      struct diags *diags)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->at[i].verb == VERB_USE)
            use_profile(policy, spot_of_rule(&rules->at[i]), rules->at[i].text, chain, diags);
    }
    if (!has_room(policy, rules->count, rules->at, diags))
        return;
    for (size_t i = 0; i < rules->count; i++)
        vec_push(&policy->rules, rules->at[i]);
}

/* The same for a profile that was parsed when bawn was built. */
static void add_builtin_rules(struct policy *policy, const struct source *source,
                              const struct use_chain *chain, struct diags *diags)
{
    const struct builtin_profile *builtin = source->builtin;
    for (size_t i = 0; i < builtin->rule_count; i++) {
        if (builtin->rules[i].verb != VERB_USE)
            continue;
        struct rule use = builtin_rule_of(source, &builtin->rules[i]);
        use_profile(policy, spot_of_rule(&use), use.text, chain, diags);
    }
    struct rule first = builtin_rule_of(source, builtin->rules);
    if (!has_room(policy, builtin->rule_count, &first, diags))
        return;
    vec_reserve(&policy->rules, builtin->rule_count);
    for (size_t i = 0; i < builtin->rule_count; i++)
        vec_push(&policy->rules, builtin_rule_of(source, &builtin->rules[i]));
}

static void read_source(struct policy *policy, const struct source *source, const struct use_chain *chain,
                        struct diags *diags)
{
    vec_push(&policy->sources, source);
    if (source->builtin) {
        add_builtin_rules(policy, source, chain, diags);
        return;
    }
    rule_list rules = {0};
    parse_source(policy->arena, source, &rules, diags);
    add_rules(policy, &rules, chain, diags);
    vec_free(&rules);
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
                 .is_directory = fs_kind(policy->request.fs, path) != FILE_REGULAR},
    };
    vec_push(&policy->rules, rule);
}

/*
 * A policy that lies in a tree which the sandbox may write, or is reached through a link in one (dotfiles as the
 * workspace), could be rewritten from inside and hold at the next start: the file and every link on the way are frozen.
 */
static void freeze_own_file(struct policy *policy, const struct fs_place *place)
{
    static const struct source own = {
        .name = "bawn itself", .layer = LAYER_ADMIN, .asked_by = LAYER_ADMIN, .is_profile = true};
    add_found_rule(policy, VERB_FREEZE, &own, place->real);
    for (const struct fs_link *link = place->links; link; link = link->next)
        add_found_rule(policy, VERB_FREEZE, &own, link->path);
}

/* Reads the file of a layer. One that the user named must be there. */
static void read_file(struct policy *policy, const char *path, enum layer layer, bool must_exist,
                      struct diags *diags)
{
    struct source *source = arena_new(policy->arena, struct source);
    *source = (struct source){.name = path, .layer = layer, .asked_by = layer, .all_workspaces = true};
    struct spot whole = {.source = source};
    const struct fs_place *place = NULL;
    struct err err;
    char *text = NULL;
    int found = fs_resolve(policy->request.fs, path, &place, &err);
    if (found == 0)
        found = fs_read(policy->request.fs, place->real, POLICY_LARGEST, &text, &source->size, &err);
    if (found < 0)
        diag_error(diags, whole, "a policy that cannot be read stops everything: mend or remove it", "%s",
                   err.message);
    else if (found == 0 && must_exist)
        diag_error(diags, whole, "check the name", "there is no such policy file");
    if (found <= 0)
        return;
    source->text = text;
    freeze_own_file(policy, place);
    read_source(policy, source, NULL, diags);
}

static void read_arguments(struct policy *policy, struct diags *diags)
{
    const struct policy_request *request = &policy->request;
    struct source *source = arena_new(policy->arena, struct source);
    *source = (struct source){
        .name = command_line_name, .layer = LAYER_COMMAND_LINE, .asked_by = LAYER_COMMAND_LINE};
    vec_push(&policy->sources, source);
    for (size_t i = 0; i < request->argument_count; i++) {
        const struct argument *argument = &request->arguments[i];
        if (argument->verb == VERB_NONE) {
            const char *path = path_clean(policy->arena, request->directory, argument->text);
            read_file(policy, path, LAYER_COMMAND_LINE, true, diags);
            continue;
        }
        rule_list rules = {0};
        parse_argument(policy->arena, source, argument->verb, argument->text, &rules, diags);
        add_rules(policy, &rules, NULL, diags);
        vec_free(&rules);
    }
}

static const struct source shipped = {
    .name = "bawn itself", .layer = LAYER_BASE, .asked_by = LAYER_BASE, .is_profile = true};

static void read_agent(struct policy *policy, struct diags *diags)
{
    const struct policy_request *request = &policy->request;
    struct profile_finder finder = finder_for(policy, LAYER_AGENT);
    policy->agent_word = AGENT_UNSEEN;
    if (request->command)
        policy->agent = agent_for_words(policy, &finder, request->command, &policy->agent_word);
    if (request->agent) {
        const char *named = arena_printf(policy->arena, "agent/%s", request->agent);
        if (!policy->agent || strcmp(policy->agent, named) != 0)
            policy->agent_word = AGENT_UNSEEN;
        policy->agent = named;
    }
    static const struct source asked = {.name = "--agent", .layer = LAYER_BASE, .asked_by = LAYER_BASE};
    if (policy->agent)
        use_profile(policy, (struct spot){.source = request->agent ? &asked : &shipped}, policy->agent, NULL,
                    diags);
}

/* Toolchains that the workspaces use, by the names in their top folders. */
static void read_toolchains(struct policy *policy, struct diags *diags)
{
    struct profile_finder finder = finder_for(policy, LAYER_PROFILE);
    fs_names names = {0};
    for (size_t i = 0; i < policy->workspaces.count; i++)
        fs_list(policy->request.fs, policy->workspaces.at[i].path, WORKSPACE_NAMES_MOST, &names);
    fs_names found = {0};
    profiles_detected(&finder, &names, &found);
    for (size_t i = 0; i < found.count; i++)
        use_profile(policy, (struct spot){.source = &shipped}, found.at[i], NULL, diags);
    vec_free(&found);
    vec_free(&names);
}

/* Folders of PATH in the home, as "~/.cargo/bin". */
static void list_path(const struct policy *policy, fs_names *ret_folders)
{
    const char *homes[] = {policy->request.home_spelled, policy->request.home};
    const char *path = text_variable(policy->request.environment, "PATH");
    for (const char *folder; (folder = path_next_folder(policy->arena, &path));) {
        for (size_t i = 0; i < array_len(homes); i++) {
            size_t home = strlen(homes[i]);
            if (strncmp(folder, homes[i], home) == 0 && folder[home] == '/') {
                vec_push(ret_folders, path_clean(policy->arena, "/", folder + home));
                break;
            }
        }
    }
}

/*
 * Toolchains of the user's that no workspace asks for, by the folders of PATH: a new project may need them. They are the last
 * to be read, so that whoever asks for one gets all of it.
 */
static void read_toolchains_on_path(struct policy *policy, struct diags *diags)
{
    static const struct source on_path = {.name = "PATH",
                                          .layer = LAYER_BASE,
                                          .asked_by = LAYER_BASE,
                                          .is_profile = true,
                                          .without_network = true};
    fs_names folders = {0}, found = {0};
    list_path(policy, &folders);
    struct profile_finder finder = finder_for(policy, LAYER_PROFILE);
    if (folders.count)
        profiles_on_path(&finder, &folders, &found);
    for (size_t i = 0; i < found.count; i++) {
        if (!fs_has_name(&policy->profiles_in_use, found.at[i]))
            use_profile(policy, (struct spot){.source = &on_path}, found.at[i], NULL, diags);
    }
    vec_free(&folders);
    vec_free(&found);
}

/* Parts of a git directory that could not be looked through are frozen as they are; so is where its settings lead. */
static void freeze_found_git(struct policy *policy)
{
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct git_repo *git = &policy->workspaces.at[i].git;
        for (size_t j = 0; j < git->whole.count; j++)
            add_found_rule(policy, VERB_FREEZE, &shipped, git->whole.at[j]);
        for (size_t j = 0; j < git->flagged.count; j++)
            add_found_rule(policy, VERB_FLAG, &shipped, git->flagged.at[j]);
    }
}

void policy_compose(const struct policy_request *request, struct arena *arena, struct policy *ret_policy,
                    struct diags *diags)
{
    struct policy *policy = ret_policy;
    *policy = (struct policy){.arena = arena, .request = *request};
    use_profile(policy, (struct spot){.source = &shipped}, "base", NULL, diags);
    read_file(policy, path_join(arena, admin_directory, "policy.bawn"), LAYER_ADMIN, false, diags);
    read_file(policy, path_join(arena, request->starts[START_CONFIG], "bawn/policy.bawn"), LAYER_USER, false,
              diags);
    if (request->extra_policy)
        read_file(policy, path_clean(arena, request->directory, request->extra_policy), LAYER_USER, true,
                  diags);
    read_arguments(policy, diags);
    find_workspaces(policy, diags);
    read_toolchains(policy, diags);
    read_agent(policy, diags);
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        read_repository(policy, i, diags);
        read_enclosing(policy, i, diags);
    }
    read_toolchains_on_path(policy, diags);
    freeze_found_git(policy);
    vec_reserve(&policy->rules, CERTIFICATE_VARIABLES); /* what is indexed stays where it is */
    index_rules(policy);
    show_certificates(policy);
    place_rules(policy, diags);
    if (diags->errors == 0)
        verify_places(policy, diags);
}

void policy_free(struct policy *policy)
{
    for (size_t i = 0; i < policy->workspaces.count; i++)
        git_repo_free(&policy->workspaces.at[i].git);
    vec_free(&policy->workspaces);
    vec_free(&policy->sources);
    vec_free(&policy->rules);
    vec_free(&policy->profiles_in_use);
    vec_free(&policy->certificates);
    vec_free(&policy->places);
    map_free(&policy->by_path);
    map_free(&policy->by_name);
    map_free(&policy->by_directory);
    map_free(&policy->by_host);
    vec_free(&policy->env_rules);
    vec_free(&policy->other_rules);
}
