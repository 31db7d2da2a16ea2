/*
 * Shows a running sandbox one more file or tree of the host. Process 1 cannot: it sees nothing of the host any more, and Landlock forbids it
 * to mount. So the supervisor forks a child, which
 *
 *   1. enters the sandbox's user namespace and makes a mount namespace of its own there, a copy of the host's;
 *   2. opens the path in that copy through no link, and insists that it is the file that was pinned before a person was asked;
 *   3. restricts it, and covers in its own copy what the policy hides. Nothing inside sees that copy, so nothing is visible for a moment;
 *   4. if a directory is given for writing, finds in it what git on the host obeys, and makes that read-only;
 *   5. takes the covered tree along into the sandbox's mount namespace, and attaches it there at the same path.
 *
 * Real root's ids are mapped outside, as at the start: its child enters the user namespace in step 5 only.
 *
 * The child executes and writes nothing, follows no link, stays in the host's pid namespace and is opaque. It reports one struct err through a
 * pipe; an empty message means that the tree is in its place. The places that it hid or made read-only come in a file in memory: the supervisor
 * holds them from then on as those of the plan.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "git/within.h"
#include "kernel/beneath.h"
#include "kernel/mounts.h"
#include "kernel/process.h"
#include "kernel/unix_sockets.h"
#include "launch/inside.h"

enum { LARGEST_PLACES = 16 * 1024 * 1024 };

static bool is_same_file(int a, int b)
{
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The kernel forgets both with a change of credentials. */
static int stay_opaque(pid_t parent, struct err *err)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
        getppid() != parent)
        return err_set(err, "bawn outside the sandbox has ended");
    return 0;
}

/* From here on this process sees the host's files in a copy of its mounts, and can mount there. */
static int enter_copy(const struct launched *launched, const struct give *give, struct err *err)
{
    if (stay_opaque(give->parent, err) < 0)
        return -1;
    if ((!give->maps_ids && setns(launched->handed[HANDED_USER], CLONE_NEWUSER) < 0) ||
        unshare(CLONE_NEWNS) < 0)
        return err_sys(err, errno, "cannot make a copy of this machine's mounts");
    return stay_opaque(give->parent, err) < 0 ? -1 : mount_detach_propagation(err);
}

/* Real root becomes root of the sandbox: the places that it makes there belong to it. */
static int enter_sandbox(const struct launched *launched, const struct give *give, struct err *err)
{
    if (give->maps_ids && (setns(launched->handed[HANDED_USER], CLONE_NEWUSER) < 0 ||
                           setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
        return err_sys(err, errno, "cannot enter the sandbox's user namespace");
    if (setns(launched->handed[HANDED_MOUNTS], CLONE_NEWNS) < 0)
        return err_sys(err, errno, "cannot enter the sandbox's mounts");
    return stay_opaque(give->parent, err);
}

/* As at the start: root inside is an id outside that nobody has. */
static int map_ids(int tree, struct err *err)
{
    struct id_map map = process_id_map();
    auto_fd int userns_fd = map_namespace_open(&map, err);
    return userns_fd < 0 ? -1 : mount_map_ids(tree, userns_fd, err);
}

/* Tells the supervisor of a place: its struct, then its path with the NUL. */
static int tell_place(const struct give *give, struct given_place place, struct err *err)
{
    const char *path = place.path;
    off_t told = lseek(give->places_fd, 0, SEEK_CUR);
    place.path = NULL;
    if (told > LARGEST_PLACES)
        return err_set(err, "%s has too much that is hidden, or that git obeys",
                       give->operations->at[0].path);
    if (told < 0 || write_whole(give->places_fd, &place, sizeof(place)) < 0 ||
        write_whole(give->places_fd, path, strlen(path) + 1) < 0)
        return err_sys(err, errno, "cannot tell what is in it");
    return 0;
}

static int cover(const struct root *copy, const struct give *give, const char *path, struct err *err)
{
    auto_fd int place = place_find(copy, path);
    if (place < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, errno, "cannot hide %s", path);
    auto_fd int nothing = cover_open(copy, place, err);
    if (nothing < 0 || mount_attach(nothing, place, path, err) < 0)
        return -1;
    return tell_place(give, (struct given_place){.path = path, .is_hidden = true}, err);
}

/* Covers what the operations hide, what their patterns match, and the host's sockets. */
static int cover_hidden(struct root *copy, const struct give *give, struct err *err)
{
    if (mask_find(copy, err) < 0)
        return -1;
    vec_each (const struct operation, operation, copy->launch->operations) {
        if (operation->kind != OP_HIDE || operation->is_pattern)
            continue;
        if (root_pin_way(copy, operation->path, err) < 0 || cover(copy, give, operation->path, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < copy->masked.count; i++) {
        if (cover(copy, give, copy->masked.at[i], err) < 0)
            return -1;
    }
    return 0;
}

/* What git on the host obeys can only be read, and no directory above it be renamed. */
static int keep(struct root *copy, const struct give *give, const char *path, struct err *err)
{
    struct stat status;
    if (root_pin_parents(copy, path, err) < 0)
        return -1;
    auto_fd int place = place_find(copy, path);
    auto_fd int tree = place < 0 ? err_sys(err, errno, "cannot find %s", path)
                                 : mount_open_restricted(place, "", true, false, err);
    if (tree < 0 || mount_attach(tree, place, path, err) < 0)
        return -1;
    if (fstat(tree, &status) < 0)
        return err_sys(err, errno, "cannot look at %s", path);
    return tell_place(
        give, (struct given_place){.path = path, .device = status.st_dev, .inode = status.st_ino}, err);
}

static int keep_git(struct root *copy, const struct give *give, struct err *err)
{
    struct fsview fs = {.root_fd = copy->fd, .arena = &copy->arena};
    git_paths found = {0};
    int result = git_find_within(&fs, give->operations->at[0].path, &found, err);
    for (size_t i = 0; result == 0 && i < found.count; i++)
        result = keep(copy, give, found.at[i], err);
    vec_free(&found);
    fs_free(&fs);
    return result;
}

/* Returns the covered tree, which is not attached anywhere. */
static int assemble(struct root *copy, const struct give *give, struct err *err)
{
    const struct operation *shown = &give->operations->at[0];
    struct shown tree = {-1, -1};
    auto_fd int place = place_find(copy, shown->path);
    if (place < 0 || !is_same_file(place, give->pinned_fd))
        return err_set(err, "%s is not the file that you were asked about: it has been replaced",
                       shown->path);
    auto_fd int restricted = mount_open_restricted(place, "", shown->kind == OP_BIND_READ, false, err);
    if (restricted < 0 || (give->maps_ids && map_ids(restricted, err) < 0) ||
        mount_attach(restricted, place, shown->path, err) < 0)
        return -1;
    tree.tree = restricted;
    struct shown *all = arena_alloc(&copy->arena, give->operations->count * sizeof(*all));
    for (size_t i = 0; i < give->operations->count; i++)
        all[i] = i ? (struct shown){-1, -1} : tree;
    copy->shown = all;
    if (cover_hidden(copy, give, err) < 0)
        return -1;
    if (shown->kind == OP_BIND_WRITE && shown->is_directory && keep_git(copy, give, err) < 0)
        return -1;
    return mount_open_tree(restricted, "", err);
}

static int give_inside(const struct launch *launch, const struct launched *launched, const struct give *give,
                       struct err *err)
{
    struct launch of_grant = {.operations = give->operations, .terminal_fd = -1};
    struct root copy = {.launch = &of_grant, .fd = -1}, root = {.launch = launch, .fd = -1};
    const struct operation *shown = &give->operations->at[0];
    if (unix_sockets_read(&copy.arena, &copy.socket_list, err) < 0 || enter_copy(launched, give, err) < 0)
        return -1;
    copy.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int tree = copy.fd < 0 ? err_sys(err, errno, "cannot open /") : assemble(&copy, give, err);
    if (tree < 0)
        return -1;
    if (enter_sandbox(launched, give, err) < 0)
        return -1;
    root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0)
        return err_sys(err, errno, "cannot open the sandbox's root");
    return place_attach(&root, tree, shown->path, shown->is_directory, err);
}

static _Noreturn void give_and_report(const struct launch *launch, const struct launched *launched,
                                      const struct give *give, int report_fd)
{
    struct err report = {0};
    struct arena arena = {0};
    struct operations operations = amended_operations(&arena, launch->operations, launch->amendments);
    struct launch amended = *launch;
    amended.operations = &operations;
    if (give_inside(&amended, launched, give, &report) == 0)
        report = (struct err){0};
    _exit(write(report_fd, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

int launch_give(const struct launch *launch, struct launched *launched, const struct give *give,
                struct giving *ret_giving, struct err *err)
{
    int ends[2];
    if (launch_take_handed(launched, false, err) <= 0 || launched->handed[HANDED_MOUNTS] < 0)
        return err_set(err, "the sandbox is not ready yet");
    auto_fd int places_fd = memfd_create("places", MFD_CLOEXEC);
    if (places_fd < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    struct give mine = *give;
    mine.parent = getpid();
    mine.maps_ids = launch->operations->is_root;
    mine.places_fd = places_fd;
    pid_t child = fork();
    if (child == 0)
        give_and_report(launch, launched, &mine, ends[1]);
    int errnum = errno;
    close(ends[1]);
    if (child > 0) {
        *ret_giving = (struct giving){.child = child, .fd = ends[0], .places_fd = fd_take(&places_fd)};
        return 0;
    }
    close(ends[0]);
    return err_sys(err, errnum, "no process could be started");
}

/* The child wrote them; a part that is not whole is left out. */
static int read_places(int places_fd, struct arena *arena, given_places *places, struct err *err)
{
    auto_buf struct buf text = {0};
    if (lseek(places_fd, 0, SEEK_SET) < 0 ||
        buf_read(&text, places_fd, LARGEST_PLACES + 2 * PATH_LONGEST) < 0)
        return err_sys(err, errno, "cannot read what is in it");
    const char *at = buf_text(&text), *end = at + text.size;
    while ((size_t)(end - at) > sizeof(struct given_place)) {
        struct given_place place;
        memcpy(&place, at, sizeof(place));
        place.path = arena_str(arena, at + sizeof(place));
        at += sizeof(place) + strlen(place.path) + 1;
        vec_push(places, place);
    }
    return 0;
}

static void end_child(struct giving *giving)
{
    close(giving->fd);
    kill(giving->child, SIGKILL); /* it has reported, or never will */
    waitpid(giving->child, NULL, 0);
    *giving = GIVING_NONE;
}

int launch_given(struct giving *giving, struct arena *arena, given_places *places, struct err *err)
{
    struct err report;
    bool is_whole = read(giving->fd, &report, sizeof(report)) == sizeof(report);
    auto_fd int places_fd = fd_take(&giving->places_fd);
    end_child(giving);
    if (!is_whole)
        return err_set(err, "the process that was to show it died");
    if (*report.message) {
        *err = report;
        return -1;
    }
    return read_places(places_fd, arena, places, err);
}
