/* Codex's config.toml. Its sandbox says what can be written and whether there is a network; everything can be read. */
#include <string.h>

#include "base/text.h"
#include "translate/export.h"
#include "translate/import.h"
#include "translate/toml.h"

/* A basic string of TOML. */
static void add_string(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        if (*byte < ' ' || *byte == 0x7f)
            buf_printf(out, "\\u%04X", *byte);
        else if (*byte == '"' || *byte == '\\')
            buf_printf(out, "\\%c", *byte);
        else
            buf_add_char(out, (char)*byte);
    }
    buf_add_char(out, '"');
}

static void add_list(struct export *export, const char *key, enum operation_kind kind)
{
    buf_printf(export->out, "%s = [", key);
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind != kind)
            continue;
        buf_add_str(export->out, "\n    ");
        add_string(export->out, kind == OP_BIND_WRITE ? operation->path : operation->name);
        buf_add_char(export->out, ',');
    }
    buf_add_str(export->out, "\n]\n");
}

static void add_environment(struct export *export)
{
    buf_add_str(export->out, "\n[shell_environment_policy]\ninherit = \"all\"\n");
    add_list(export, "include_only", OP_ENV_PASS);
    buf_add_str(export->out, "\n[shell_environment_policy.set]\n");
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (!operation_sets(operation))
            continue;
        add_string(export->out, operation->name);
        buf_add_str(export->out, " = ");
        add_string(export->out, operation->value);
        buf_add_char(export->out, '\n');
    }
}

static void lose_covered(struct export *export)
{
    auto_vec text_list kept = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        const char *path = operation->kind == OP_COPY ? operation->source : operation->path;
        bool is_private =
            (operation->kind == OP_COPY || operation->kind == OP_SEED) && export_is_written(export, path);
        if (operation->kind == OP_FREEZE || is_private ||
            (operation->kind == OP_BIND_READ && operations_cover(&export->plan->operations, operation)))
            vec_push(&kept, path);
    }
    lose_each(export, LOST_REFUSAL, &kept, "writing inside a writable tree (Codex itself protects .git)");
    lose_operations(export, LOST_REFUSAL, OP_HIDE, "hidden");
    auto_vec text_list missing = {0};
    export_hidden_missing(export, &missing);
    lose_each(export, LOST_REFUSAL, &missing, "hidden paths that do not exist yet");
    lose_operations(export, LOST_REFUSAL, OP_SIFT, "secrets in");
}

void export_codex(struct export *export)
{
    bool writes = operations_find(&export->plan->operations, OP_BIND_WRITE) != NULL;
    bool is_open = export_net(export) == NET_OPEN;
    buf_printf(export->out, "sandbox_mode = \"%s\"\n", writes ? "workspace-write" : "read-only");
    if (writes) {
        buf_add_str(export->out, "\n[sandbox_workspace_write]\n");
        buf_printf(export->out, "network_access = %s\n", is_open ? "true" : "false");
        buf_add_str(export->out, "exclude_tmpdir_env_var = true\nexclude_slash_tmp = true\n");
        add_list(export, "writable_roots", OP_BIND_WRITE);
    } else if (is_open) {
        lose(export, LOST_GRANT, "the network: there is none with sandbox_mode = \"read-only\"");
    }
    add_environment(export);
    lose(export, LOST_REFUSAL, "reading: every file of the machine can be read");
    lose(export, LOST_REFUSAL, "Codex itself and its MCP servers: they run outside its sandbox");
    lose_covered(export);
    lose_hosts(export);
    lose_ports(export);
    for (enum limit limit = LIMIT_MEMORY; limit <= LIMIT_RATE; limit++)
        lose_limit(export, limit);
    lose(export, LOST_GRANT, "the private home, and writable temporary directories");
    lose_what_is_bawns(export);
}

/* --- import --- */

static void import_mode(struct import *import, const char *mode)
{
    if (strcmp(mode, "workspace-write") == 0)
        import_needless(import, "the workspace is writable");
    else if (strcmp(mode, "read-only") == 0)
        import_left(import, LOST_REFUSAL, "start bawn with --read-only");
    else
        import_left(import, LOST_GRANT, "bawn has --full-access, which is a flag and not a rule");
}

static void import_access(struct import *import, const char *value)
{
    if (strcmp(value, "false") == 0)
        import_no_network(import);
    else
        import_left(import, LOST_GRANT, "name the hosts with connect");
}

static const struct {
    const char *name;
    import_text_function *read;
} settings[] = {
    {"sandbox_mode", import_mode},
    {"sandbox_workspace_write.writable_roots", import_write},
    {"sandbox_workspace_write.network_access", import_access},
    {"shell_environment_policy.include_only", import_pass},
    {"shell_environment_policy.exclude", import_unset},
};

/* One value of the file. A key may be written with its table or below it: both are one name here. */
static void import_setting(void *context, const char *table, const char *key, const char *text)
{
    static const char set[] = "shell_environment_policy.set.";
    struct import *import = context;
    if (!text)
        return;
    const char *name = *table ? arena_printf(import->arena, "%s.%s", table, key) : key;
    import_item(import, "%s = %s", name, text);
    for (size_t i = 0; i < array_len(settings); i++) {
        if (strcmp(name, settings[i].name) == 0) {
            settings[i].read(import, text);
            return;
        }
    }
    if (text_starts_with(name, set))
        import_set(import, name + strlen(set), text);
    else
        import_left(import, text_starts_with(name, "permissions.") ? LOST_REFUSAL : LOST_OTHER,
                    "bawn has no such setting");
}

int import_codex(struct import *import, struct err *err)
{
    struct toml toml = {
        .arena = import->arena, .at = import->text, .found = import_setting, .context = import};
    if (toml_read(&toml, err) < 0)
        return -1;
    if (!strstr(import->text, "network_access")) {
        import_item(import, "network_access is not set: commands of Codex have no network");
        import_left(import, LOST_REFUSAL,
                    "add `net off` if nothing may be reached, the agent's model included");
    }
    return 0;
}
