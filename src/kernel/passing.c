#include "kernel/ports.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for more than one descriptor, so that a second one is seen and closed. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(4 * sizeof(int))];
};

int passing_send(int socket_fd, const void *bytes, size_t size, int fd)
{
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    union control control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size ? 0 : -1;
}

ssize_t passing_receive(int socket_fd, void *bytes, size_t size, int *ret_fd)
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
    int fds[4], count = 0;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        size_t held = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        count = (int)(held < 4 ? held : 4);
        memcpy(fds, CMSG_DATA(header), (size_t)count * sizeof(int));
    }
    /* The kernel closes a descriptor if this process has too many; the message comes without it. */
    bool has_no_room = count == 0 && message.msg_flags & MSG_CTRUNC;
    if (count > 1 || message.msg_flags & MSG_TRUNC || (message.msg_flags & MSG_CTRUNC && !has_no_room)) {
        while (count > 0)
            close(fds[--count]);
        errno = EPROTO;
        return -1;
    }
    *ret_fd = count ? fds[0] : -1;
    return got;
}
