/* Sockets of bawn's own: programs inside connect to them, and the supervisor listens at them. Process 1 or the warden makes them and hands them over. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "kernel/ports.h"
#include "launch/inside.h"

const struct own_socket own_sockets[OWN_SOCKETS] = {
    {QUESTIONS_INSIDE, SOCK_SEQPACKET, 'q'},
    {SSH_AGENT_INSIDE, SOCK_STREAM, 'k'},
};

bool own_socket_is_wanted(const struct launch *launch, const struct own_socket *own)
{
    const struct operations *operations = launch->operations;
    return own->letter == 'q' ? launch->policy || operations_find(operations, OP_FORGE)
                              : operations_find(operations, OP_SSH_KEY) != NULL;
}

int hand_over(int control_fd, char letter, int fd, struct err *err)
{
    auto_fd int own = fd;
    if (passing_send(control_fd, &letter, 1, own) == 0)
        return 0;
    err_sys(err, errno, "the sandbox's descriptors cannot be handed over");
    return errno == ETOOMANYREFS
               ? err_hint(
                     err,
                     "another of your programs uses up the descriptors that `ulimit -Hn` allows; stop it")
               : -1;
}

int hand_over_socket(int control_fd, const struct own_socket *own, const char *path, struct err *err)
{
    enum { BACKLOG = 16 };
    auto_fd int fd = socket(AF_UNIX, own->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        return err_sys(err, errno, "cannot make %s inside", own->path);
    return hand_over(control_fd, own->letter, fd_take(&fd), err);
}
