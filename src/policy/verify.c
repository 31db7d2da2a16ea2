/* Compares placed rules with each other and reports what must not start. */
#include <string.h>

#include "base/path.h"
#include "policy/compose.h"
#include "policy/decide.h"

static bool is_grant(enum verb verb)
{
    switch (verb) {
    case VERB_WORKSPACE:
    case VERB_READ:
    case VERB_WRITE:
    case VERB_COPY:
    case VERB_SEED:
    case VERB_SIFT:
    case VERB_SYNC:
    case VERB_SOCKET:
        return true;
    default:
        return false;
    }
}

/* The writable tree around this path, or NULL. */
static const char *writable_tree_around(const struct policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *tree = policy->places.at[i];
        bool is_writable = tree->rule->verb == VERB_WORKSPACE || tree->rule->verb == VERB_WRITE;
        if (is_writable && path_is_beneath(path, tree->path) && strcmp(path, tree->path) != 0)
            return tree->path;
    }
    return NULL;
}

/* A symlink that a sandbox may have planted must not become a grant on its target. */
static int check_planted(const struct policy *policy, const struct placed *placed, struct diags *diags)
{
    for (const struct fs_link *link = placed->found->links; link; link = link->next) {
        const char *tree = writable_tree_around(policy, link->path);
        if (!tree)
            continue;
        const char *hint = arena_printf(policy->arena, "if you mean %s, name it directly", placed->path);
        return diag_error(
            diags, spot_of_rule(placed->rule), hint,
            "'%s' leads through the symbolic link %s, which is in %s, where a sandboxed program can write",
            placed->rule->written, link->path, tree);
    }
    return 0;
}

static void check_not_into_seal(const struct policy *policy, const struct placed *placed, struct diags *diags)
{
    struct path_verdict behind = decide_path_without(policy, placed->path, NULL);
    enum verb verb = behind.decides ? behind.decides->rule->verb : VERB_NONE;
    if (verb != VERB_SEAL && verb != VERB_HIDE)
        return;
    const struct rule *seal = behind.decides->rule;
    const char *hint = arena_printf(policy->arena, "if you mean %s, name it directly", placed->path);
    diag_error(diags, spot_of_rule(placed->rule), hint,
               "'%s' leads through a symbolic link to %s, which is %s (%s:%u)", placed->rule->written,
               placed->path, verb == VERB_SEAL ? "sealed" : "hidden", seal->source->name, seal->line);
}

static void check_kind(const struct placed *placed, struct diags *diags)
{
    const struct rule *rule = placed->rule;
    enum file_kind kind = placed->found->kind;
    struct spot spot = spot_of_rule(rule);
    bool on_command_line = rule->source->layer == LAYER_COMMAND_LINE && rule->line == 0;
    if (kind == FILE_MISSING) {
        if (on_command_line && rule->verb == VERB_WRITE)
            diag_error(diags, spot, "make it first, or check the name", "there is nothing at %s to write",
                       placed->spelled);
        else if (on_command_line)
            diag_error(diags, spot, "check the name", "there is nothing at %s", placed->spelled);
        else if (rule->source->layer == LAYER_USER && !(rule->verb == VERB_WRITE && rule->path.is_directory))
            diag_warning(diags, spot, NULL, "there is nothing at %s: the rule has no effect",
                         placed->spelled);
        return;
    }
    if (rule->path.is_directory && kind != FILE_DIRECTORY && !rule->source->is_profile)
        diag_error(diags, spot, "leave the trailing / out", "%s is not a directory", placed->spelled);
    if (rule->verb == VERB_SYNC && kind != FILE_REGULAR)
        diag_error(diags, spot, "`sync` is for one small file, such as a login; use `copy` or `write`",
                   "%s is not a regular file", placed->spelled);
    if (rule->verb == VERB_SEED && kind != FILE_DIRECTORY && !rule->source->is_profile)
        diag_error(diags, spot, "`seed` is for a folder of a cache; use `copy` for a file",
                   "%s is not a directory", placed->spelled);
    if (rule->verb == VERB_SIFT && kind != FILE_REGULAR)
        diag_error(diags, spot, "`sift` is for one file of settings", "%s is not a regular file",
                   placed->spelled);
    if (rule->verb == VERB_SOCKET && kind != FILE_SOCKET)
        diag_error(diags, spot, NULL, "%s is not a Unix socket", placed->spelled);
}

/* What goes into the private home must come from the home, unless it has its own place there. */
static void check_in_home(const struct policy *policy, const struct placed *placed, struct diags *diags)
{
    const char *home = policy->request.home;
    enum verb verb = placed->rule->verb;
    bool in_home = path_is_beneath(placed->spelled, home) && strcmp(placed->spelled, home) != 0;
    if (rule_is_of_home(policy, placed->rule, placed->spelled) && !in_home)
        diag_error(diags, spot_of_rule(placed->rule), "use `read` or `write` for it",
                   "`%s` is for files in your home directory, and %s is not in it", verb_word(verb),
                   placed->spelled);
    if (verb == VERB_WRITE && path_is_beneath(home, placed->path))
        diag_error(diags, spot_of_rule(placed->rule), "grant the directories that you need",
                   "'%s' would make your whole home directory writable", placed->rule->written);
}

/* The sandbox has its own root, /proc and /run; the host's cannot be granted. */
static void check_place(const struct placed *placed, struct diags *diags)
{
    if (strcmp(placed->path, "/") == 0)
        diag_error(diags, spot_of_rule(placed->rule),
                   "grant the directories that you need; --full-access opens everything",
                   "'%s' would open the whole machine", placed->rule->written);
    else if (path_is_beneath(placed->path, "/proc"))
        diag_error(diags, spot_of_rule(placed->rule), "leave it out: the sandbox has its own /proc",
                   "'%s' would show the processes of this machine", placed->rule->written);
    else if (strcmp(placed->path, "/run") == 0)
        diag_error(diags, spot_of_rule(placed->rule), "name the directory or socket in it that you need",
                   "the sandbox has its own '%s', so this machine's cannot be granted as a whole",
                   placed->rule->written);
}

static void check_grant(const struct policy *policy, const struct placed *placed, struct diags *diags)
{
    check_kind(placed, diags);
    check_place(placed, diags);
    check_in_home(policy, placed, diags);
    if (placed->found->links && check_planted(policy, placed, diags) == 0)
        check_not_into_seal(policy, placed, diags);
}

/* Profiles freeze paths that may not exist here; other layers name existing paths. */
static void check_freeze(const struct policy *policy, const struct placed *placed, struct diags *diags)
{
    bool is_in_rest = policy_in_workspace(policy, placed->path) && !policy_in_named(policy, placed->path);
    if (placed->rule->source->is_profile || policy->request.read_only || is_in_rest)
        return;
    struct path_verdict verdict = decide_path_without(policy, placed->path, placed->rule);
    bool is_writable = verdict.access >= ACCESS_FLAGGED || verdict.access == ACCESS_FROZEN;
    if (!is_writable)
        diag_error(diags, spot_of_rule(placed->rule), "leave it out: only writable files need freezing",
                   "%s is not in a writable directory", placed->spelled);
}

static void check_workspaces(const struct policy *policy, struct diags *diags)
{
    const char *remedy = policy->request.workspace_remedy;
    if (!remedy)
        remedy = "start in a project directory; --workspace opens a directory that is only sealed";
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        struct path_verdict verdict = decide_path(policy, workspace->path, NULL);
        if (verdict.access != ACCESS_NONE || !verdict.decides)
            continue;
        const struct rule *rule = verdict.decides->rule;
        diag_error(diags, spot_of_rule(rule), remedy, "cannot make %s the workspace: this rule makes it %s",
                   workspace->path, rule->verb == VERB_SEAL ? "sealed" : "hidden");
    }
}

/* With `lock net allow`, asking for more is an error. */
static bool asks_for_open_net(const struct policy *policy, const struct rule *rule)
{
    const struct rule *decides = rule->verb == VERB_NET ? decide_net(policy, NULL).decides : NULL;
    return decides && decides->locked && rule->net > decides->net;
}

/* With full access programs do not see the session's certificate, so nothing can read their requests. */
static void check_requests(const struct policy *policy, struct diags *diags)
{
    vec_each (const struct rule, rule, &policy->rules) {
        if (!policy->request.full_access || !rule->request || !policy_rule_counts(policy, rule))
            continue;
        diag_error(diags, spot_of_rule(rule), "leave the rule or --full-access out",
                   "with --full-access requests cannot be judged by their path");
        return;
    }
}

/* Full access would break any lock of the administrator. */
static void check_full_access(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; policy->request.full_access && i < policy->rules.count; i++) {
        const struct rule *rule = &policy->rules.at[i];
        if (!rule->locked)
            continue;
        diag_error(diags, spot_of_rule(rule), "leave --full-access out, or ask your administrator",
                   "the administrator locked this, and --full-access would override it");
        return; /* one is enough to refuse, and there may be hundreds */
    }
}

/* Reports the user's rules that a lock defeats, if the user would have more access than they believe. */
static void check_locks(const struct policy *policy, struct diags *diags)
{
    bool any_lock = false;
    for (size_t i = 0; i < policy->rules.count; i++)
        any_lock |= policy->rules.at[i].locked;
    for (size_t i = 0; any_lock && i < policy->rules.count; i++) {
        const struct rule *rule = &policy->rules.at[i];
        if (rule->source->layer < LAYER_USER)
            continue;
        struct fate fate = rule_fate(policy, rule);
        if (fate.loss == LOSS_LOCKED && (fate.gives_less || asks_for_open_net(policy, rule)))
            diag_error(diags, spot_of_rule(rule), "leave it out, or ask your administrator",
                       "the administrator locked this, so your rule would have no effect");
    }
}

static bool is_host_port(const struct policy *policy, uint16_t inside)
{
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_HOST_PORT && rule->port.inside == inside && policy_rule_counts(policy, rule))
            return true;
    }
    return false;
}

/* A port inside belongs to the host or to a server of the sandbox. As both, it would lead from the host back to the host. */
static void check_ports(const struct policy *policy, struct diags *diags)
{
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_PUBLISH && policy_rule_counts(policy, rule) &&
            is_host_port(policy, rule->port.inside))
            diag_error(
                diags, spot_of_rule(rule), "leave one of them out, or let the server inside use another port",
                "port %u inside already leads to this machine, by `host-port %u`, so it cannot be published",
                rule->port.inside, rule->port.inside);
    }
}

void verify_places(struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        if (is_grant(placed->rule->verb) && !placed->rule->source->only_tightens)
            check_grant(policy, placed, diags);
        else if (placed->rule->verb == VERB_FREEZE && !placed->has_wildcard)
            check_freeze(policy, placed, diags);
    }
    check_workspaces(policy, diags);
    check_ports(policy, diags);
    check_locks(policy, diags);
    check_full_access(policy, diags);
    check_requests(policy, diags);
}
