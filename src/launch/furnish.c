#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/mounts.h"
#include "launch/inside.h"

/* Mounts a new file system. */
static int furnish(struct root *root, const char *path, const char *type, const char *const *options,
                   bool allow_devices, struct err *err)
{
    auto_fd int tree = mount_new(type, options, false, allow_devices, err);
    return tree < 0 ? -1 : place_attach(root, tree, path, true, err);
}

/* Shows a device of the host. */
static int show_device(struct root *root, const char *source, const char *path, struct err *err)
{
    auto_fd int tree = mount_open_restricted(root->host_dev, source, false, true, err);
    return tree < 0 ? -1 : place_attach(root, tree, path, false, err);
}

static int furnish_dev(struct root *root, struct err *err)
{
    static const char *const options[] = {"mode=0755", "size=64k", NULL};
    static const char *const pts_options[] = {"ptmxmode=0666", "mode=0620", NULL};
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
    static const struct {
        const char *name, *target;
    } links[] = {
        {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
        {"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
    };
    if (furnish(root, "/dev", "tmpfs", options, false, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(devices); i++) {
        const char *path = path_join(&root->arena, "/dev", devices[i]);
        if (show_device(root, devices[i], path, err) < 0)
            return -1;
    }
    int dev = place_directory(root, "/dev", err);
    if (dev < 0)
        return -1;
    for (size_t i = 0; i < array_len(links); i++) {
        if (symlinkat(links[i].target, dev, links[i].name) < 0)
            return err_sys(err, errno, "cannot make /dev/%s", links[i].name);
    }
    return furnish(root, "/dev/pts", "devpts", pts_options, true, err);
}

/* ttyname() finds the caller's terminal here; the terminal itself is in the host's /dev/pts. */
static int furnish_console(struct root *root, struct err *err)
{
    return root->terminal_tree < 0 ? 0 : place_attach(root, root->terminal_tree, "/dev/console", false, err);
}

/* Forbids further user namespaces, in this one and below: most escapes begin with one. */
static int close_user_namespaces(struct root *root, struct err *err)
{
    auto_fd int file = openat(root->fd, "proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "0", 1) != 1)
        return err_sys(err, errno, "cannot close nested user namespaces");
    return 0;
}

/* This user namespace gets at most half of what the machine allows a user. */
static int halve(const struct root *root, const char *machine, const char *own, struct err *err)
{
    char text[32] = "";
    const char *at = text;
    uint64_t most;
    auto_fd int file = openat(root->fd, machine, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0; /* a kernel without it */
    if (read(file, text, sizeof(text) - 1) <= 0 || !text_take_number(&at, &most))
        return err_sys(err, errno, "cannot read /%s", machine);
    auto_fd int limit = openat(root->fd, own, O_WRONLY | O_CLOEXEC);
    int size = snprintf(text, sizeof(text), "%" PRIu64, most / 2);
    if (limit < 0 || write(limit, text, (size_t)size) != size)
        return err_sys(err, errno, "cannot set /%s", own);
    return 0;
}

/* The kernel counts these for the user outside as well, where bawn and the user's own programs watch. */
static int leave_watches(const struct root *root, struct err *err)
{
    return halve(root, "proc/sys/fs/inotify/max_user_instances", "proc/sys/user/max_inotify_instances", err) <
                       0 ||
                   halve(root, "proc/sys/fs/inotify/max_user_watches", "proc/sys/user/max_inotify_watches",
                         err) < 0
               ? -1
               : 0;
}

/*
 * Nothing inside writes there. For /proc/sys this is a second wall: writing there needs an id or a capability that no process inside has.
 * A process may write its own oom_score_adj and the autogroup of its session, though, which bawn itself may be in.
 */
int furnish_close_proc(struct err *err)
{
    auto_fd int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc < 0 ? err_sys(err, errno, "cannot open /proc inside") : mount_make_read_only(proc, err);
}

static int furnish_proc(struct root *root, struct err *err)
{
    auto_fd int tree = mount_new("proc", NULL, false, false, err);
    if (tree < 0) {
        return err_hint(
            err, "parts of /proc are hidden here, as in many containers: give the container all of /proc "
                 "(Docker: --security-opt systempaths=unconfined)");
    }
    if (place_attach(root, tree, "/proc", true, err) < 0)
        return -1;
    if (!root->launch->nested && close_user_namespaces(root, err) < 0)
        return -1;
    if (!root->host_network)
        root->settings = openat(root->fd, "proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return leave_watches(root, err);
}

/*
 * File systems in memory use up memory. Their sizes are shares of the memory limit, so that together they stay below it
 * even without a control group. Profiles set the limit to four fifths of the machine's memory, from which the first
 * sizes are computed.
 */
static const struct {
    const char *path, *size;
    unsigned percent;
} places_in_memory[] = {{"/tmp", "size=40%", 50},
                        {"/var/tmp", "size=16%", 20},
                        {"/dev/shm", "size=16%", 20},
                        {"/run", "size=4%", 5}};

int furnish_private(struct root *root, const char *path, struct err *err)
{
    const char *options[] = {strcmp(path, "/run") == 0 ? "mode=0755" : "mode=1777", NULL, NULL};
    if (strcmp(path, "/dev") == 0)
        return furnish_dev(root, err) < 0 || furnish_console(root, err) < 0 ? -1 : 0;
    if (strcmp(path, "/proc") == 0)
        return furnish_proc(root, err);
    for (size_t i = 0; i < array_len(places_in_memory); i++) {
        if (strcmp(path, places_in_memory[i].path) == 0)
            options[1] = places_in_memory[i].size;
    }
    return furnish(root, path, "tmpfs", options, false, err);
}

int furnish_resize(struct root *root, struct err *err)
{
    uint64_t memory = limits_asked(root->launch->operations, "memory");
    for (size_t i = 0; memory != UINT64_MAX && i < array_len(places_in_memory); i++) {
        const char *option =
            arena_printf(&root->arena, "size=%" PRIu64, memory / 100 * places_in_memory[i].percent + 4096);
        if (mount_reconfigure(root->fd, places_in_memory[i].path + 1, option, err) < 0)
            return -1;
    }
    return 0;
}

static const char control_groups[] = "/sys/fs/cgroup";

bool furnish_is_own_view(const char *path)
{
    return strcmp(path, control_groups) == 0;
}

/* Shows the control groups from the sandbox's own down: its limits, but not how the host divides its sessions. */
int furnish_own_view(struct root *root, const char *path, struct err *err)
{
    auto_fd int tree = mount_new("cgroup2", NULL, true, false, err);
    if (tree < 0) /* a kernel without them has nothing to show */
        return errno_is_of_machine(err->errnum) ? -1 : 0;
    return place_attach(root, tree, path, true, err);
}

static int copy_of_host(const char *host, int to, struct err *err)
{
    auto_fd int from = open(host, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return err_sys(err, errno, "cannot read %s", host);
    if (place_copy(from, to, LARGEST_LAUNCH_FILE, host, err) < 0)
        return -1;
    return write(to, "\n", 1) == 1 ? 0 : err_sys(err, errno, "cannot copy %s", host);
}

/* `host` is a file whose content comes first, or NULL. */
static int write_after(struct root *root, const char *path, const char *host, const char *text,
                       struct err *err)
{
    int parent = place_open_parent(root, path, err);
    if (parent < 0)
        return -1;
    auto_fd int file =
        openat(parent, path_name(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0 && (errno == EEXIST || errno == EROFS))
        return 0; /* the plan shows the host's own */
    size_t size = strlen(text);
    if (file >= 0 && host && copy_of_host(host, file, err) < 0)
        return -1;
    if (file < 0 || write(file, text, size) != (ssize_t)size)
        return err_sys(err, errno, "cannot write %s inside", path);
    return 0;
}

static int write_file(struct root *root, const char *path, const char *text, struct err *err)
{
    return write_after(root, path, NULL, text, err);
}

/* Makes a file that is mounted over others and then loses its name (drop_name()). Returns its tree. */
static int make_nameless(struct root *root, const char *host, const char *text, mode_t mode, struct err *err)
{
    if (write_after(root, "/.nameless", host, text, err) < 0)
        return -1;
    if (fchmodat(root->fd, ".nameless", mode, 0) < 0)
        return err_sys(err, errno, "cannot make a file inside");
    return mount_open_restricted(root->fd, ".nameless", true, false, err);
}

/* Only after the file is mounted: the kernel does not mount files without a name. */
static int drop_name(struct root *root, struct err *err)
{
    return unlinkat(root->fd, ".nameless", 0) < 0 ? err_sys(err, errno, "cannot tidy up the new root") : 0;
}

/*
 * Programs that cannot do their work inside, and whose own messages would send their reader looking for what is broken. A script in their place says
 * what is not here and what to do. No program can become root; the others work where the plan shows what they need.
 */
enum needs { NEEDS_ROOT, NEEDS_PACKAGES, NEEDS_SERVICE };
static const struct {
    const char *path;
    enum needs needs;
} explained[] = {
    {"/usr/bin/sudo", NEEDS_ROOT},         {"/usr/bin/su", NEEDS_ROOT},
    {"/usr/bin/doas", NEEDS_ROOT},         {"/usr/bin/pkexec", NEEDS_ROOT},
    {"/usr/bin/apt", NEEDS_PACKAGES},      {"/usr/bin/apt-get", NEEDS_PACKAGES},
    {"/usr/bin/dnf5", NEEDS_PACKAGES},     {"/usr/bin/dnf-3", NEEDS_PACKAGES},
    {"/usr/bin/docker", NEEDS_SERVICE},    {"/usr/local/bin/docker", NEEDS_SERVICE},
    {"/usr/bin/podman", NEEDS_SERVICE},    {"/usr/bin/snap", NEEDS_SERVICE},
    {"/usr/bin/systemctl", NEEDS_SERVICE},
};
static const char explanation[] =
    "#!/bin/sh\n"
    "name=${0##*/}\n"
    "case $name in\n"
    "apt* | dnf* | snap) set -- 'the packages of this machine cannot be changed inside bawn; ask the person who started it to "
    "install what is missing, or install it into the project (npm, pip, cargo)' ;;\n"
    "docker | podman) set -- 'no container can be started inside bawn; leave what needs one to the person who started it' ;;\n"
    "systemctl) set -- 'the services of this machine cannot be reached inside bawn; start what the project needs as a "
    "program, or ask the person who started it' ;;\n"
    "*) set -- 'no program can become root inside bawn; ask the person who started it' ;;\n"
    "esac\n"
    "echo \"$name: $1\" >&2\n"
    "exit 1\n";

static int explain_programs(struct root *root, struct err *err)
{
    const struct launch *launch = root->launch;
    const struct operations *operations = launch->operations;
    bool is_whole = operations_find(operations, OP_HOST);
    const bool has[] = {
        [NEEDS_PACKAGES] =
            is_whole || operations_show(operations, "/etc/apt") || operations_show(operations, "/etc/dnf"),
        /* By a socket of the host's, or where DOCKER_HOST leads. podman needs no service, but namespaces. */
        [NEEDS_SERVICE] = is_whole || operations_find(operations, OP_SOCKET) || launch->nested ||
                          text_variable(launch->environment, "DOCKER_HOST"),
    };
    auto_fd int script = -1;
    for (size_t i = 0; i < array_len(explained); i++) {
        const char *path = explained[i].path;
        if (has[explained[i].needs])
            continue;
        auto_fd int place = place_find(root, path);
        if (place < 0 && errno_is_of_machine(errno))
            return err_sys(err, errno, "cannot find %s", path);
        if (place < 0)
            continue;
        /* The first place gets the tree, the others get copies of it. */
        auto_fd int copy = script < 0 ? -1 : mount_open_tree(script, "", err);
        if (script < 0)
            script = make_nameless(root, NULL, explanation, 0755, err);
        else if (copy < 0)
            return -1;
        if (script < 0 || mount_attach(copy < 0 ? script : copy, place, path, err) < 0)
            return -1;
    }
    return script < 0 ? 0 : drop_name(root, err);
}

bool furnish_makes(const struct operation *operation)
{
    return operation->kind == OP_BIND_READ &&
           (strcmp(operation->path, "/etc/profile") == 0 || strcmp(operation->path, "/etc/gitconfig") == 0);
}

/* Does the plan show the host's file, by its name or with all of /etc? */
static bool is_shown(const struct root *root, const char *path)
{
    vec_each (const struct operation, operation, root->launch->operations) {
        if (operation->kind == OP_BIND_READ && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

/* Makes a file for the sandbox; where all of /etc is shown, it covers the host's file. */
static int make_file(struct root *root, const char *path, const char *host, const char *text, struct err *err)
{
    auto_fd int place = place_find(root, path);
    struct stat status;
    if (place < 0)
        return write_after(root, path, host, text, err);
    if (fstat(place, &status) < 0 || !S_ISREG(status.st_mode))
        return 0;
    auto_fd int tree = make_nameless(root, host, text, 0644, err);
    return tree < 0 || mount_attach(tree, place, path, err) < 0 ? -1 : drop_name(root, err);
}

/* Debian's /etc/profile resets PATH: a login shell would lose the directories of nvm, cargo or pyenv. */
static int keep_path(struct root *root, struct err *err)
{
    if (!is_shown(root, "/etc/profile"))
        return 0;
    const char *text = arena_printf(&root->arena,
                                    "# Made by bawn: the system's own file, which keeps your PATH here.\n"
                                    "_bawn_path=${PATH-}\n"
                                    "%s\n"
                                    "if [ -n \"$_bawn_path\" ]; then PATH=$_bawn_path; export PATH; fi\n"
                                    "unset _bawn_path\n",
                                    root->profile);
    return make_file(root, "/etc/profile", NULL, text, err);
}

/* Replaces git's system-wide settings: the host's may contain tokens. */
static int configure_git(struct root *root, struct err *err)
{
    const char *text = arena_printf(&root->arena, "# Made by bawn.\n%s",
                                    root->launch->git_config ? root->launch->git_config : "");
    return make_file(root, "/etc/gitconfig", NULL, text, err);
}

/* Where ~/.ssh is a decoy, ssh must not read its keys by default, and needs another file for known hosts. */
static int configure_ssh(struct root *root, struct err *err)
{
    static const char text[] =
        "# Made by bawn: ~/.ssh is a decoy here. Name a key of the project's own with -i.\n"
        "Host *\n"
        "    IdentityFile none\n"
        "    UserKnownHostsFile ~/.ssh_known_hosts ~/.ssh/known_hosts\n";
    size_t decoy = decoy_find("ssh");
    return decoy < DECOY_COUNT && root->decoys.are_shown[decoy]
               ? write_file(root, "/etc/ssh/ssh_config", text, err)
               : 0;
}

/* The content of a small file of the host's, "" where it cannot be read. */
static const char *read_host_file(struct root *root, const char *path)
{
    enum { LARGEST = 256 * 1024 };
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    auto_buf struct buf text = {0};
    if (fd >= 0)
        buf_read(&text, fd, LARGEST);
    return arena_copy(&root->arena, text.bytes, text.size);
}

/* Runs while the host's root is still mounted. With the host's network, names are resolved as on the host. */
void furnish_prepare(struct root *root)
{
    root->profile = read_host_file(root, "/etc/profile");
    if (!root->host_network)
        return;
    root->hosts = read_host_file(root, "/etc/hosts");
    root->resolvers = read_host_file(root, "/etc/resolv.conf");
}

/* Writes the files of /etc and /run that belong to the sandbox alone. */
int furnish_files(struct root *root, struct err *err)
{
    static const char own_hosts[] = "127.0.0.1 localhost bawn\n::1 localhost bawn\n";
    static const char host_ports[] = "127.0.0.1 host.bawn.internal\n::1 host.bawn.internal\n";
    const struct operations *operations = root->launch->operations;
    if (ports_by_name(operations))
        root->resolvers =
            "nameserver 198.18.0.1\n"; /* PORT_NAMES_ADDRESS: the network's helper listens there */
    const char *hosts = arena_printf(&root->arena, "%s%s%s", root->hosts ? root->hosts : "", own_hosts,
                                     operations_find(operations, OP_HOST_PORT) ? host_ports : "");
    if (write_file(root, "/etc/hosts", hosts, err) < 0 ||
        (root->resolvers && write_file(root, "/etc/resolv.conf", root->resolvers, err) < 0))
        return -1;
    if (write_file(root, "/etc/hostname", "bawn\n", err) < 0 || keep_path(root, err) < 0 ||
        configure_git(root, err) < 0 || configure_ssh(root, err) < 0)
        return -1;
    const char *briefing = root->launch->briefing;
    if (briefing && write_file(root, BRIEFING_INSIDE, briefing, err) < 0)
        return -1;
    const char *policy = root->launch->policy;
    if (policy && write_file(root, POLICY_INSIDE, policy, err) < 0)
        return -1;
    for (size_t i = 0; i < root->launch->file_count; i++) {
        const struct launch_file *file = &root->launch->files[i];
        if (make_file(root, file->path, file->host, file->text, err) < 0)
            return -1;
    }
    return explain_programs(root, err);
}
