/* Operations without a path: the network, the environment, limits. */
#include <string.h>

#include "base/text.h"
#include "plan/steps.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/request.h"

static void add_host(struct plan *plan, const struct rule *rule, uint16_t port)
{
    if (decide_host(plan->policy, &rule->host, port, NULL).decides != rule)
        return;
    struct operation operation = {
        .kind = rule->verb == VERB_CONNECT ? OP_CONNECT : OP_REFUSE,
        .because = rule,
        .value = host_text(plan->policy->arena, &rule->host),
        .port = port,
    };
    if (operation.kind == OP_CONNECT && rule->host.kind == HOST_ADDRESS) {
        operation.listening = endpoint_of_network(rule->host.address, rule->host.prefix, port);
        operation.is_network = rule->host.prefix < 128;
    }
    plan_add(plan, operation);
}

/* Can the host of a rule on requests be reached at all? If it is a wildcard, or lies within one: can a host that both cover? */
static bool is_reached(const struct policy *policy, const struct rule *asked)
{
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_CONNECT || !policy_rule_counts(policy, rule) ||
            rule->host.port != asked->host.port)
            continue;
        const struct host_object *narrow = host_covers(&rule->host, &asked->host)   ? &asked->host
                                           : host_covers(&asked->host, &rule->host) ? &rule->host
                                                                                    : NULL;
        const struct rule *decides =
            narrow ? decide_host(policy, narrow, rule->host.port, NULL).decides : NULL;
        if (decides && decides->verb == VERB_CONNECT)
            return true;
    }
    return false;
}

/* Requests to a host that cannot be reached need nobody to judge them. */
static void add_request(struct plan *plan, const struct rule *rule)
{
    struct arena *arena = plan->policy->arena;
    const char *methods = rule->request->methods;
    if (!is_reached(plan->policy, rule))
        return;
    plan_add(plan, (struct operation){
                       .kind = OP_REQUEST,
                       .because = rule,
                       .value = host_text(arena, &rule->host),
                       .port = rule->host.port,
                       .name = arena_printf(arena, "%s%s%s%s", rule->verb == VERB_REFUSE ? "not " : "",
                                            methods ? methods : "", methods ? " " : "", rule->request->path),
                   });
}

/* A refusal without a port refuses every port that a rule connects to. */
static void add_refusals(struct plan *plan, const struct rule *refuse)
{
    auto_vec VEC(uint16_t) ports = {0};
    vec_each (const struct rule, rule, &plan->policy->rules) {
        if (rule->verb != VERB_CONNECT || !policy_rule_counts(plan->policy, rule) ||
            !(host_covers(&rule->host, &refuse->host) || host_may_lead_to(&rule->host, &refuse->host)))
            continue;
        bool is_known = false;
        for (size_t j = 0; j < ports.count; j++)
            is_known |= ports.at[j] == rule->host.port;
        if (!is_known)
            vec_push(&ports, rule->host.port);
    }
    for (size_t i = 0; i < ports.count; i++)
        add_host(plan, refuse, ports.at[i]);
}

void plan_add_network(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const struct rule *net = decide_net(policy, NULL).decides;
    enum net_mode mode = net ? net->net : NET_ALLOW;
    plan_add(plan, (struct operation){.kind = OP_NET, .because = net, .value = net_mode_name(mode)});
    vec_each (const struct rule, rule, &policy->rules) {
        if (!policy_rule_counts(policy, rule))
            continue;
        bool is_host = verb_object(rule->verb) == OBJECT_HOST && mode == NET_ALLOW;
        if (is_host && rule->request)
            add_request(plan, rule);
        if (is_host && rule->request && rule->verb == VERB_REFUSE)
            continue;
        if (is_host && rule->host.port)
            add_host(plan, rule, rule->host.port);
        else if (is_host)
            add_refusals(plan, rule);
        else if (verb_object(rule->verb) == OBJECT_PORT)
            plan_add(plan, (struct operation){
                               .kind = rule->verb == VERB_PUBLISH ? OP_PUBLISH : OP_HOST_PORT,
                               .because = rule,
                               .port = rule->port.inside,
                               .host_port = rule->port.host,
                           });
    }
}

/*
 * An agent's profile may set a variable twice: with the tools of bawn, and before that without them. The
 * first counts where the agent does not get them. NULL: neither can be used.
 */
static const struct rule *with_or_without_tools(const struct policy *policy, const struct rule *rule)
{
    if (!strstr(rule->env.value, BAWN_VARIABLE) || rule->source->layer != LAYER_AGENT ||
        plan_tools_path(policy))
        return rule;
    vec_each (const struct rule, other, &policy->rules) {
        if (other->verb == VERB_ENV && other->source == rule->source && other->env.value &&
            strcmp(other->env.name, rule->env.name) == 0 && !strstr(other->env.value, BAWN_VARIABLE))
            return other;
    }
    return NULL;
}

static const char *value_of(const struct policy *policy, const struct rule *rule)
{
    bool has_tools = rule->source->layer == LAYER_AGENT && strstr(rule->env.value, BAWN_VARIABLE);
    return expand_value(policy, has_tools ? plan_with_tools(policy, rule->env.value) : rule->env.value);
}

void plan_add_environment(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    for (const char *const *entry = policy->request.environment; entry && *entry; entry++) {
        const char *name = arena_copy(policy->arena, *entry, strcspn(*entry, "="));
        const struct rule *rule = decide_env(policy, name, NULL).decides;
        if (decide_secret(policy, name) || plan_forge_sets(plan, name) || plan_ssh_key_sets(plan, name))
            continue;
        if (rule && rule->verb == VERB_ENV && (!rule->env.value || rule->env.is_default))
            plan_add(plan, (struct operation){.kind = OP_ENV_PASS, .because = rule, .name = name});
    }
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_ENV || !rule->env.value || decide_secret(policy, rule->env.name) ||
            plan_forge_sets(plan, rule->env.name) || plan_ssh_key_sets(plan, rule->env.name) ||
            decide_env(policy, rule->env.name, NULL).decides != rule ||
            (rule->env.is_default && text_variable(policy->request.environment, rule->env.name)))
            continue;
        const struct rule *used = with_or_without_tools(policy, rule);
        if (used)
            plan_add(plan, (struct operation){.kind = OP_ENV_SET,
                                              .because = used,
                                              .name = used->env.name,
                                              .value = value_of(policy, used)});
    }
}

/* "HOST:PORT HOST:PORT" */
static const char *hosts_of(struct arena *arena, const struct secret_object *secret)
{
    const char *text = "";
    for (size_t i = 0; i < secret->host_count; i++)
        text =
            arena_printf(arena, "%s%s%s", text, i ? " " : "",
                         host_with_port(arena, host_text(arena, &secret->hosts[i]), secret->hosts[i].port));
    return text;
}

/* The file inside gets placeholders for its tokens, even where nothing can swap them. */
static void mark_login(struct plan *plan, const char *file, const char *entry)
{
    vec_each (struct operation, operation, &plan->operations) {
        if (!operation_is_file_inside(operation) || strcmp(operation->source, file) != 0)
            continue;
        const char *others = operation->entries;
        operation->entries = !operation->is_login ? entry
                             : others && entry    ? arena_printf(plan->policy->arena, "%s %s", others, entry)
                                                  : NULL;
        operation->is_login = true;
    }
}

/* Only bawn's own list of hosts has a place where a placeholder can be swapped. */
void plan_add_secrets(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const struct rule *net = decide_net(policy, NULL).decides;
    bool is_swapped = !policy->request.full_access && (!net || net->net == NET_ALLOW);
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_SECRET || decide_secret(policy, rule->secret->name) != rule)
            continue;
        const char *value = text_variable(policy->request.environment, rule->secret->name);
        const char *file = secret_login_file(policy, rule->secret);
        if (file)
            mark_login(plan, file, rule->secret->key);
        if (!is_swapped || (rule->secret->source == SECRET_ENVIRONMENT && (!value || !*value)) ||
            (rule->secret->source == SECRET_LOGIN && !file))
            continue; /* there is nothing to keep outside */
        plan_add(plan, (struct operation){.kind = OP_SECRET,
                                          .because = rule,
                                          .name = rule->secret->name,
                                          .source = file,
                                          .is_login = file,
                                          .entries = file ? rule->secret->key : NULL,
                                          .value = hosts_of(policy->arena, rule->secret)});
    }
}

/* Only requests to hosts at which TLS ends at the vault can be searched, and plain ones that the network helper relays. */
void plan_add_leak(struct plan *plan)
{
    const struct rule *rule = decide_setting(plan->policy, VERB_LEAK);
    const char *answer = rule ? rule->text : "warn";
    size_t size = strcspn(answer, " ");
    const char *net = operations_net(&plan->operations);
    bool is_relayed = strcmp(net, "allow") == 0 ||
                      (strcmp(net, "off") == 0 && operations_find(&plan->operations, OP_HOST_PORT));
    bool is_plain = answer[size] && is_relayed;
    if (is_plain || operations_find(&plan->operations, OP_SECRET) ||
        operations_find(&plan->operations, OP_REQUEST))
        plan_add(plan, (struct operation){.kind = OP_LEAK,
                                          .because = rule,
                                          .name = is_plain ? "plain" : NULL,
                                          .value = arena_copy(plan->policy->arena, answer, size)});
}

static enum limit_means means_of(const struct plan *plan, enum limit limit, const struct rule *rule)
{
    switch (limit) {
    case LIMIT_MEMORY:
        return plan->request.cgroup_memory ? HELD_BY_CGROUP : HELD_BY_OOM_SCORE;
    case LIMIT_PIDS:
        /*
         * Without a user namespace, the kernel's limit counts all processes of the user. The judge can count those of the run, but a signal
         * that comes before it is asked ends a fork with EINTR, which some shells take for a failure: so it counts where somebody asked.
         */
        if (plan->request.on == ON_LANDLOCK)
            return plan->request.cgroup_pids  ? HELD_BY_CGROUP
                   : rule->source->is_profile ? HELD_BY_NOTHING
                                              : HELD_BY_JUDGE;
        /* With full access, processes of the machine's root are not counted. */
        return plan->request.cgroup_pids                                    ? HELD_BY_CGROUP
               : plan->request.is_root && plan->policy->request.full_access ? HELD_BY_NOTHING
                                                                            : HELD_BY_RLIMIT;
    case LIMIT_FILES:
        return HELD_BY_RLIMIT;
    case LIMIT_TIME:
        return HELD_BY_SUPERVISOR;
    case LIMIT_RATE: {
        const struct operation *net = operations_find(&plan->operations, OP_NET);
        return net && strcmp(net->value, "open") == 0 ? HELD_BY_NOTHING : HELD_BY_HELPER;
    }
    case LIMIT_DISK:
        return plan->policy->request.full_access ? HELD_BY_NOTHING : HELD_BY_SUPERVISOR;
    default:
        return HELD_BY_NOTHING;
    }
}

void plan_add_limits(struct plan *plan)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const struct rule *rule = decide_limit(plan->policy, limit, NULL).decides;
        if (rule)
            plan_add(plan, (struct operation){.kind = OP_LIMIT,
                                              .because = rule,
                                              .name = limit_name(limit),
                                              .amount = rule->limit.most,
                                              .held_by = rule->limit.most == UINT64_MAX
                                                             ? HELD_BY_NOTHING
                                                             : means_of(plan, limit, rule)});
    }
}

void plan_add_requirements(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_REQUIRE && policy_rule_counts(policy, rule))
            plan_add(plan, (struct operation){.kind = OP_REQUIRE, .because = rule, .name = rule->text});
    }
}

void plan_add_guards(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_GUARD && policy_rule_counts(policy, rule))
            plan_add(plan, (struct operation){.kind = OP_GUARD, .because = rule, .value = rule->written});
    }
}

void plan_add_artifacts(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_ARTIFACTS && policy_rule_counts(policy, rule))
            plan_add(plan, (struct operation){.kind = OP_ARTIFACTS, .because = rule, .name = rule->text});
    }
}
