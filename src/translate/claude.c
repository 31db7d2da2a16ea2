/*
 * Claude Code's settings.json. Its sandbox holds the commands that it runs; rules in `permissions` hold its own tools. The program
 * itself, its hooks and its MCP servers run outside.
 */
#include <string.h>

#include "base/json.h"
#include "translate/export.h"

/* A rule's path is a pattern in gitignore's style, and // stands for the root. Returns false if a name cannot be written so. */
static bool add_denied(struct export *export, struct json *json, const char *tool,
                       const struct operation *operation)
{
    const char *path = operation->kind == OP_SIFT ? operation->source : operation->path;
    if (strpbrk(path, operation->is_pattern ? "[]\\()!" : "*?[]\\()!"))
        return false;
    bool whole = operation->is_directory || operation->missing || operation->is_pattern;
    json_str(json, NULL, arena_printf(export->arena, "%s(/%s)", tool, path));
    if (whole)
        json_str(json, NULL, arena_printf(export->arena, "%s(/%s/**)", tool, path));
    return true;
}

static void add_permissions(struct export *export, struct json *json)
{
    auto_vec text_list unsayable = {0};
    json_open(json, "permissions", '{');
    json_open(json, "deny", '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        bool hides = operation_hides(operation) || operation->kind == OP_SIFT;
        bool keeps = operation->kind == OP_FREEZE || operations_cover(&export->plan->operations, operation);
        bool is_said = (!hides || add_denied(export, json, "Read", operation)) &&
                       (!(hides || keeps) || add_denied(export, json, "Edit", operation));
        if (!is_said)
            vec_push(&unsayable, operation->path);
    }
    json_close(json, ']');
    json_close(json, '}');
    lose_each(export, LOST_REFUSAL, &unsayable, "names with special characters, for Claude Code's own tools");
}

static void add_environment(struct export *export, struct json *json)
{
    json_open(json, "env", '{');
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation_sets(operation))
            json_str(json, operation->name, operation->value);
    }
    json_close(json, '}');
}

void export_claude(struct export *export)
{
    struct json json = {.out = export->out};
    json_open(&json, NULL, '{');
    add_environment(export, &json);
    add_permissions(export, &json);
    json_open(&json, "sandbox", '{');
    json_bool(&json, "enabled", true);
    json_bool(&json, "failIfUnavailable", true);
    json_bool(&json, "allowUnsandboxedCommands", false);
    srt_add_network(export, &json);
    srt_add_filesystem(export, &json);
    json_close(&json, '}');
    json_close(&json, '}');
    lose(export, LOST_REFUSAL,
         "Claude Code itself, its hooks and its MCP servers: they run outside its sandbox");
    lose(export, LOST_REFUSAL, "variables: commands inherit all of them");
    lose_what_is_bawns(export);
}
