#include "kernel/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "kernel/cgroup.h"
#include "kernel/landlock.h"
#include "kernel/loopback.h"
#include "kernel/mounts.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"

DEFINE_TEXTS(trial_name, enum trial_name, PROBE_TRIALS, NAME_OF)

static void succeeded(struct trial *trial)
{
    *trial = (struct trial){.works = true};
}

static void record(struct trial *trial, int result, int errnum)
{
    *trial = (struct trial){.works = result >= 0, .errnum = result >= 0 ? 0 : errnum};
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reads a file without its last newline. False, and an empty text, if it cannot be read. */
static bool read_text(const char *path, char *ret_text, size_t capacity)
{
    ret_text[0] = '\0';
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, ret_text, capacity - 1);
    if (size < 0)
        return false;
    ret_text[size] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return true;
}

/* The whole of a file of /proc. */
static void read_all(const char *path, struct buf *ret_text)
{
    enum { MOST = 1 << 20 };
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)buf_read(ret_text, fd, MOST);
}

static int64_t read_setting(const char *path)
{
    char text[32], *end = NULL;
    if (!read_text(path, text, sizeof(text)))
        return PROBE_NOT_THERE;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    return errno || end == text ? PROBE_NOT_THERE : value;
}

static void find_container(struct host_caps *caps)
{
    if (access("/.dockerenv", F_OK) == 0)
        snprintf(caps->container, sizeof(caps->container), "Docker");
    else if (access("/run/.containerenv", F_OK) == 0)
        snprintf(caps->container, sizeof(caps->container), "Podman");
    else
        read_text("/run/systemd/container", caps->container, sizeof(caps->container));
}

/* Finds the mount of cgroup version 2: the fifth word of its line. */
static bool find_cgroup_mount(char *mountinfo, const char **ret_path)
{
    for (char *rest = mountinfo, *line; (line = strsep(&rest, "\n"));) {
        if (!strstr(line, " - cgroup2 "))
            continue;
        const char *word = NULL;
        for (int number = 0; number < 5; number++)
            word = strsep(&line, " ");
        *ret_path = word;
        return word != NULL;
    }
    return false;
}

static void look_at_cgroup(struct host_caps *caps)
{
    struct cgroup_place place = cgroup_find();
    caps->cgroup_holds = place.holds_memory && place.holds_pids;
    auto_buf struct buf mountinfo = {0}, membership = {0}, path = {0};
    read_all("/proc/self/mountinfo", &mountinfo);
    read_all("/proc/self/cgroup", &membership);
    const char *mount_point = NULL;
    const char *own = strstr(buf_text(&membership), "0::/");
    caps->cgroup_is_old = strstr(buf_text(&membership), ":memory:") != NULL;
    if (!own || !mountinfo.bytes || !find_cgroup_mount(mountinfo.bytes, &mount_point))
        return;
    caps->cgroup_found = true;
    buf_add_str(&path, mount_point);
    buf_add(&path, own + strlen("0::"), strcspn(own + strlen("0::"), "\n"));
    size_t size = path.size;
    buf_add_str(&path, "/cgroup.controllers");
    char controllers[256];
    read_text(path.bytes, controllers, sizeof(controllers));
    caps->cgroup_memory = text_has_word(controllers, "memory");
    caps->cgroup_pids = text_has_word(controllers, "pids");
    path.size = size;
    buf_add_str(&path, "/cgroup.procs");
    bool processes = access(path.bytes, W_OK) == 0;
    path.bytes[size] = '\0';
    caps->cgroup_writable = processes && access(path.bytes, W_OK) == 0;
}

/* A program of a snap is a symlink to snap, which starts it with a set-uid helper. */
static bool is_snap(const char *directory, size_t size, const char *name)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%.*s/%s", (int)size, directory, name);
    char real[PATH_MAX];
    if (!realpath(path.bytes, real))
        return false;
    return text_starts_with(real, "/snap/") || text_starts_with(real, "/var/lib/snapd/snap/") ||
           strcmp(real, "/usr/bin/snap") == 0;
}

static bool lies_in(const char *directory, size_t size, const char *name)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%.*s/%s", (int)size, directory, name);
    return access(path.bytes, X_OK) == 0;
}

static void look_for_snaps(const struct probe_request *request, struct host_caps *caps)
{
    size_t count = 0;
    for (size_t i = 0; request->search_path && request->programs[i] && i < PROBE_MOST_PROGRAMS; i++) {
        for (const char *at = request->search_path; *at;) {
            size_t size = strcspn(at, ":");
            if (size && lies_in(at, size, request->programs[i])) {
                if (is_snap(at, size, request->programs[i]))
                    caps->snaps[count++] = request->programs[i];
                break; /* the first match is the program that would run */
            }
            at += size + (at[size] == ':');
        }
    }
}

/* --- trying: in the child ------------------------------------------------------------------------------------------ */

/* In a tmpfs of this mount namespace, at the place where a run builds its root. */
static int try_mounts(int *ret_root, struct err *err)
{
    static const char *const options[] = {"mode=0755", "size=64k", NULL};
    if (mount_detach_propagation(err) < 0)
        return -1;
    auto_fd int tree = mount_open_restricted(AT_FDCWD, "/dev/null", true, false, err);
    if (tree < 0)
        return -1;
    auto_fd int tmpfs = mount_new("tmpfs", options, false, false, err);
    auto_fd int standing = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tmpfs < 0 || mount_attach(tmpfs, standing, "/", err) < 0)
        return -1;
    *ret_root = fd_take(&tmpfs);
    return 0;
}

static int try_overlay(int root_fd)
{
    static const char *const names[] = {"lower", "upper", "work", "merged"};
    for (size_t i = 0; i < array_len(names); i++) {
        if (mkdirat(root_fd, names[i], 0755) < 0)
            return -1;
    }
    if (fchdir(root_fd) < 0)
        return -1;
    return mount("overlay", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work,userxattr");
}

/* Sends all trials over the pipe; the parent takes those that are tried here. */
static _Noreturn void try_inside(bool is_root, int go_fd, int answer_fd)
{
    struct trial trials[TRIAL_COUNT] = {0};
    struct err err = {0};
    char go;
    if (read(go_fd, &go, 1) != 1)
        _exit(1);
    /* Started by root, this process has an id that does not exist here, and could make no file. */
    if (is_root && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
        _exit(1);
    auto_fd int root_fd = -1;
    int result = loopback_take_all_addresses(PORT_NAMES_ADDRESS, &err);
    record(&trials[TRIAL_LOOPBACK], result, err.errnum);
    result = try_mounts(&root_fd, &err);
    record(&trials[TRIAL_MOUNTS], result, err.errnum);
    if (result == 0) {
        auto_fd int proc = mount_new("proc", NULL, false, false, &err);
        record(&trials[TRIAL_PROC], proc, err.errnum);
        result = try_overlay(root_fd);
        record(&trials[TRIAL_OVERLAY], result, errno);
    }
    _exit(write(answer_fd, trials, sizeof(trials)) == sizeof(trials) ? 0 : 1);
}

/* --- trying: outside ------------------------------------------------------------------------------------------------ */

static const char *file_system_at(const char *path)
{
    static const struct {
        long magic;
        const char *name;
    } known[] = {
        {OVERLAYFS_SUPER_MAGIC, "overlayfs"}, {NFS_SUPER_MAGIC, "NFS"},           {FUSE_SUPER_MAGIC, "FUSE"},
        {0x2fc12fc1 /* ZFS */, "ZFS"},        {SMB2_SUPER_MAGIC, "SMB"},          {V9FS_MAGIC, "9p"},
        {CEPH_SUPER_MAGIC, "Ceph"},           {ECRYPTFS_SUPER_MAGIC, "ecryptfs"}, {TMPFS_MAGIC, "tmpfs"},
    };
    struct statfs status;
    for (size_t i = 0; statfs(path, &status) == 0 && i < array_len(known); i++) {
        if (status.f_type == known[i].magic)
            return known[i].name;
    }
    return "this file system";
}

/* Maps ids of the mount at the path, in a private copy. Mounts further in may differ. */
static int map_place(const char *path, int userns_fd, struct err *err)
{
    auto_fd int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return err_sys(err, errno, "cannot open %s", path);
    return mount_map_ids(tree, userns_fd, err);
}

static void try_mapped_mounts(const struct probe_request *request, pid_t child, struct host_caps *caps)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/ns/user", child);
    auto_fd int userns_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (userns_fd < 0) {
        record(&caps->trials[TRIAL_MAPPED_MOUNTS], -1, errno);
        return;
    }
    succeeded(&caps->trials[TRIAL_MAPPED_MOUNTS]);
    for (const char *const *place = request->places; *place; place++) {
        struct err err = {0};
        if (map_place(*place, userns_fd, &err) == 0 || err.errnum == ENOENT)
            continue;
        record(&caps->trials[TRIAL_MAPPED_MOUNTS], -1, err.errnum);
        caps->unmapped_place = *place;
        caps->unmapped_type = file_system_at(*place);
        return;
    }
}

/* All namespaces at once were refused: does a user namespace alone work? */
static void try_user_namespace(struct host_caps *caps)
{
    int pid_fd = -1;
    pid_t child = process_fork(CLONE_NEWUSER, -1, &pid_fd);
    if (child == 0)
        _exit(0);
    record(&caps->trials[TRIAL_USER_NAMESPACE], child, errno);
    if (child > 0) {
        waitpid(child, NULL, 0);
        close(pid_fd);
    }
}

/* While the child waits: maps its ids, starts it, and reads its answers. */
static void lead_child(const struct probe_request *request, pid_t child, int go_fd, int answer_fd,
                       struct host_caps *caps)
{
    struct id_map map = process_id_map();
    struct err err = {0};
    int mapped = process_map_ids(child, &map, &err);
    record(&caps->trials[TRIAL_ID_MAP], mapped, err.errnum);
    if (mapped < 0)
        return;
    if (!map.keeps_groups)
        try_mapped_mounts(request, child, caps);
    struct trial trials[TRIAL_COUNT];
    if (write(go_fd, "", 1) != 1 || read(answer_fd, trials, sizeof(trials)) != sizeof(trials))
        return; /* it was killed: nothing of this works */
    static const enum trial_name inside[] = {TRIAL_MOUNTS, TRIAL_PROC, TRIAL_LOOPBACK, TRIAL_OVERLAY};
    for (size_t i = 0; i < array_len(inside); i++)
        caps->trials[inside[i]] = trials[inside[i]];
}

static void try_namespaces(const struct probe_request *request, struct host_caps *caps)
{
    int go[2], answer[2], pid_fd = -1;
    if (pipe2(go, O_CLOEXEC) < 0)
        return;
    auto_fd int go_read = go[0], go_write = go[1];
    if (pipe2(answer, O_CLOEXEC) < 0)
        return;
    auto_fd int answer_read = answer[0], answer_write = answer[1];
    pid_t child = process_fork(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                                   CLONE_NEWCGROUP | CLONE_NEWNET,
                               -1, &pid_fd);
    if (child == 0) {
        close(go_write);
        try_inside(process_is_real_root(), go_read, answer_write);
    }
    record(&caps->trials[TRIAL_NAMESPACES], child, errno);
    if (child < 0) {
        try_user_namespace(caps);
        return;
    }
    succeeded(&caps->trials[TRIAL_USER_NAMESPACE]);
    close(fd_take(&answer_write)); /* so that reading ends if the child dies */
    lead_child(request, child, go_write, answer_read, caps);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pid_fd);
}

bool probe_namespaces(void)
{
    static const char *const no_places[] = {NULL};
    static const enum trial_name needed[] = {TRIAL_USER_NAMESPACE, TRIAL_NAMESPACES, TRIAL_ID_MAP,
                                             TRIAL_MOUNTS,         TRIAL_PROC,       TRIAL_LOOPBACK};
    const struct probe_request request = {.places = no_places};
    struct host_caps caps = {0};
    try_namespaces(&request, &caps);
    for (size_t i = 0; i < array_len(needed); i++) {
        if (!caps.trials[needed[i]].works && process_is_refusal(caps.trials[needed[i]].errnum))
            return false;
    }
    return true;
}

/* In a child, which is filtered from then on. */
static void try_judged_calls(struct trial *trial)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        if (process_no_new_privileges(&err) == 0 && seccomp_load_judged(SECCOMP_BARE, false, &err) >= 0)
            _exit(0);
        _exit(err.errnum > 0 && err.errnum < 255 ? err.errnum : EIO);
    }
    int status = child < 0 ? errno : process_wait(child);
    record(trial, status == 0 ? 0 : -1, status);
}

static void try_filters(struct host_caps *caps)
{
    caps->is_filtered = process_is_filtered();
    try_judged_calls(&caps->trials[TRIAL_JUDGED_CALLS]);
    errno = 0;
    caps->landlock_abi = landlock_abi();
    record(&caps->trials[TRIAL_LANDLOCK], caps->landlock_abi > 0 ? 0 : -1, errno);
    record(&caps->trials[TRIAL_SECCOMP], seccomp_is_there() ? 0 : -1, errno);
}

static bool core_starts_helper(void)
{
    char pattern[256] = "";
    struct rlimit limit;
    return read_text("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)) && *pattern == '|' &&
           getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
}

void probe_host(const struct probe_request *request, struct host_caps *ret_caps)
{
    unsigned uid = geteuid();
    *ret_caps = (struct host_caps){.uid = uid, .is_namespace_root = uid == 0 && !process_is_real_root()};
    struct utsname names;
    if (uname(&names) == 0) {
        snprintf(ret_caps->release, sizeof(ret_caps->release), "%s", names.release);
        snprintf(ret_caps->architecture, sizeof(ret_caps->architecture), "%s", names.machine);
    }
    ssize_t size = readlink("/proc/self/exe", ret_caps->program, sizeof(ret_caps->program) - 1);
    ret_caps->program[size < 0 ? 0 : size] = '\0';
    find_container(ret_caps);
    ret_caps->max_user_namespaces = read_setting("/proc/sys/user/max_user_namespaces");
    ret_caps->unprivileged_userns_clone = read_setting("/proc/sys/kernel/unprivileged_userns_clone");
    ret_caps->apparmor_restricts_userns =
        read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    read_text("/sys/kernel/security/lsm", ret_caps->security_modules, sizeof(ret_caps->security_modules));
    look_at_cgroup(ret_caps);
    ret_caps->core_starts_helper = core_starts_helper();
    look_for_snaps(request, ret_caps);
    try_filters(ret_caps);
    try_namespaces(request, ret_caps);
}
