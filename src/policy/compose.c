#include "policy/compose.h"

#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/builtin.h"
#include "policy/parse.h"

static const char command_line_name[] = "command line";

/* Reads the policy file of a layer. A file that the user named must exist. */
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
        diag_error(diags, whole, "bawn runs nothing while a policy file cannot be read: fix or remove it",
                   "%s", err.message);
    else if (found == 0 && must_exist)
        diag_error(diags, whole, "check the name", "there is no such policy file");
    if (found <= 0 || !is_trusted_to_lock(policy, whole, place, diags))
        return;
    source->text = text;
    freeze_policy_file(policy, place);
    compose_source(policy, source, diags);
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
        auto_vec rule_list rules = {0};
        parse_argument(policy->arena, source, argument->verb, argument->text, &rules, diags);
        add_rules(policy, &rules, diags);
    }
}

static const struct source shipped = {
    .name = "bawn itself", .layer = LAYER_BASE, .asked_by = LAYER_BASE, .is_profile = true};

static void read_agent(struct policy *policy, struct diags *diags)
{
    const struct policy_request *request = &policy->request;
    struct profile_finder finder = profile_finder_for(policy, LAYER_AGENT);
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
        use_profile(policy, (struct spot){.source = request->agent ? &asked : &shipped}, policy->agent,
                    diags);
}

/*
 * Uses the toolchain profiles that match names in the top directories of the workspaces, the command's name, or the environment
 * that it runs in.
 */
static void read_toolchains(struct policy *policy, struct diags *diags)
{
    struct profile_finder finder = profile_finder_for(policy, LAYER_PROFILE);
    const char *const *words = policy->request.command;
    auto_vec fs_names directories = {0}, found = {0};
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        vec_push(&directories, workspace->path);
        for (size_t i = 0; i < workspace->parts.count; i++)
            vec_push(&directories, workspace->parts.at[i]);
    }
    profiles_detected(&finder, &directories, &found);
    const char *command = command_name(policy, words);
    if (command)
        profiles_for_command(&finder, command, &found);
    if (command_has_environment(policy, words))
        profiles_for_file(&finder, ENVIRONMENT_FILE, &found);
    for (size_t i = 0; i < found.count; i++)
        use_profile(policy, (struct spot){.source = &shipped}, found.at[i], diags);
}

/* Lists the directories of PATH that lie in the home, as "~/.cargo/bin". */
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
 * Uses the user's toolchains that are on PATH and that no workspace asks for: a new project may need them. They are read last,
 * so that a profile that another rule asks for is read in full.
 */
static void read_toolchains_on_path(struct policy *policy, struct diags *diags)
{
    static const struct source on_path = {.name = "PATH",
                                          .layer = LAYER_BASE,
                                          .asked_by = LAYER_BASE,
                                          .is_profile = true,
                                          .without_network = true};
    auto_vec fs_names folders = {0}, found = {0};
    list_path(policy, &folders);
    struct profile_finder finder = profile_finder_for(policy, LAYER_PROFILE);
    if (folders.count)
        profiles_on_path(&finder, &folders, &found);
    for (size_t i = 0; i < found.count; i++) {
        if (!fs_has_name(&policy->profiles_in_use, found.at[i]))
            use_profile(policy, (struct spot){.source = &on_path}, found.at[i], diags);
    }
}

/* Where a rule's relative path begins, in one workspace; NULL where it begins nowhere. */
static const char *start_of_rule(const struct policy *policy, const struct rule *rule, size_t workspace)
{
    if (rule->path.start == START_ROOT)
        return "/";
    if (rule->path.start != START_RELATIVE)
        return rule->path.start < START_GIT ? policy->request.starts[rule->path.start] : NULL;
    if (rule->source->all_workspaces)
        return policy->workspaces.at[workspace].path;
    return rule->source->start ? rule->source->start : policy->request.directory;
}

/* Might a `write` rule open the path? Places are not known yet: whether it counts is decided later. */
static bool may_be_written(const struct policy *policy, const char *path)
{
    if (policy_in_workspace(policy, path))
        return true;
    vec_each (const struct rule, rule, &policy->rules) {
        for (size_t i = 0; rule->verb == VERB_WRITE && i < policy->workspaces.count; i++) {
            const struct fs_place *place = NULL;
            struct err ignored;
            const char *start = start_of_rule(policy, rule, i);
            const char *tree =
                start ? path_clean(policy->arena, start, pattern_literal(policy->arena, rule->path.pattern))
                      : NULL;
            if (tree && fs_resolve(policy->request.fs, tree, &place, &ignored) == 0 &&
                path_is_beneath(path, place->real))
                return true;
        }
    }
    return false;
}

static void add_obeyed(struct policy *policy, enum verb verb, const git_obeyed_list *list)
{
    vec_each (const struct git_obeyed, obeyed, list) {
        if (obeyed->because && !may_be_written(policy, obeyed->path))
            continue;
        /* Other trees are shared also in a review, which asks about nothing at its end. */
        bool is_elsewhere = obeyed->because && !policy_in_workspace(policy, obeyed->path);
        add_found_rule(policy, is_elsewhere ? VERB_FREEZE : verb, &shipped, obeyed->path);
        struct rule *rule = &policy->rules.at[policy->rules.count - 1];
        rule->cause = obeyed->because;
        rule->path.is_link = obeyed->is_link;
        if (obeyed->because)
            rule->path.is_directory = obeyed->is_directory;
    }
}

/* Freezes the parts of a git directory that could not be searched; freezes or flags what git runs because something leads there. */
static void add_found_git(struct policy *policy)
{
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct git_repo git = policy->workspaces.at[i].git;
        add_obeyed(policy, VERB_FREEZE, &git.whole);
        add_obeyed(policy, VERB_FLAG, &git.flagged);
    }
}

/*
 * The results of a fleet, among them patches, are read by people and their scripts. So a run in a workspace
 * around them only reads them. They are written outside meanwhile, which a freeze would take for an attack.
 */
static void keep_fleets(struct policy *policy)
{
    static const struct source fleets = {.name = "bawn itself",
                                         .layer = LAYER_BASE,
                                         .asked_by = LAYER_BASE,
                                         .is_profile = true,
                                         .may_lose = true};
    struct fsview *fs = policy->request.fs;
    const char *state = policy->request.starts[START_STATE];
    const struct fs_place *place = NULL;
    struct err ignored; /* a failure of the machine is found by fs_check */
    char *paths = NULL;
    size_t size = 0;
    if (!state || fs_resolve(fs, path_join(policy->arena, state, FLEETS_ELSEWHERE), &place, &ignored) < 0 ||
        fs_read(fs, place->real, FLEETS_ELSEWHERE_LARGEST, &paths, &size, &ignored) <= 0)
        return;
    for (const char *path = paths; path < paths + size; path += strlen(path) + 1) {
        if (*path == '/' && policy_in_workspace(policy, path) && !policy_is_workspace(policy, path) &&
            fs_kind(fs, path) == FILE_DIRECTORY &&
            fs_kind(fs, path_join(policy->arena, path, "fleet.json")) == FILE_REGULAR)
            add_found_rule(policy, VERB_READ, &fleets, path);
    }
}

void policy_compose(const struct policy_request *request, struct arena *arena, struct policy *ret_policy,
                    struct diags *diags)
{
    enum { USUAL_RULES = 1024 }; /* of base and some profiles: they need not be moved while they are read */
    struct policy *policy = ret_policy;
    *policy = (struct policy){.arena = arena, .request = *request, .nested = arena_new(arena, struct map)};
    vec_reserve(&policy->rules, USUAL_RULES);
    use_profile(policy, (struct spot){.source = &shipped}, "base", diags);
    read_file(policy, path_join(arena, ADMIN_DIRECTORY, "policy.bawn"), LAYER_ADMIN, false, diags);
    read_file(policy, path_join(arena, request->starts[START_CONFIG], "bawn/policy.bawn"), LAYER_USER, false,
              diags);
    if (request->extra_policy)
        read_file(policy, path_clean(arena, request->directory, request->extra_policy), LAYER_USER, true,
                  diags);
    read_arguments(policy, diags);
    find_workspaces(policy, diags);
    find_agent_folder(policy);
    read_toolchains(policy, diags);
    read_agent(policy, diags);
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        read_repository(policy, i, diags);
        read_parts(policy, i, diags);
        read_enclosing(policy, i, diags);
    }
    read_toolchains_on_path(policy, diags);
    add_found_git(policy);
    keep_fleets(policy);
    open_forges(policy);
    expand_forges(policy);
    /* pointers in the index must stay valid */
    vec_reserve(&policy->rules, CERTIFICATE_VARIABLES + CERTIFICATE_SETTINGS_MOST + 1);
    index_rules(policy);
    show_certificates(policy);
    show_agent_socket(policy);
    settle_secrets(policy);
    place_rules(policy, diags);
    if (diags->errors == 0)
        verify_places(policy, diags);
}

void policy_free(struct policy *policy)
{
    vec_each (struct workspace, workspace, &policy->workspaces) {
        git_repo_free(&workspace->git);
        vec_free(&workspace->parts);
    }
    vec_free(&policy->workspaces);
    vec_free(&policy->sources);
    vec_free(&policy->rules);
    vec_free(&policy->without_forge);
    vec_free(&policy->profiles_in_use);
    vec_free(&policy->certificates);
    vec_free(&policy->places);
    map_free(&policy->by_path);
    map_free(&policy->by_name);
    map_free(&policy->by_directory);
    map_free(&policy->by_host);
    nested_free(policy);
    vec_free(&policy->env_rules);
    vec_free(&policy->secret_rules);
    vec_free(&policy->other_rules);
}
