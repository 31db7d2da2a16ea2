/*
 * Connections to Unix sockets. Landlock has no rule for them by path. So the judge opens the socket's file, looks
 * where it lies, and connects to what it has opened.
 *
 * In a tree that may be written there are sockets of the run, and perhaps some of the host. Two questions tell them
 * apart:
 *
 *   1. When a program of the run calls listen(), the judge notes the file that has the socket's name. It connects to
 *      no other file. A program that renames files at the right moment can have a file of the host's noted.
 *   2. The kernel notes who has called listen(): for a socket of the run that was the judge. The judge has to be
 *      connected to see that. Hence it connects a socket of its own, which nobody can send by yet, and only then puts
 *      it in the place of the caller's.
 *
 * bawn's own sockets (bare_furnish.c) are found by the name that the caller wrote, letter for letter. No file has that
 * name, so nothing inside can be put in its place, and no link leads there. Who is connected is said by the name of the
 * judge's end (kernel/unix_sockets.h), because to the supervisor all of them come from the warden.
 *
 * Sockets that a rule names are the host's. In a tree that may be written, a program could put another one in the place
 * of such a socket: there it must still be the file that it was at the start. Those with abstract names are kept apart
 * by Landlock's scope, which holds for the judge as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/landlock.h"
#include "kernel/unix_sockets.h"
#include "launch/bare_sockets.h"

void bare_find_granted(struct bare_network *network, const struct operations *operations)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == OP_SOCKET)
            vec_push(&network->granted,
                     ((struct granted_socket){operation->path,
                                              open(operation->path, O_PATH | O_NOFOLLOW | O_CLOEXEC)}));
    }
}

static bool is_granted(const struct bare *bare, const char *place, const struct stat *status)
{
    vec_each (const struct granted_socket, granted, &bare->network->granted) {
        struct stat then;
        if (strcmp(granted->path, place) != 0)
            continue;
        if (!bare_is_written(bare, place) || (granted->fd >= 0 && fstat(granted->fd, &then) == 0 &&
                                              then.st_ino == status->st_ino && then.st_dev == status->st_dev))
            return true;
    }
    return false;
}

static bool may_be_own(const struct bare *bare, const struct stat *status)
{
    vec_each (const struct socket_file, file, &bare->network->files) {
        if (file->inode == status->st_ino && file->device == status->st_dev)
            return true;
    }
    return false;
}

void bare_note_listening(const struct bare *bare, const struct judged_call *call,
                         const struct kept_socket *kept)
{
    enum { MOST_FILES = 4096 };
    struct bare_network *network = bare->network;
    struct sockaddr_un name = {0};
    socklen_t size = sizeof(name);
    char path[sizeof(name.sun_path) + 1] = "";
    struct stat status;
    if (getsockname(kept->fd, (struct sockaddr *)&name, &size) < 0)
        return;
    memcpy(path, name.sun_path, sizeof(name.sun_path));
    auto_fd int fd = *path ? bare_open_object(call, AT_FDCWD, path, false) : -1;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode) || may_be_own(bare, &status))
        return;
    struct socket_file file = {status.st_dev, status.st_ino};
    if (network->files.count < MOST_FILES)
        vec_push(&network->files, file);
    else
        network->files.at[network->next_file++ % MOST_FILES] = file; /* the oldest is forgotten */
}

/* The socket's file, opened and judged by its place. Returns a descriptor, or the negative errno. */
static int open_socket(const struct bare *bare, const struct judged_call *call, const char *path,
                       bool *ret_is_granted)
{
    not_zeroed char place[PATH_MAX];
    struct stat status;
    auto_fd int fd = bare_open_object(call, AT_FDCWD, path, true);
    if (fd < 0)
        return fd_take(&fd);
    ssize_t size = readlink(fd_path(fd).text, place, sizeof(place));
    if (fstat(fd, &status) < 0 || size <= 0 || (size_t)size >= sizeof(place))
        return -EACCES;
    place[size] = '\0';
    *ret_is_granted = is_granted(bare, place, &status);
    if (!S_ISSOCK(status.st_mode))
        return -ECONNREFUSED;
    return *ret_is_granted || may_be_own(bare, &status) ? fd_take(&fd) : -EACCES;
}

/* A socket like the caller's, with the options that a program sets before it connects. */
static int make_like(const struct kept_socket *kept)
{
    static const int options[] = {SO_PASSCRED, SO_RCVTIMEO, SO_SNDTIMEO};
    int type = 0;
    socklen_t size = sizeof(type);
    if (getsockopt(kept->fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return -1;
    int flags = bare_is_blocking(kept) ? 0 : SOCK_NONBLOCK;
    int fd = socket(AF_UNIX, type | flags | SOCK_CLOEXEC, 0);
    for (size_t i = 0; fd >= 0 && i < array_len(options); i++) {
        struct timeval value = {0};
        size = sizeof(value);
        if (getsockopt(kept->fd, SOL_SOCKET, options[i], &value, &size) == 0)
            setsockopt(fd, SOL_SOCKET, options[i], &value, size);
    }
    return fd;
}

/* Has the judge called listen() on the socket at the other end? */
static bool is_of_run(int fd)
{
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid();
}

/* The file of bawn's own socket with this name; -1: it is none. */
static int own_socket_of(const struct bare *bare, const char *path)
{
    for (size_t i = 0; i < OWN_SOCKETS; i++) {
        if (strcmp(own_sockets[i].path, path) == 0)
            return bare->own_fds[i];
    }
    return -1;
}

static int connect_path(const struct bare *bare, const struct judged_call *call, struct kept_socket *kept,
                        const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool is_named = false, is_blocking = bare_is_blocking(kept);
    int own_file = own_socket_of(bare, path);
    auto_fd int file = own_file < 0 ? open_socket(bare, call, path, &is_named) : -1;
    if (own_file < 0 && file < 0)
        return -fd_take(&file);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", fd_path(own_file < 0 ? file : own_file).text);
    struct kept_socket copy = {.fd = make_like(kept)};
    auto_fd int fd = copy.fd;
    if (fd < 0 || (own_file >= 0 && holder_note(fd, bare_process_of(call)) < 0))
        return errno;
    int errnum = bare_connect_copy(&copy, (struct sockaddr *)&address, sizeof(address));
    if (errnum == EAGAIN && is_blocking)
        return bare_await(bare->network, call, kept, AWAITS_QUEUE);
    if (errnum == 0 && own_file < 0 && !is_named && !is_of_run(fd))
        errnum = EACCES;
    if (errnum == 0)
        errnum = judged_call_replace(call, fd, (int)call->arguments[0]);
    if (errnum == 0)
        bare_close_copy(kept);
    return errnum;
}

/* The kernel asks Landlock's scope whether the server is one of the run. */
static int connect_abstract(const struct bare *bare, const struct judged_call *call, struct kept_socket *kept,
                            const struct socket_address *to)
{
    if (landlock_abi() < LANDLOCK_ABI_WITH_SCOPES)
        return EACCES;
    bool is_blocking = bare_is_blocking(kept);
    int errnum = bare_connect_copy(kept, &to->any, to->size);
    if (errnum == EAGAIN && is_blocking)
        return bare_await(bare->network, call, kept, AWAITS_QUEUE);
    if (errnum == 0)
        bare_close_copy(kept);
    return errnum;
}

int bare_connect_unix(const struct bare *bare, const struct judged_call *call, struct kept_socket *kept,
                      const struct socket_address *to)
{
    char path[sizeof(to->local.sun_path) + 1] = "";
    if (to->any.sa_family != AF_UNIX || to->size <= offsetof(struct sockaddr_un, sun_path))
        return EINVAL;
    if (kept->fd < 0)
        return kept->listening ? EINVAL : EISCONN;
    if (!to->local.sun_path[0])
        return connect_abstract(bare, call, kept, to);
    memcpy(path, to->local.sun_path, to->size - offsetof(struct sockaddr_un, sun_path));
    return connect_path(bare, call, kept, path);
}
