#include "kernel/ports.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for one descriptor more than may come, so that it is seen and closed. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE((PASSING_MOST + 1) * sizeof(int))];
};

int passing_send_all(int socket_fd, const void *bytes, size_t size, const int *fds, size_t count)
{
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    union control control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > PASSING_MOST) {
        errno = EINVAL;
        return -1;
    }
    if (count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size ? 0 : -1;
}

int passing_send(int socket_fd, const void *bytes, size_t size, int fd)
{
    return passing_send_all(socket_fd, bytes, size, &fd, fd >= 0);
}

ssize_t passing_receive_all(int socket_fd, void *bytes, size_t size, int *ret_fds, size_t most,
                            size_t *ret_count)
{
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    union control control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got;
    do {
        got = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    int fds[PASSING_MOST + 1];
    size_t count = 0;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        size_t held = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        count = held < array_len(fds) ? held : array_len(fds);
        memcpy(fds, CMSG_DATA(header), count * sizeof(int));
    }
    /* The kernel closes a descriptor if this process has too many; the message comes without it. */
    bool has_no_room = count == 0 && message.msg_flags & MSG_CTRUNC;
    if (count > most || message.msg_flags & MSG_TRUNC || (message.msg_flags & MSG_CTRUNC && !has_no_room)) {
        while (count > 0)
            close(fds[--count]);
        errno = EPROTO;
        return -1;
    }
    if (count)
        memcpy(ret_fds, fds, count * sizeof(int));
    *ret_count = count;
    return got;
}

ssize_t passing_receive(int socket_fd, void *bytes, size_t size, int *ret_fd)
{
    size_t count = 0;
    int fd = -1;
    ssize_t got = passing_receive_all(socket_fd, bytes, size, &fd, 1, &count);
    if (got >= 0)
        *ret_fd = count ? fd : -1;
    return got;
}
