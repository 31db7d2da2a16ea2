/* The plan as text and as JSON. The JSON is a documented schema: docs/PLAN.md. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"
#include "policy/decide.h"

DEFINE_TEXTS(operation_name, enum operation_kind, OPERATIONS, NAME_OF)

static DEFINE_TEXTS(limit_means_name, enum limit_means, LIMIT_MEANS, NAME_OF)

const char *rule_origin(struct arena *arena, const struct rule *rule)
{
    return rule->line ? arena_printf(arena, "%s:%u", rule->source->name, rule->line) : rule->source->name;
}

const char *limit_text(struct arena *arena, enum limit limit, uint64_t amount)
{
    static const struct {
        uint64_t factor;
        char unit;
    } sizes[] = {{1ull << 40, 'T'}, {1u << 30, 'G'}, {1u << 20, 'M'}, {1u << 10, 'K'}},
      times[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    if (amount == UINT64_MAX)
        return "none";
    bool is_size = limit_is_size(limit);
    for (size_t i = 0; (is_size || limit == LIMIT_TIME) && i < array_len(sizes); i++) {
        uint64_t factor = is_size ? sizes[i].factor : times[i].factor;
        if (amount % factor == 0)
            return arena_printf(arena, "%" PRIu64 "%c", amount / factor,
                                is_size ? sizes[i].unit : times[i].unit);
    }
    return arena_printf(arena, "%" PRIu64, amount);
}

void rule_add_json(struct json *json, const char *key, const struct rule *rule)
{
    json_open(json, key, '{');
    json_str(json, "verb", verb_word(rule->verb));
    json_str(json, "object", rule->written);
    json_str(json, "unless", rule->unless);
    json_str(json, "by", rule->by);
    json_true(json, "locked", rule->locked);
    json_str(json, "layer", layer_name(rule->source->layer));
    json_str(json, "file", rule->source->name);
    if (rule->line) {
        json_int(json, "line", rule->line);
        json_int(json, "column", rule->column);
    }
    json_close(json, '}');
}

static void add_operation(struct json *json, const struct operation *operation)
{
    json_open(json, NULL, '{');
    json_str(json, "op", operation_name(operation->kind));
    if (operation->path)
        json_str(json, operation->is_pattern ? "pattern" : "path", operation->path);
    if (operation->source)
        json_str(json, operation->kind == OP_LINK ? "target" : "source", operation->source);
    json_str(json, "name", operation->name);
    json_str(json, "value", operation->value);
    if (operation->kind == OP_LIMIT && operation->amount != UINT64_MAX)
        json_int(json, "amount", (int64_t)operation->amount);
    if (operation->held_by)
        json_str(json, "held_by", limit_means_name(operation->held_by));
    if (operation->port)
        json_int(json, "port", operation->port);
    if (operation->kind == OP_PUBLISH)
        json_int(json, "host_port", operation->host_port);
    json_true(json, "directory", operation->is_directory);
    json_true(json, "workspace", operation->is_workspace);
    json_true(json, "spares_workspaces", operation->spares_workspaces);
    json_true(json, "public", operation->is_public);
    json_true(json, "make", operation->make);
    json_true(json, "missing", operation->missing && !operation->make);
    if (operation->because)
        rule_add_json(json, "because", operation->because);
    json_close(json, '}');
}

static void add_workspaces(struct json *json, const struct policy *policy)
{
    json_open(json, "workspaces", '[');
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        json_open(json, NULL, '{');
        json_str(json, "path", workspace->path);
        json_str(json, "chosen_by", workspace->chosen_by);
        if (workspace->parts.count)
            json_open(json, "parts", '[');
        for (size_t j = 0; j < workspace->parts.count; j++)
            json_str(json, NULL, workspace->parts.at[j]);
        if (workspace->parts.count)
            json_close(json, ']');
        json_open(json, "git_directories", '[');
        for (size_t j = 0; j < workspace->git.dirs.count; j++)
            json_str(json, NULL, workspace->git.dirs.at[j]);
        json_close(json, ']');
        if (workspace->own_policy)
            json_bool(json, "trusted", workspace->is_trusted);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_modes(struct json *json, const struct plan *plan)
{
    const struct policy_request *request = &plan->policy->request;
    if (request->full_access || request->read_only)
        json_str(json, "mode", request->full_access ? "full-access" : "read-only");
    json_true(json, "nested", plan->request.nested);
    if (plan->request.on != ON_NAMESPACES)
        json_str(json, "walls", foundation_name(plan->request.on));
    if (!plan->given_up.count)
        return;
    json_open(json, "given_up", '[');
    vec_each (const struct given_up, given_up, &plan->given_up) {
        json_open(json, NULL, '{');
        json_str(json, "wall", wall_name(given_up->wall));
        json_str(json, "by", given_up->by);
        json_true(json, "if_needed", given_up->if_needed);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void plan_add_json(const struct plan *plan, const char *const *command, struct buf *out)
{
    const struct policy *policy = plan->policy;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_str(&json, "schema", "bawn.plan");
    json_int(&json, "version", PLAN_SCHEMA_VERSION);
    json_open(&json, "command", '[');
    for (; *command; command++)
        json_str(&json, NULL, *command);
    json_close(&json, ']');
    json_str(&json, "agent", policy->agent);
    json_str(&json, "directory", policy_start(policy));
    json_str(&json, "home", policy->request.home);
    add_modes(&json, plan);
    add_workspaces(&json, policy);
    json_open(&json, "operations", '[');
    for (size_t i = 0; i < plan->operations.count; i++)
        add_operation(&json, &plan->operations.at[i]);
    json_close(&json, ']');
    json_open(&json, "notes", '[');
    for (size_t i = 0; i < plan->notes.count; i++)
        json_str(&json, NULL, plan->notes.at[i].text);
    json_close(&json, ']');
    json_close(&json, '}');
}

/* The object of the operation, in a few words. */
static const char *object_text(struct arena *arena, const struct operation *operation)
{
    const char *text;
    switch (operation->kind) {
    case OP_LINK:
        return arena_printf(arena, "%s -> %s", operation->path, operation->source);
    case OP_HOME:
        if (!operation->source)
            return arena_printf(arena, "%s (thrown away at the end)", operation->path);
        return arena_printf(arena, "%s (kept in %s)", operation->path, operation->source);
    case OP_COPY:
    case OP_SIFT:
    case OP_SYNC:
        if (strcmp(operation->path, operation->source) == 0)
            break;
        return arena_printf(arena, "%s (from %s)", operation->path, operation->source);
    case OP_CONNECT:
    case OP_REFUSE:
        return host_with_port(arena, operation->value, operation->port);
    case OP_REQUEST:
        return arena_printf(arena, "%s %s", host_with_port(arena, operation->value, operation->port),
                            operation->name);
    case OP_PUBLISH:
        return arena_printf(arena, "%u:%u", operation->host_port, operation->port);
    case OP_HOST_PORT:
        return arena_printf(arena, "%u", operation->port);
    case OP_LEAK:
        return arena_printf(arena, "%s%s%s", operation->value, operation->name ? " " : "",
                            operation->name ? operation->name : "");
    case OP_NET:
    case OP_GUARD:
    case OP_ARGUMENT:
        return operation->value;
    case OP_ENV_PASS:
    case OP_ARTIFACTS:
    case OP_REQUIRE:
        return operation->name;
    case OP_ENV_SET:
        return arena_printf(arena, "%s=%s", operation->name, operation->value);
    case OP_SECRET:
        text = secret_carriers_text(arena, operation->because->secret);
        return arena_printf(arena, "%s%s to %s%s%s", operation->is_login ? "login " : "", operation->name,
                            operation->value, *text ? " " : "", text);
    case OP_FORGE:
        return arena_printf(arena, "%s %s", operation->name, operation->value);
    case OP_SSH_KEY:
        return arena_printf(arena, "%s to %s", operation->name, operation->value);
    case OP_LIMIT:
        return arena_printf(arena, "%s=%s%s%s%s", operation->name,
                            limit_text(arena, operation->because->limit.limit, operation->amount),
                            operation->held_by ? " (by " : "", limit_means_name(operation->held_by),
                            operation->held_by ? ")" : "");
    default:
        break;
    }
    const char *mark = operation->make ? " (made if missing)" : operation->missing ? " (missing)" : "";
    return arena_printf(arena, "%s%s%s", operation->path,
                        operation->is_directory && operation->path[1] ? "/" : "", mark);
}

void plan_add_text(const struct plan *plan, struct buf *out)
{
    enum { NAME_COLUMNS = 10, OBJECT_COLUMNS = 56 };
    struct arena *arena = plan->policy->arena;
    vec_each (const struct operation, operation, &plan->operations) {
        const char *object = object_text(arena, operation);
        size_t start = out->size;
        buf_add_str(out, operation_name(operation->kind));
        buf_pad(out, start, NAME_COLUMNS);
        size_t columns = text_add_printable(out, object, strlen(object));
        buf_pad(out, out->size - columns, OBJECT_COLUMNS);
        buf_add_str(out, "  ");
        const char *origin = operation->because ? rule_origin(arena, operation->because) : "always";
        text_add_printable(out, origin, strlen(origin));
        buf_add_char(out, '\n');
    }
}
