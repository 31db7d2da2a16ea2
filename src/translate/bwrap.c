/* A shell script that runs its arguments in bubblewrap. Passed variables stay out of the text: the shell adds them. */
#include <string.h>

#include "base/text.h"
#include "translate/export.h"

static void add_words(struct export *export, const char *option, const char *first, const char *second)
{
    buf_printf(export->out, "    %s %s", option, shell_word(export->arena, first));
    if (second)
        buf_printf(export->out, " %s", shell_word(export->arena, second));
    buf_add_str(export->out, " \\\n");
}

static void add_empty(struct export *export, const char *path)
{
    if (strcmp(path, "/dev/shm") == 0)
        return; /* --dev has one */
    add_words(export,
              strcmp(path, "/dev") == 0    ? "--dev"
              : strcmp(path, "/proc") == 0 ? "--proc"
                                           : "--tmpfs",
              path, NULL);
}

static void add_mount(struct export *export, const struct mount *mount)
{
    switch (mount->kind) {
    case MOUNT_EMPTY:
        add_empty(export, mount->path);
        break;
    case MOUNT_READ:
        add_words(export, "--ro-bind", mount->source, mount->path);
        break;
    case MOUNT_WRITE:
        add_words(export, "--bind", mount->source, mount->path);
        break;
    case MOUNT_LINK:
        add_words(export, "--symlink", mount->source, mount->path);
        break;
    case MOUNT_HIDE:
        if (mount->is_directory) {
            add_words(export, "--perms 0000 --tmpfs", mount->path, NULL);
            add_words(export, "--remount-ro", mount->path, NULL);
        } else {
            add_words(export, "--ro-bind", "/dev/null", mount->path);
        }
        break;
    }
}

static void add_environment(struct export *export)
{
    buf_add_str(export->out, "    --clearenv \\\n");
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_ENV_PASS)
            buf_printf(export->out, "    ${%s+--setenv %s \"$%s\"} \\\n", operation->name, operation->name,
                       operation->name);
        else if (operation_sets(operation))
            add_words(export, "--setenv", operation->name, operation->value);
    }
}

void export_bwrap(struct export *export)
{
    auto_vec mount_list mounts = {0};
    export_mounts(export, &mounts);
    lose_hosts(export);
    lose_ports(export);
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        if (limit != LIMIT_SNAPSHOT && limit != LIMIT_JOURNALS)
            lose_limit(export, limit);
    }
    lose(export, LOST_OTHER, "Landlock and the filter of system calls");
    lose_what_is_bawns(export);

    buf_add_str(export->out, "# usage: sh FILE CMD...\n");
    vec_each (const struct mount, mount, &mounts) {
        if (mount->make)
            buf_printf(export->out, "mkdir -p -- %s || exit\n", shell_word(export->arena, mount->path));
    }
    buf_add_str(export->out,
                "exec bwrap \\\n"
                "    --unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try \\\n"
                "    --cap-drop ALL --die-with-parent --new-session \\\n");
    if (export_net(export) != NET_OPEN)
        buf_add_str(export->out, "    --unshare-net \\\n");
    vec_each (const struct mount, mount, &mounts)
        add_mount(export, mount);
    add_environment(export);
    add_words(export, "--chdir", policy_start(export->plan->policy), NULL);
    buf_add_str(export->out, "    -- \"$@\"\n");
}
