#include "kernel/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

#define NAME_START "bawn-"
#define ASIDE      "bawn.outside" /* where the caller moves to; not a maker's name, and so never stale */

/* Reads a small file; false if it cannot be read or is too long. */
static bool read_at(int directory_fd, const char *name, char *ret_text, size_t capacity)
{
    auto_fd int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, ret_text, capacity - 1);
    ret_text[size < 0 ? 0 : size] = '\0';
    return size >= 0 && (size_t)size < capacity - 1;
}

static int write_at(int directory_fd, const char *name, const char *text)
{
    auto_fd int fd = openat(directory_fd, name, O_WRONLY | O_CLOEXEC);
    size_t size = strlen(text);
    return fd >= 0 && write(fd, text, size) == (ssize_t)size ? 0 : -1;
}

/* Reads the controllers that a file lists: "cgroup.controllers" those available, "cgroup.subtree_control" those enabled. */
static bool read_controllers(int group_fd, const char *file, struct cgroup_place *place)
{
    char controllers[256];
    if (!read_at(group_fd, file, controllers, sizeof(controllers)))
        return false;
    place->holds_memory = text_has_word(controllers, "memory");
    place->holds_pids = text_has_word(controllers, "pids");
    return place->holds_memory || place->holds_pids;
}

/* May this process make a group here (needs the directory) and start a process in it (needs the list of processes)? */
static bool may_divide(int group_fd)
{
    return faccessat(group_fd, "cgroup.procs", W_OK, 0) == 0 && faccessat(group_fd, ".", W_OK, 0) == 0;
}

static bool is_alone_in(int group_fd)
{
    char processes[64], own[64];
    snprintf(own, sizeof(own), "%d\n", getpid());
    return read_at(group_fd, "cgroup.procs", processes, sizeof(processes)) && strcmp(processes, own) == 0;
}

/* The path of this process's group below the mount of version 2; false if there is none. */
static bool find_own(char *ret_path, size_t capacity)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    not_zeroed char membership[4096];
    if (!read_at(AT_FDCWD, "/proc/self/cgroup", membership, sizeof(membership)))
        return false;
    const char *own = text_starts_with(membership, "0::/") ? membership : strstr(membership, "\n0::/");
    if (!own)
        return false;
    own = strchr(own, '/');
    int size = (int)strcspn(own, "\n");
    for (size_t i = 0; i < array_len(mounts); i++) {
        auto_fd int mount = open(mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (mount < 0 || faccessat(mount, "cgroup.controllers", F_OK, 0) < 0)
            continue;
        int written = snprintf(ret_path, capacity, "%s%.*s", mounts[i], size > 1 ? size : 0, own);
        return written > 0 && (size_t)written < capacity && !strstr(ret_path, "/..");
    }
    return false;
}

struct cgroup_place cgroup_find(void)
{
    struct cgroup_place place = {0};
    if (!find_own(place.path, sizeof(place.path)))
        return (struct cgroup_place){0};
    auto_fd int own = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int parent = own < 0 ? -1 : openat(own, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Root's own group may contain processes and groups. Any other caller makes the group beside its own. */
    if (own >= 0 && may_divide(own) && read_controllers(own, "cgroup.subtree_control", &place))
        return place;
    if (parent >= 0 && may_divide(parent) && read_controllers(parent, "cgroup.subtree_control", &place)) {
        *strrchr(place.path, '/') = '\0';
        return place;
    }
    place.must_move = true;
    if (own >= 0 && may_divide(own) && is_alone_in(own) &&
        read_controllers(own, "cgroup.controllers", &place))
        return place;
    /* Without a controller a group limits nothing, but all that is in it can be stopped at once. */
    place.must_move = false;
    return own >= 0 && may_divide(own) ? place : (struct cgroup_place){0};
}

/* Moves the caller away, so that the controllers can be enabled for new groups. */
static int step_aside(int group_fd, const struct cgroup_place *place, struct err *err)
{
    if ((mkdirat(group_fd, ASIDE, 0755) < 0 && errno != EEXIST) ||
        write_at(group_fd, ASIDE "/cgroup.procs", "0") < 0 ||
        (place->holds_memory && write_at(group_fd, "cgroup.subtree_control", "+memory") < 0) ||
        (place->holds_pids && write_at(group_fd, "cgroup.subtree_control", "+pids") < 0))
        return err_sys(err, errno, "cannot divide the control group %s", place->path);
    return 0;
}

/* Removes the groups of dead makers. The kernel refuses if a process is still in one. */
static void remove_stale(int parent_fd)
{
    auto_dir DIR *directory = directories_list(parent_fd);
    if (!directory)
        return;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char *end = NULL;
        if (!text_starts_with(entry->d_name, NAME_START))
            continue;
        long maker = strtol(entry->d_name + strlen(NAME_START), &end, 10);
        if (maker > 0 && *end == '\0' && kill((pid_t)maker, 0) < 0 && errno == ESRCH)
            unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR);
    }
}

static int set_limit(int group_fd, const char *file, uint64_t most, struct err *err)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, most);
    if (most != UINT64_MAX && write_at(group_fd, file, text) < 0)
        return err_sys(err, errno, "cannot set %s of the sandbox's control group", file);
    return 0;
}

int cgroup_limit(const struct cgroup *cgroup, uint64_t memory, uint64_t pids, struct err *err)
{
    if ((cgroup->holds_memory && set_limit(cgroup->fd, "memory.max", memory, err) < 0) ||
        (cgroup->holds_pids && set_limit(cgroup->fd, "pids.max", pids, err) < 0))
        return -1;
    /* Without swap, so that a command over its limit does not slow the machine down. Not every kernel has swap. */
    if (cgroup->holds_memory && memory != UINT64_MAX && write_at(cgroup->fd, "memory.swap.max", "0") < 0 &&
        errno != ENOENT)
        return err_sys(err, errno, "cannot keep the sandbox's control group out of swap");
    return 0;
}

int cgroup_make(const struct cgroup_place *place, struct cgroup *ret_cgroup, struct err *err)
{
    auto_fd int parent = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return err_sys(err, errno, "cannot open the control group %s", place->path);
    if (place->must_move && step_aside(parent, place, err) < 0)
        return -1;
    remove_stale(parent);
    struct cgroup cgroup = {.holds_memory = place->holds_memory, .holds_pids = place->holds_pids};
    snprintf(cgroup.name, sizeof(cgroup.name), NAME_START "%d", getpid());
    /* A group of this name was left by a process that had this number before. */
    if (mkdirat(parent, cgroup.name, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make a control group in %s", place->path);
    cgroup.fd = open_directory_at(parent, cgroup.name);
    if (cgroup.fd < 0)
        return err_sys(err, errno, "cannot open the sandbox's control group");
    cgroup.parent_fd = fd_take(&parent);
    *ret_cgroup = cgroup;
    return 0;
}

/* "low 0\nmax 3\noom_kill 1\n": the number of one of them. */
static uint64_t count_of(const struct cgroup *cgroup, const char *file, const char *name)
{
    char text[512];
    if (cgroup->fd < 0 || !read_at(cgroup->fd, file, text, sizeof(text)))
        return 0;
    size_t size = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, size) == 0 && line[size] == ' ')
            return strtoull(line + size + 1, NULL, 10);
    }
    return 0;
}

struct cgroup_hits cgroup_read_hits(const struct cgroup *cgroup)
{
    return (struct cgroup_hits){count_of(cgroup, "memory.events", "oom_kill"),
                                count_of(cgroup, "pids.events", "max")};
}

bool cgroup_freeze(const struct cgroup *cgroup, bool is_frozen)
{
    return cgroup->fd >= 0 && write_at(cgroup->fd, "cgroup.freeze", is_frozen ? "1" : "0") == 0;
}

bool cgroup_is_frozen(const struct cgroup *cgroup)
{
    return count_of(cgroup, "cgroup.events", "frozen") == 1;
}

void cgroup_remove(struct cgroup *cgroup)
{
    if (cgroup->parent_fd < 0)
        return;
    close(cgroup->fd);
    unlinkat(cgroup->parent_fd, cgroup->name, AT_REMOVEDIR);
    close(cgroup->parent_fd);
    *cgroup = CGROUP_NONE;
}
