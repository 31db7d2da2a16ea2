/*
 * Claude Code's settings.json. Its sandbox holds the commands that it runs; rules in `permissions` hold its own tools. The program
 * itself, its hooks and its MCP servers run outside.
 */
#include <string.h>

#include "base/json.h"
#include "translate/export.h"
#include "translate/import.h"

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

/* --- import --- */

/* "Read(PATTERN)": the text in the brackets of a rule for this tool, or NULL. */
static const char *inside(struct import *import, const char *rule, const char *tool)
{
    size_t size = strlen(tool), whole = strlen(rule);
    if (whole < size + 2 || memcmp(rule, tool, size) != 0 || rule[size] != '(' || rule[whole - 1] != ')')
        return NULL;
    return arena_copy(import->arena, rule + size + 1, whole - size - 2);
}

/* A rule's pattern as a path: "//x" is "/x", a bare name is meant at any depth. NULL: it starts where the settings lie. */
static const char *path_of(struct import *import, const char *pattern)
{
    size_t size = strlen(pattern);
    if (size > 3 && strcmp(pattern + size - 3, "/**") == 0)
        pattern = arena_copy(import->arena, pattern, size - 3);
    if (pattern[0] == '/' && pattern[1] == '/')
        return pattern + 1;
    if (pattern[0] == '/')
        return NULL;
    return strchr(pattern, '/') ? pattern : arena_printf(import->arena, "./**/%s", pattern);
}

static void deny(struct import *import, const char *rule)
{
    const char *read = inside(import, rule, "Read"), *edit = inside(import, rule, "Edit"),
               *write = inside(import, rule, "Write"), *host = inside(import, rule, "WebFetch");
    const char *pattern = read ? read : edit ? edit : write;
    const char *path = pattern ? path_of(import, pattern) : NULL;
    if (pattern && !path)
        import_left(import, LOST_REFUSAL, "the path starts where the settings lie");
    else if (read)
        import_hide_pattern(import, path);
    else if (pattern)
        import_keep(import, path);
    else if (host && strncmp(host, "domain:", 7) == 0)
        import_refuse(import, host + 7);
    else
        import_left(import, LOST_REFUSAL, "bawn has no rules about an agent's tools");
}

static void allow(struct import *import, const char *rule)
{
    const char *read = inside(import, rule, "Read"), *edit = inside(import, rule, "Edit"),
               *host = inside(import, rule, "WebFetch");
    const char *pattern = read ? read : edit, *path = pattern ? path_of(import, pattern) : NULL;
    if (pattern && !path)
        import_left(import, LOST_GRANT, "the path starts where the settings lie");
    else if (read)
        import_read(import, path);
    else if (edit)
        import_write(import, path);
    else if (host && strncmp(host, "domain:", 7) == 0)
        import_connect(import, host + 7);
    else
        import_left(import, LOST_GRANT, "bawn has no rules about an agent's tools");
}

static void ask(struct import *import, const char *rule)
{
    (void)rule;
    import_left(import, LOST_REFUSAL, "bawn does not ask about an agent's tools");
}

static void import_permissions(struct import *import, struct json_value object)
{
    static const struct import_key keys[] = {
        {"additionalDirectories", import_write, NULL, LOST_GRANT},
        {"allow", allow, NULL, LOST_GRANT},
        {"deny", deny, NULL, LOST_REFUSAL},
        {"ask", ask, NULL, LOST_REFUSAL},
    };
    import_object(import, object, "permissions", keys, array_len(keys));
}

static void import_sandbox(struct import *import, struct json_value object)
{
    static const struct import_key keys[] = {
        {"filesystem", NULL, srt_import_filesystem, LOST_REFUSAL},
        {"network", NULL, srt_import_network, LOST_REFUSAL},
    };
    import_object(import, object, "sandbox", keys, array_len(keys));
}

static void import_environment(struct import *import, struct json_value object)
{
    struct json_value name, value;
    for (size_t at = 0; json_next_member(object, &at, &name, &value);) {
        const char *variable = json_text(import->arena, name), *text = json_text(import->arena, value);
        import_item(import, "env.%s", variable ? variable : "?");
        if (variable && text)
            import_set(import, variable, text);
        else
            import_left(import, LOST_GRANT, "it is not a plain text");
    }
}

int import_claude(struct import *import, struct err *err)
{
    static const struct import_key keys[] = {
        {"sandbox", NULL, import_sandbox, LOST_REFUSAL},
        {"permissions", NULL, import_permissions, LOST_REFUSAL},
        {"env", NULL, import_environment, LOST_GRANT},
    };
    struct json_value object;
    if (import_json(import, &object, err) < 0)
        return -1;
    import_object(import, object, "settings", keys, array_len(keys));
    return 0;
}
