/* Attacks that succeed because the policy allows it: no escape, and the remark names the rule. */
#include "prove/proof.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"

static const char *by_rule(const struct plan *plan, const struct rule *rule)
{
    struct arena *arena = plan->policy->arena;
    return arena_printf(arena, "`%s` gives it (%s)", verb_word(rule->verb), rule_origin(arena, rule));
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* The path on the host that an argument names: relative to the decoy project, with symlinks resolved. */
static const char *place_of(struct arena *arena, const char *project, const char *argument)
{
    static const char *const roots[] = {"/proc/self/root", "/proc/thread-self/root"};
    static const char cwd[] = "/proc/self/cwd";
    if (!argument)
        return NULL;
    for (size_t i = 0; i < array_len(roots); i++) {
        if (text_starts_with(argument, roots[i]))
            argument += strlen(roots[i]);
    }
    if (text_starts_with(argument, cwd))
        argument = arena_printf(arena, ".%s", argument + strlen(cwd));
    const char *path = *argument == '/' ? argument : arena_printf(arena, "%s/%s", project, argument);
    auto_free char *real = realpath(path, NULL);
    return real ? arena_str(arena, real) : path_clean(arena, "/", path);
}

/* A file of the project outside .git, which has the frozen ones. */
static bool is_work(const struct proof_context *proof, const char *path)
{
    const char *git = path_join(proof->plan->policy->arena, proof->project, ".git");
    return path_is_beneath(path, proof->project) && !path_is_beneath(path, git);
}

static const char *granted_path(const struct proof_context *proof, const struct attack_case *attack,
                                const char *path)
{
    static const char *const readers[] = {"read_file", "same_file", "list_names", "connect_unix", NULL};
    static const char *const writers[] = {"write_file", "open_writable", NULL};
    const struct plan *plan = proof->plan;
    bool reads = is_one_of(attack->attack, readers), writes = is_one_of(attack->attack, writers);
    if (!path || (!reads && !writes))
        return NULL;
    if (writes && proof->project_is_live && is_work(proof, path))
        return "that is the command's work; with --review it waits until you apply it";
    struct path_verdict verdict = decide_path(plan->policy, path, NULL);
    bool is_given = writes ? verdict.access == ACCESS_WRITE || verdict.access == ACCESS_FLAGGED
                           : verdict.access != ACCESS_NONE;
    return is_given && verdict.decides ? by_rule(plan, verdict.decides->rule) : NULL;
}

static const char *granted_network(const struct plan *plan, const struct attack_case *attack)
{
    const struct rule *rule = decide_net(plan->policy, NULL).decides;
    bool is_open = rule && rule->net == NET_OPEN && attack->promise == PROMISE_NETWORK;
    return is_open ? by_rule(plan, rule) : NULL;
}

/* The flag that gave up the wall which would have stopped the attack, or NULL. */
static const char *given_up(const struct plan *plan, const struct attack_case *attack)
{
    static const char *const by_path[] = {"connect_unix",  "same_file", "list_names", "read_file",
                                          "open_writable", "ipc",       NULL};
    bool is_of_files = attack->promise == PROMISE_FILES || attack->promise == PROMISE_PERSISTENCE ||
                       is_one_of(attack->attack, by_path);
    bool is_of_calls = attack->promise == PROMISE_KERNEL || attack->promise == PROMISE_TERMINAL;
    /* A command that may mount a /proc of its own has one that it can write. */
    bool is_of_own_proc =
        attack->promise == PROMISE_RESOURCES && strcmp(attack->attack, "open_writable") == 0;
    vec_each (const struct given_up, one, &plan->given_up) {
        bool explains = one->wall == WALL_FILES || one->wall == WALL_ROOT ? is_of_files
                        : one->wall == WALL_SECCOMP                       ? is_of_calls
                        : one->wall == WALL_LANDLOCK ? plan->request.nested && (is_of_calls || is_of_own_proc)
                                                     : false;
        if (explains)
            return arena_printf(plan->policy->arena, "%s turns the wall off", one->by);
    }
    return NULL;
}

/* The variables that hold a canary; targets_environment() sets them. */
static const char *const decoy_variables[] = {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "http_proxy"};

static const char *granted_variable(const struct plan *plan, const char *name)
{
    const struct rule *rule = decide_env(plan->policy, name, NULL).decides;
    return rule && rule->verb == VERB_ENV ? by_rule(plan, rule) : NULL;
}

/* The limit of processes may be higher than the number that the attack starts. */
static const char *granted_processes(const struct plan *plan, const char *const *arguments)
{
    if (strcmp(arguments[0], "processes") != 0)
        return NULL;
    const struct rule *rule = decide_limit(plan->policy, LIMIT_PIDS, NULL).decides;
    if (!rule)
        return "no rule limits them";
    return rule->limit.most > strtoull(arguments[1], NULL, 10) ? by_rule(plan, rule) : NULL;
}

const char *proof_granted(void *context, const struct attack_case *attack, const char *const *arguments)
{
    const struct proof_context *proof = context;
    const struct plan *plan = proof->plan;
    if (strcmp(attack->attack, "variable") == 0)
        return granted_variable(plan, arguments[0]);
    if (strcmp(attack->attack, "limits") == 0)
        return granted_processes(plan, arguments);
    for (size_t i = 0; strcmp(attack->name, "find-token") == 0 && i < array_len(decoy_variables); i++) {
        const char *reason = granted_variable(plan, decoy_variables[i]);
        if (reason)
            return reason;
    }
    const char *reason = given_up(plan, attack);
    if (!reason)
        reason = granted_network(plan, attack);
    return reason ? reason
                  : granted_path(proof, attack, place_of(plan->policy->arena, proof->project, arguments[0]));
}
