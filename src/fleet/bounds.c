#include "fleet/bounds.h"

#include <string.h>

#include "base/path.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/parse.h"

/* The policy of the fleet's rules alone. With a workspace, as it is there. */
static int load(const struct caller *caller, const struct fleet *fleet, const char *const *command,
                const char *workspace, struct arena *arena, struct loaded *loaded, struct err *err)
{
    struct argument *rules = arena_alloc(arena, (fleet->rules.count + 1) * sizeof(*rules));
    for (size_t i = 0; i < fleet->rules.count; i++)
        rules[i] = fleet->rules.at[i];
    rules[fleet->rules.count] = (struct argument){VERB_WORKSPACE, workspace};
    const struct run_request request = {.rules = rules,
                                        .rule_count = fleet->rules.count + (workspace != NULL),
                                        .command = command,
                                        .agent = fleet->agent,
                                        .degraded = fleet->degraded,
                                        .unlinked = workspace,
                                        .fresh_home = true};
    struct caller there = *caller;
    there.directory = workspace ? workspace : fleet->directory;
    if (load_policy(&there, &request, loaded))
        return err_set(err, "there is no home directory");
    if (fs_check(&loaded->fs, err) < 0)
        return -1;
    for (size_t i = 0; loaded->diags.errors && i < loaded->diags.list.count; i++) {
        const struct diag *diag = &loaded->diags.list.at[i];
        if (diag->severity != SEVERITY_ERROR)
            continue;
        err_set(err, "%s", diag->message);
        return diag->hint ? err_hint(err, "%s", diag->hint) : -1;
    }
    return 0;
}

/* --- rules ------------------------------------------------------------------------------------------------------------ */

static int judge_net(const struct policy *policy, const struct rule *rule, struct err *err)
{
    const struct rule *decided = decide_net(policy, NULL).decides;
    enum net_mode most = decided ? decided->net : NET_ALLOW;
    return rule->net <= most ? 0
                             : err_set(err, "it asks for the network \"%s\", and the fleet has \"%s\"",
                                       net_mode_name(rule->net), net_mode_name(most));
}

static int judge_limit(const struct policy *policy, struct rule *rule, struct err *err)
{
    limit_resolve_share(policy, rule);
    const struct rule *decided = decide_limit(policy, rule->limit.limit, NULL).decides;
    return !decided || rule->limit.most <= decided->limit.most
               ? 0
               : err_set(err, "it asks for the limit %s, and the fleet has %s", rule->written,
                         decided->written);
}

/* A variable may be what ends a rule that keeps a secret outside. */
static int judge_env(const struct policy *policy, const struct rule *rule, struct err *err)
{
    const char *name = rule->env.name;
    const struct rule *decided = decide_env(policy, name, NULL).decides;
    if (decided && decided->verb == VERB_UNSET)
        return err_set(err, "it sets %s, which a rule of %s removes", name, decided->source->name);
    vec_each (const struct rule, other, &policy->rules) {
        for (size_t i = 0; other->verb == VERB_SECRET && i < other->secret->unless_count; i++) {
            const struct secret_unless *unless = &other->secret->unless[i];
            if (!unless->file && !unless->in_command && strcmp(unless->text, name) == 0)
                return err_set(err, "it sets %s, which could let a key into the sandbox", name);
        }
    }
    return 0;
}

static int judge_rules(const struct policy *policy, const struct task *task, struct err *err)
{
    static const struct source source = {.name = "task", .layer = LAYER_COMMAND_LINE};
    auto_arena struct arena arena = {0};
    int result = 0;
    vec_each (const struct argument, argument, &task->rules) {
        struct diags diags = {.arena = &arena};
        auto_vec rule_list rules = {0};
        parse_argument(&arena, &source, argument->verb, argument->text, &rules, &diags);
        bool is_fine = diags.errors == 0 && rules.count == 1;
        diags_free(&diags);
        if (!is_fine)
            return err_set(err, "its rule %s cannot be read", argument->text);
        result = argument->verb == VERB_NET     ? judge_net(policy, rules.at, err)
                 : argument->verb == VERB_LIMIT ? judge_limit(policy, rules.at, err)
                                                : judge_env(policy, rules.at, err);
        if (result < 0)
            break;
    }
    return result;
}

/* --- the workspace ---------------------------------------------------------------------------------------------------- */

/* The directory must be writable already as the fleet decided: so the rule for it opens no seal and leads through no link elsewhere. */
static int judge_workspace(struct policy *policy, const struct fleet *fleet, const struct task *task,
                           struct arena *arena, const char **ret_workspace, struct err *err)
{
    const char *path = path_clean(arena, fleet->directory, task->workspace);
    const struct fs_place *place = NULL;
    if (fs_resolve(policy->request.fs, path, &place, err) < 0)
        return -1;
    if (strpbrk(place->real, "*?[]\\$"))
        return err_set(err, "its workspace %s has a character that is special in rules", task->workspace);
    bool is_missing = place->kind == FILE_MISSING; /* the task will fail */
    if (!policy_in_named(policy, place->real) ||
        (!is_missing && decide_path(policy, place->real, NULL).access != ACCESS_WRITE))
        return err_set(
            err, "its workspace %s is not in a workspace of the fleet; pass --workspace %s if it should be",
            task->workspace, path);
    *ret_workspace = arena_str(arena, place->real);
    return 0;
}

int bounds_check(const struct caller *caller, const struct fleet *fleet, const struct task *task,
                 struct arena *arena, const char **ret_workspace, struct err *err)
{
    const char *const *command = task_command(task, fleet->command, arena, err);
    *ret_workspace = NULL;
    if (!command)
        return -1;
    if (task->workspace) {
        auto_loaded struct loaded loaded = {0};
        if (load(caller, fleet, command, NULL, arena, &loaded, err) < 0 ||
            judge_workspace(&loaded.policy, fleet, task, arena, ret_workspace, err) < 0)
            return -1;
    }
    if (!task->rules.count)
        return 0;
    auto_loaded struct loaded loaded = {0};
    return load(caller, fleet, command, *ret_workspace, arena, &loaded, err) < 0
               ? -1
               : judge_rules(&loaded.policy, task, err);
}

int bounds_check_all(const struct caller *caller, const struct fleet *fleet, const task_list *tasks,
                     struct err *err)
{
    auto_arena struct arena kept = {0}; /* as long as the policy */
    auto_loaded struct loaded loaded = {0};
    bool is_loaded = false;
    vec_each (const struct task, task, tasks) {
        auto_arena struct arena arena = {0};
        const char *ignored;
        struct err why = {0};
        if (!task->workspace && !task->rules.count)
            continue;
        const char *const *command = is_loaded ? NULL : task_command(task, fleet->command, &kept, err);
        if (!is_loaded && (!command || load(caller, fleet, command, NULL, &kept, &loaded, err) < 0))
            return -1;
        is_loaded = true;
        if ((task->workspace && judge_workspace(&loaded.policy, fleet, task, &arena, &ignored, &why) < 0) ||
            judge_rules(&loaded.policy, task, &why) < 0)
            return err_set(err, "line %zu of the task file cannot be used: %s", task->number, why.message);
    }
    return 0;
}
