/* The child, from the clone to process 1. start.c describes what it and the supervisor wait for. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "kernel/unix_sockets.h"
#include "launch/inside.h"

/* Overwrites the caller's environment in this process's memory, where /proc/1/environ would show it. */
static void scrub_environment(void)
{
    for (char **entry = environ; *entry; entry++)
        memset(*entry, 0, strlen(*entry));
}

/* Overwrites bawn's own arguments, which /proc/1/cmdline would show to the command. */
static void scrub_arguments(const struct launch *launch)
{
    static const char neutral[] = "bawn";
    if (!launch->own_arguments) /* git that is asked by a verb has none */
        return;
    explicit_bzero(launch->own_arguments, launch->own_arguments_size);
    if (launch->own_arguments_size >= sizeof(neutral))
        memcpy(launch->own_arguments, neutral, sizeof(neutral));
}

static int become_inside_ids(const struct id_map *map, struct err *err)
{
    if (map->keeps_groups)
        return process_map_own_ids(map, err);
    if (setgroups(0, NULL) < 0 || setresgid(map->inside_gid, map->inside_gid, map->inside_gid) < 0 ||
        setresuid(map->inside_uid, map->inside_uid, map->inside_uid) < 0)
        return err_sys(err, errno, "cannot become the user inside");
    /* After a change of ids a process may not open its own files in /proc. They are needed until the lockdown. */
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? err_sys(err, errno, "cannot become the user inside") : 0;
}

/* Everything that needs no plan: done while the supervisor still reads the policy. */
static int prepare(struct root *root, const struct child *child, struct own_network *network, struct err *err)
{
    if (become_inside_ids(child->map, err) < 0)
        return explain_namespaces(err);
    if (!child->host_network && own_network_begin(network, !root->launch->probably_no_names, err) < 0)
        return -1;
    /* Read in the host's network: the sandbox's own shows none of the host's sockets. */
    if (unix_sockets_read(&root->arena, &root->socket_list, err) < 0)
        return -1;
    if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0) {
        err_sys(err, errno, "this machine does not let bawn make namespaces");
        return explain_namespaces(err);
    }
    trace_point(root->launch->trace, "inside", "namespaces");
    return limits_set_fixed(err) < 0 ? -1 : root_prepare(root, err);
}

/* Hands over what the supervisor will need. Once process 1 is not dumpable, no other process can open it. */
static int hand_over_namespaces(const struct child *child, int decoys_fd, struct err *err)
{
    int user_fd = process_open_namespace("user", err);
    if (user_fd < 0 || hand_over(child->control_fd, 'u', user_fd, err) < 0)
        return -1;
    int mount_fd = process_open_namespace("mnt", err);
    if (mount_fd < 0 || hand_over(child->control_fd, 'm', mount_fd, err) < 0)
        return -1;
    return decoys_fd < 0 ? 0 : hand_over(child->control_fd, 'd', decoys_fd, err);
}

/* The sockets at which programs inside ask for more, and for signatures of keys that stay outside: in the sandbox's own /run. */
static int hand_over_sockets(const struct child *child, const struct launch *launch, struct err *err)
{
    for (size_t i = 0; i < OWN_SOCKETS; i++) {
        const struct own_socket *own = &own_sockets[i];
        if (own_socket_is_wanted(launch, own) && hand_over_socket(child->control_fd, own, own->path, err) < 0)
            return -1;
    }
    return 0;
}

/* Trees that were opened outside are numbered as in the plan; inside there are fewer operations. */
static struct shown *take_shown(struct arena *arena, const struct child *child, const struct launch *launch)
{
    size_t count = launch->operations->count;
    struct shown *shown = arena_alloc(arena, count * sizeof(*shown));
    for (size_t i = 0; i < count; i++)
        shown[i] = child->shown[launch->numbers[i]];
    return shown;
}

static int raise_walls(const struct child *child, struct launch *launch, struct kept *ret_kept,
                       struct err *err)
{
    struct root root = {
        .launch = launch, .settings = -1, .decoys = DECOYS_NONE, .host_network = child->host_network};
    /* Real root's ids are mapped from outside, before the plan is sent. Until then this process has no identity. */
    bool is_mapped_outside = !child->map->keeps_groups;
    if (is_mapped_outside && handover_receive(child->control_fd, &root.arena, launch, err) < 0)
        return -1;
    if (child->shown)
        root.shown = take_shown(&root.arena, child, launch);
    static struct own_network
        network; /* static: after a failure its thread may still run until the process ends */
    if (prepare(&root, child, &network, err) < 0 || hand_over_namespaces(child, root.decoys.fd, err) < 0)
        return -1;
    trace_point(launch->trace, "inside", "an empty root, /dev, /proc, /tmp");
    if (!is_mapped_outside && handover_receive(child->control_fd, &root.arena, launch, err) < 0)
        return -1;
    if (root_assemble(&root, err) < 0)
        return -1;
    ret_kept->decoys = root.decoys;
    trace_point(launch->trace, "inside", "the plan's root");
    if (!child->host_network && (own_network_enter(&network, &root, err) < 0 ||
                                 ports_hand_out(launch->operations, child->port_fd, err) < 0))
        return -1;
    fd_close(root.settings);
    if (hand_over_sockets(child, launch, err) < 0)
        return -1;
    /* A command that may mount its own /proc needs this one as it is: the kernel insists. */
    if (!launch->nested && furnish_close_proc(err) < 0)
        return -1;
    trace_point(launch->trace, "inside", "the network");
    if (sethostname("bawn", 4) < 0 || chdir(launch->directory) < 0)
        return err_sys(err, errno, "cannot enter %s in the sandbox", launch->directory);
    ret_kept->descriptors = child->descriptors;
    if (limits_set(launch->operations, &ret_kept->descriptors, err) < 0)
        return -1;
    scrub_environment();
    scrub_arguments(launch);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, errno, "cannot protect process 1 from other processes");
    ret_kept->arena = root.arena;
    int listener_fd = -1, result = lockdown(launch, &listener_fd, err);
    /* The listener hears of the command's own execution first: the supervisor must have it by then. */
    if (result == 0 && listener_fd >= 0)
        result = hand_over(child->control_fd, 'x', listener_fd, err);
    char all = HANDED_ALL;
    if (result == 0 && passing_send(child->control_fd, &all, 1, -1) < 0)
        result = err_sys(err, errno, "bawn outside the sandbox has ended");
    trace_point(launch->trace, "inside", "the walls, tried");
    return result;
}

_Noreturn void child_run(const struct child *child)
{
    struct launch launch = *child->launch;
    struct report report = {.kind = REPORT_FAILED, .status = STATUS_REFUSED};
    for (size_t i = 0; i < launch.host_fd_count; i++)
        close(launch.host_fds[i]);
    if (launch.own_group)
        setpgid(0, 0); /* signals that the terminal sends to the caller's job are not for process 1 */
    struct kept kept;
    if (raise_walls(child, &launch, &kept, &report.err) == 0)
        init_run(&launch, child->report_fd, child->control_fd, child->port_fd, &kept);
    if (write(child->report_fd, &report, sizeof(report)) < 0)
        _exit(STATUS_REFUSED);
    _exit(STATUS_REFUSED);
}
