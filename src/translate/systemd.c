/* Properties for the [Service] section of a unit. */
#include <inttypes.h>
#include <string.h>

#include "translate/export.h"

/* A word as systemd reads it: quoted, with %% for a percent sign; `colon` where a colon separates. */
static void add_word(struct buf *out, const char *word, bool colon)
{
    buf_add_char(out, '"');
    for (const unsigned char *byte = (const unsigned char *)word; *byte; byte++) {
        if (*byte < ' ' || *byte == 0x7f)
            buf_printf(out, "\\x%02x", *byte);
        else if (*byte == '%')
            buf_add_str(out, "%%");
        else if (*byte == ':' && colon)
            buf_add_str(out, "\\\\:");
        else if (*byte == '"' || *byte == '\\')
            buf_printf(out, "\\%c", *byte);
        else
            buf_add_char(out, (char)*byte);
    }
    buf_add_char(out, '"');
}

static void add_property(struct export *export, const char *name, const char *path)
{
    buf_printf(export->out, "%s=", name);
    add_word(export->out, path, true);
    buf_add_char(export->out, '\n');
}

static void add_bind(struct export *export, const char *name, const struct mount *mount)
{
    if (strcmp(mount->source, mount->path) == 0) {
        add_property(export, name, mount->path);
        return;
    }
    auto_buf struct buf both = {0};
    add_word(&both, mount->source, true);
    both.size--; /* one word: SOURCE:PATH */
    both.bytes[both.size] = '\0';
    buf_add_char(&both, ':');
    auto_buf struct buf path = {0};
    add_word(&path, mount->path, true);
    buf_add(&both, buf_text(&path) + 1, path.size - 1);
    buf_printf(export->out, "%s=%s\n", name, buf_text(&both));
}

static void add_link(struct export *export, const struct mount *link, text_list *lost)
{
    struct mount bind = {.source = export_link_target(export, link), .path = link->path};
    if (bind.source)
        add_bind(export, "BindReadOnlyPaths", &bind);
    else
        vec_push(lost, link->path);
}

static void add_mount(struct export *export, const struct mount *mount, text_list *links)
{
    switch (mount->kind) {
    case MOUNT_EMPTY:
        if (strcmp(mount->path, "/proc") != 0 && strncmp(mount->path, "/dev", 4) != 0)
            add_property(export, "TemporaryFileSystem", mount->path);
        break;
    case MOUNT_READ:
        add_bind(export, "BindReadOnlyPaths", mount);
        break;
    case MOUNT_WRITE:
        add_bind(export, "BindPaths", mount);
        break;
    case MOUNT_HIDE:
        add_property(export, "InaccessiblePaths", mount->path);
        break;
    case MOUNT_LINK:
        add_link(export, mount, links);
        break;
    }
}

static void add_limits(struct export *export)
{
    static const struct {
        enum limit limit;
        const char *property;
    } properties[] = {{LIMIT_MEMORY, "MemoryMax"},
                      {LIMIT_PIDS, "TasksMax"},
                      {LIMIT_FILES, "LimitNOFILE"},
                      {LIMIT_TIME, "RuntimeMaxSec"}};
    for (size_t i = 0; i < array_len(properties); i++) {
        uint64_t amount = export_limit(export, properties[i].limit);
        if (amount != UINT64_MAX)
            buf_printf(export->out, "%s=%" PRIu64 "\n", properties[i].property, amount);
    }
    lose_limit(export, LIMIT_DISK);
    lose_limit(export, LIMIT_RATE);
}

static void add_environment(struct export *export)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_ENV_PASS)
            buf_printf(export->out, "PassEnvironment=%s\n", operation->name);
        if (!operation_sets(operation))
            continue;
        buf_add_str(export->out, "Environment=");
        add_word(export->out, arena_printf(export->arena, "%s=%s", operation->name, operation->value), false);
        buf_add_char(export->out, '\n');
    }
}

/* Can it be a value that is not quoted? A line's end would begin another setting, and systemd drops a blank or a backslash before one. */
static bool is_plain_value(const char *path)
{
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    }
    return !strchr(" \\", path[strlen(path) - 1]);
}

/* A path that is the whole value is not quoted. */
static void add_directory(struct export *export)
{
    const char *directory = policy_start(export->plan->policy);
    if (!is_plain_value(directory)) {
        lose(export, LOST_GRANT, "the directory in which the command starts: %s", directory);
        return;
    }
    buf_add_str(export->out, "WorkingDirectory=");
    for (const char *at = directory; *at; at++) {
        if (*at == '%')
            buf_add_char(export->out, '%');
        buf_add_char(export->out, *at);
    }
    buf_add_char(export->out, '\n');
}

void export_systemd(struct export *export)
{
    auto_vec mount_list mounts = {0};
    auto_vec text_list links = {0};
    export_mounts(export, &mounts);
    lose_hosts(export);
    lose_ports(export);
    buf_add_str(export->out, "[Service]\n"
                             "TemporaryFileSystem=/:ro\n"
                             "MountAPIVFS=yes\n"
                             "PrivateDevices=yes\n"
                             "PrivateIPC=yes\n"
                             "ProtectProc=invisible\n"
                             "ProcSubset=pid\n"
                             "ProtectKernelTunables=yes\n"
                             "ProtectControlGroups=yes\n"
                             "NoNewPrivileges=yes\n"
                             "CapabilityBoundingSet=\n"
                             "RestrictNamespaces=yes\n"
                             "RestrictSUIDSGID=yes\n"
                             "SystemCallArchitectures=native\n"
                             "SystemCallFilter=@system-service\n");
    if (export_net(export) != NET_OPEN)
        buf_add_str(export->out, "PrivateNetwork=yes\n");
    vec_each (const struct mount, mount, &mounts)
        add_mount(export, mount, &links);
    add_environment(export);
    add_limits(export);
    add_directory(export);
    lose_each(export, LOST_GRANT, &links, "this machine's symlinks");
    lose(export, LOST_OTHER, "Landlock, and the command's own process table");
    lose_what_is_bawns(export);
}
