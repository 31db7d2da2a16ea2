/*
 * Pins again what the host replaced. Process 1 cannot: it has no capability, and Landlock forbids it to mount. So the
 * supervisor, which owns the sandbox's user namespace, forks a child that enters it and the mount namespace for a moment. Both
 * were handed over before the command began, and the result lies in memory that was shared before: whatever the
 * command uses up of its user's descriptors, pipes and messages, none of it is needed here.
 *
 * That child may mount frozen paths over themselves, and nothing over hidden ones. It must not execute, read or write
 * anything, nor follow a link. It stays in the host's pid namespace, where nothing inside can name it, and it is opaque.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/mounts.h"
#include "kernel/process.h"
#include "launch/inside.h"

enum {
    TRIES = 16, /* the host may be replacing it again this very moment */
    LONGEST_END_MILLISECONDS = 1000,
};

/* An empty file that nobody may write. Connecting to it as to a socket fails, as at the start (launch/root.c). */
static int open_empty_file(struct err *err)
{
    static const char *const options[] = {"mode=0555", "size=4k", NULL};
    auto_fd int folder = mount_new("tmpfs", options, false, false, err);
    if (folder < 0)
        return -1;
    if (mknodat(folder, "empty", S_IFREG | 0444, 0) < 0)
        return err_sys(err, errno, "cannot make an empty file");
    return mount_open_restricted(folder, "empty", true, false, err);
}

/* A device on a mount without devices cannot be opened: as good as an empty file. */
int cover_open(const struct root *root, int place_fd, struct err *err)
{
    static const char *const options[] = {"mode=0555", "size=4k", NULL};
    struct stat status;
    if (fstat(place_fd, &status) < 0)
        return err_sys(err, errno, "cannot look at what is to be hidden");
    if (S_ISSOCK(status.st_mode))
        return open_empty_file(err);
    return S_ISDIR(status.st_mode) ? mount_new("tmpfs", options, true, false, err)
                                   : mount_open_restricted(root->fd, "dev/null", true, false, err);
}

static enum pin_state pin_once(struct root *root, const struct operation *operation)
{
    const char *path = operation->path;
    struct err ignored;
    auto_fd int place = place_find(root, path);
    if (place < 0)
        return errno == ENOENT ? PIN_MISSING : PIN_LOST;
    if (mount_is_pinned(place, true))
        return PIN_HELD;
    if (operation->kind == OP_FREEZE && root_pin_parents(root, path, &ignored) < 0)
        return PIN_LOST;
    auto_fd int fresh = place_find(root, path); /* in a parent that was pinned just now */
    auto_fd int tree = fresh < 0                    ? -1
                       : operation->kind == OP_HIDE ? cover_open(root, fresh, &ignored)
                                                    : mount_open_restricted(fresh, "", true, false, &ignored);
    if (tree < 0 || mount_attach(tree, fresh, path, &ignored) < 0)
        return PIN_LOST;
    return PIN_AGAIN;
}

/* A pin counts once a further look confirms it. */
static enum pin_state pin(struct root *root, const struct operation *operation)
{
    enum pin_state first = pin_once(root, operation), last = first;
    for (int i = 0; i < TRIES && last != PIN_HELD && last != PIN_MISSING; i++)
        last = pin_once(root, operation);
    return first != PIN_HELD && last == PIN_HELD ? PIN_AGAIN : last;
}

/* The supervisor's descriptors are not needed here, and its limit may be reached: frees them, and takes the largest limit. */
static int make_room(int done_fd)
{
    struct rlimit limit;
    struct err ignored;
    if (process_close_descriptors(done_fd, &ignored) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

/* Behind the states: set when all of them are. */
static enum pin_state *done_mark(const struct repin *repin)
{
    return &repin->states[repin->count];
}

static size_t shared_size(size_t count)
{
    return (count + 1) * sizeof(enum pin_state);
}

static _Noreturn void pin_inside(const struct launch *launch, const struct launched *launched,
                                 const struct repin *repin)
{
    struct root root = {.launch = launch};
    struct operations operations = amended_operations(&root.arena, launch->operations, launch->amendments);
    const int *handed = launched->handed;
    struct err ignored;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        process_enter(handed[HANDED_USER], handed[HANDED_MOUNTS], &ignored) < 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || make_room(repin->done_fd) < 0 ||
        (root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        _exit(1);
    for (size_t i = 0; i < repin->count; i++) {
        const struct operation *operation = &operations.at[i];
        repin->states[i] = operations_cover(&operations, operation) ? pin(&root, operation) : PIN_HELD;
    }
    *done_mark(repin) = PIN_HELD;
    uint64_t one = 1;
    _exit(write(repin->done_fd, &one, sizeof(one)) == sizeof(one) ? 0 : 1);
}

/* Shares memory for the plan with its amendments as they are now. */
static int share(const struct launch *launch, struct repin *ret_repin, struct err *err)
{
    size_t count = amended_count(launch->operations, launch->amendments);
    void *states = mmap(NULL, shared_size(count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (states == MAP_FAILED)
        return err_sys(err, errno, "cannot share memory with a child");
    ret_repin->states = states;
    ret_repin->count = count;
    return 0;
}

int repin_grow(const struct launch *launch, struct repin *repin, struct err *err)
{
    struct repin old = *repin;
    if (old.count == amended_count(launch->operations, launch->amendments))
        return 0;
    if (share(launch, repin, err) < 0)
        return -1;
    return munmap(old.states, shared_size(old.count));
}

int repin_open(const struct launch *launch, struct repin *ret_repin, struct err *err)
{
    struct repin repin = REPIN_NONE;
    if (share(launch, &repin, err) < 0)
        return -1;
    repin.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (repin.done_fd < 0) {
        int errnum = errno;
        munmap(repin.states, shared_size(repin.count));
        return err_sys(err, errnum, "cannot make an eventfd");
    }
    *ret_repin = repin;
    return 0;
}

void repin_close(struct repin *repin)
{
    if (repin->child > 0) {
        kill(repin->child, SIGKILL);
        /* Until it is gone, it has copies of this process's descriptors, and with them locks that the next run wants. */
        auto_fd int pid_fd = (int)syscall(SYS_pidfd_open, repin->child, 0);
        struct pollfd ended = {.fd = pid_fd, .events = POLLIN};
        poll(&ended, 1, LONGEST_END_MILLISECONDS);
        waitpid(repin->child, NULL, WNOHANG); /* one that hangs in the kernel is left to it */
    }
    fd_close(repin->done_fd);
    if (repin->states)
        munmap(repin->states, shared_size(repin->count));
    *repin = REPIN_NONE;
}

int repin_begin(const struct launch *launch, const struct launched *launched, struct repin *repin,
                struct err *err)
{
    if (!repin->states)
        return err_set(err, "there is no memory that is shared with a child");
    memset(repin->states, 0, shared_size(repin->count));
    pid_t child = fork();
    if (child == 0)
        pin_inside(launch, launched, repin);
    if (child < 0)
        return err_sys(err, errno, "no process could be started");
    repin->child = child;
    return 0;
}

int repin_end(struct repin *repin, bool waits, struct err *err)
{
    int status = 0;
    pid_t ended;
    waits |= *done_mark(repin) == PIN_HELD; /* it is about to end */
    while ((ended = waitpid(repin->child, &status, waits ? 0 : WNOHANG)) < 0 && errno == EINTR) {
    }
    if (ended == 0)
        return 0;
    repin->child = 0;
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 1
               : err_set(err, "the sandbox's mounts could not be reached");
}

int launch_hide_late(const struct launch *launch, struct launched *launched, size_t first, struct err *err)
{
    struct repin repin = REPIN_NONE;
    int taken = launch_take_handed(launched, true, err);
    if (taken <= 0)
        return taken;
    if (repin_open(launch, &repin, err) < 0)
        return -1;
    int result = repin_begin(launch, launched, &repin, err);
    if (result == 0)
        result = repin_end(&repin, true, err) < 0 ? -1 : 0;
    for (size_t i = first; result == 0 && i < repin.count; i++) {
        if (repin.states[i] == PIN_LOST)
            result = err_set(err, "%s could not be hidden",
                             amended_operation(launch->operations, launch->amendments, i).path);
    }
    repin_close(&repin);
    return result;
}
