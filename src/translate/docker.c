/*
 * A shell script that runs its arguments with `docker run`. The host's trees are bound over those of an image, whose own files
 * are visible wherever nothing is bound: they are not the host's.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "translate/export.h"

/* --mount takes fields as CSV does: one with a comma or a quote is quoted. */
static const char *csv_field(struct arena *arena, const char *name, const char *value)
{
    if (!strpbrk(value, ",\"\n"))
        return arena_printf(arena, "%s=%s", name, value);
    auto_buf struct buf quoted = {0};
    buf_printf(&quoted, "\"%s=", name);
    for (; *value; value++) {
        if (*value == '"')
            buf_add_char(&quoted, '"');
        buf_add_char(&quoted, *value);
    }
    buf_add_char(&quoted, '"');
    return arena_str(arena, buf_text(&quoted));
}

static void add_bind(struct export *export, const char *source, const char *path, bool is_writable)
{
    const char *value =
        arena_printf(export->arena, "type=bind,%s,%s%s", csv_field(export->arena, "src", source),
                     csv_field(export->arena, "dst", path), is_writable ? "" : ",readonly");
    buf_printf(export->out, "    --mount %s \\\n", shell_word(export->arena, value));
}

static void add_tmpfs(struct export *export, const char *path, const char *mode)
{
    const char *value = arena_printf(export->arena, "type=tmpfs,%s,tmpfs-mode=%s",
                                     csv_field(export->arena, "dst", path), mode);
    buf_printf(export->out, "    --mount %s \\\n", shell_word(export->arena, value));
}

static void add_mount(struct export *export, const struct mount *mount, text_list *links)
{
    static const char own[] = "/dev\n/dev/shm\n/proc"; /* docker makes these */
    switch (mount->kind) {
    case MOUNT_EMPTY:
        if (!text_has_word(own, mount->path))
            add_tmpfs(export, mount->path, "1777");
        break;
    case MOUNT_READ:
    case MOUNT_WRITE:
        add_bind(export, mount->source, mount->path, mount->kind == MOUNT_WRITE);
        break;
    case MOUNT_LINK:
        if (export_link_target(export, mount))
            add_bind(export, export_link_target(export, mount), mount->path, false);
        else
            vec_push(links, mount->path);
        break;
    case MOUNT_HIDE:
        if (mount->is_directory)
            add_tmpfs(export, mount->path, "0000");
        else
            add_bind(export, "/dev/null", mount->path, false);
        break;
    }
}

static void add_limits(struct export *export)
{
    uint64_t memory = export_limit(export, LIMIT_MEMORY), pids = export_limit(export, LIMIT_PIDS),
             files = export_limit(export, LIMIT_FILES);
    if (memory != UINT64_MAX)
        buf_printf(export->out, "    --memory %" PRIu64 "b --memory-swap %" PRIu64 "b \\\n", memory, memory);
    if (pids != UINT64_MAX)
        buf_printf(export->out, "    --pids-limit %" PRIu64 " \\\n", pids);
    if (files != UINT64_MAX)
        buf_printf(export->out, "    --ulimit nofile=%" PRIu64 " \\\n", files);
    lose_limit(export, LIMIT_TIME);
    lose_limit(export, LIMIT_DISK);
    lose_limit(export, LIMIT_RATE);
}

static void add_environment(struct export *export)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        const char *value = operation->name;
        if (operation->kind == OP_ENV_SET)
            value = arena_printf(export->arena, "%s=%s", operation->name, operation->value);
        if (operation->kind == OP_ENV_PASS || operation_sets(operation))
            buf_printf(export->out, "    --env %s \\\n", shell_word(export->arena, value));
    }
}

void export_docker(struct export *export)
{
    auto_vec mount_list mounts = {0};
    auto_vec text_list links = {0};
    export_mounts(export, &mounts);
    lose_hosts(export);
    lose_ports(export);
    buf_add_str(export->out, "# usage: IMAGE=debian:stable-slim sh FILE CMD...\n");
    vec_each (const struct mount, mount, &mounts) {
        if (mount->make)
            buf_printf(export->out, "mkdir -p -- %s || exit\n", shell_word(export->arena, mount->path));
    }
    buf_add_str(export->out,
                "exec docker run --rm --interactive --init --read-only \\\n"
                "    --user \"$(id -u):$(id -g)\" --cap-drop ALL --security-opt no-new-privileges \\\n");
    buf_printf(export->out, "    --network %s \\\n", export_net(export) == NET_OPEN ? "host" : "none");
    add_limits(export);
    vec_each (const struct mount, mount, &mounts)
        add_mount(export, mount, &links);
    add_environment(export);
    buf_printf(export->out, "    --workdir %s \\\n",
               shell_word(export->arena, policy_start(export->plan->policy)));
    buf_add_str(export->out, "    \"${IMAGE:?names no image}\" \"$@\"\n");
    lose_each(export, LOST_GRANT, &links, "this machine's symlinks");
    lose(export, LOST_OTHER, "Landlock, and bawn's filter of system calls (docker has its own)");
    lose_what_is_bawns(export);
}
