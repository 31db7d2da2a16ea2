/* Codex's config.toml. Its sandbox says what can be written and whether there is a network; everything can be read. */
#include <string.h>

#include "base/text.h"
#include "translate/export.h"

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
        if (operation->kind == OP_FREEZE ||
            (operation->kind == OP_BIND_READ && operations_cover(&export->plan->operations, operation)))
            vec_push(&kept, operation->path);
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
    for (enum limit limit = LIMIT_MEMORY; limit <= LIMIT_TIME; limit++)
        lose_limit(export, limit);
    lose(export, LOST_GRANT, "the private home, and writable temporary directories");
    lose_what_is_bawns(export);
}
