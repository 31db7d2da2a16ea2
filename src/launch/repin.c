/*
 * Pins again what the host replaced. Process 1 cannot: it has no capability, and Landlock forbids it to mount. So the
 * supervisor, which owns the sandbox's user namespace, forks a child that enters it and the mount namespace for a moment.
 *
 * That child may mount frozen paths over themselves, and nothing over hidden ones. It must not execute, read or write
 * anything, nor follow a link. It stays in the host's pid namespace, where nothing inside can name it, and it is opaque.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/mounts.h"
#include "kernel/passing.h"
#include "kernel/process.h"
#include "launch/inside.h"

enum { TRIES = 16 }; /* the host may be replacing it again this very moment */

/* A device on a mount without devices cannot be opened: as good as an empty file. */
static int open_nothing(const struct root *root, int place_fd, struct err *err)
{
    static const char *const options[] = {"mode=0555", "size=4k", NULL};
    struct stat status;
    if (fstat(place_fd, &status) < 0)
        return err_sys(err, errno, "cannot look at what is to be hidden");
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
                       : operation->kind == OP_HIDE ? open_nothing(root, fresh, &ignored)
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

static _Noreturn void pin_inside(const struct launch *launch, const struct launched *launched, int result_fd)
{
    struct root root = {.launch = launch};
    struct operations operations = amended_operations(&root.arena, launch->operations, launch->amendments);
    size_t count = operations.count;
    enum pin_state *states = arena_alloc(&root.arena, count * sizeof(*states));
    struct err ignored;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        process_enter(launched->namespaces.user_fd, launched->namespaces.mount_fd, &ignored) < 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || (root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        _exit(1);
    for (size_t i = 0; i < count; i++) {
        const struct operation *operation = &operations.at[i];
        states[i] = operations_cover(&operations, operation) ? pin(&root, operation) : PIN_HELD;
    }
    size_t size = count * sizeof(*states);
    _exit(write(result_fd, states, size) == (ssize_t)size ? 0 : 1);
}

void launch_forget_namespaces(struct launched *launched)
{
    fd_close(launched->namespaces.user_fd);
    fd_close(launched->namespaces.mount_fd);
    launched->namespaces = (struct namespaces){-1, -1};
}

static int send_order(int control_fd, struct order order, struct err *err)
{
    if (send(control_fd, &order, sizeof(order), MSG_NOSIGNAL) != sizeof(order))
        return err_sys(err, errno, "the sandbox was ended from outside");
    return 0;
}

/* Receives the descriptor that comes with this letter. Others answer an earlier question that was given up. */
static int receive_kept(int control_fd, char letter, int *ret_fd, struct err *err)
{
    enum { PATIENCE_MILLISECONDS = 1000 };
    struct pollfd ready = {.fd = control_fd, .events = POLLIN};
    while (poll(&ready, 1, PATIENCE_MILLISECONDS) == 1) {
        char got = '\0';
        auto_fd int fd = -1;
        if (passing_receive(control_fd, &got, 1, &fd) != 1 || (got == letter && fd < 0))
            break;
        if (got != letter)
            continue;
        *ret_fd = fd_take(&fd);
        return 0;
    }
    return err_set(err, "process 1 of the sandbox does not hand out what it keeps");
}

static int get_namespaces(struct launched *launched, struct err *err)
{
    if (launched->namespaces.mount_fd >= 0)
        return 0;
    if (send_order(launched->control_fd, (struct order){.wants_namespaces = true}, err) == 0 &&
        receive_kept(launched->control_fd, 'u', &launched->namespaces.user_fd, err) == 0 &&
        receive_kept(launched->control_fd, 'm', &launched->namespaces.mount_fd, err) == 0)
        return 0;
    launch_forget_namespaces(launched);
    return -1;
}

int launch_take_listener(const struct launched *launched)
{
    struct pollfd ready = {.fd = launched->control_fd, .events = POLLIN};
    char letter = '\0';
    int fd = -1;
    while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
    }
    return passing_receive(launched->control_fd, &letter, 1, &fd) == 1 && letter == 'x' ? fd : -1;
}

int launch_open_decoys(const struct launched *launched, struct err *err)
{
    int fd = -1;
    if (send_order(launched->control_fd, (struct order){.wants_decoys = true}, err) < 0 ||
        receive_kept(launched->control_fd, 'd', &fd, err) < 0)
        return -1;
    return fd;
}

int launch_repin(const struct launch *launch, struct launched *launched, enum pin_state *ret_states,
                 struct err *err)
{
    int result[2];
    size_t size = amended_count(launch->operations, launch->amendments) * sizeof(*ret_states), got = 0;
    if (get_namespaces(launched, err) < 0)
        return -1;
    if (pipe2(result, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0)
        pin_inside(launch, launched, result[1]);
    close(result[1]);
    for (ssize_t part;
         child > 0 && got < size && (part = read(result[0], (char *)ret_states + got, size - got)) > 0;)
        got += (size_t)part;
    close(result[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return got == size ? 0 : err_set(err, "frozen paths could not be pinned again");
}
