#include "kernel/judged_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/notice.h"

/* Kernels from 6.11 on answer ENOENT also when nobody is left, at once and every time. */
static bool has_callers(int listener_fd)
{
    struct pollfd ready = {.fd = listener_fd};
    return poll(&ready, 1, 0) < 0 || !(ready.revents & POLLHUP);
}

int judged_call_take(int listener_fd, struct judged_call *ret_call)
{
    struct notice asked;
    int taken = notice_take(listener_fd, &asked);
    if (taken <= 0)
        return taken == 0 && has_callers(listener_fd) ? 0 : -1;
    *ret_call = (struct judged_call){
        .listener_fd = listener_fd, .thread = asked.pid, .number = asked.call, .id = asked.id};
    memcpy(ret_call->arguments, asked.arguments, sizeof(ret_call->arguments));
    return 1;
}

bool judged_call_waits(const struct judged_call *call)
{
    return notice_is_valid(call->listener_fd, call->id);
}

/* What goes wrong shows when the next call is taken. */
static void answer(const struct judged_call *call, int errnum, bool is_continued)
{
    if (notice_send(call->listener_fd, call->id, errnum, is_continued) < 0)
        return;
}

void judged_call_answer(const struct judged_call *call, int errnum)
{
    answer(call, errnum, false);
}

void judged_call_let(const struct judged_call *call)
{
    answer(call, 0, true);
}

int judged_call_give(const struct judged_call *call, int fd, bool closes_on_exec)
{
    struct seccomp_notif_addfd given = {.id = call->id,
                                        .flags = SECCOMP_ADDFD_FLAG_SEND,
                                        .srcfd = (uint32_t)fd,
                                        .newfd_flags = closes_on_exec ? O_CLOEXEC : 0};
    int result;
    do {
        result = ioctl(call->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? errno : 0;
}

/* Does the caller's descriptor close on exec? It is said in octal. */
static bool closes_on_exec(const struct judged_call *call, int number)
{
    static const char key[] = "\nflags:\t";
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)call->thread, number);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[size < 0 ? 0 : size] = '\0';
    const char *at = strstr(text, key);
    return at && strtoul(at + strlen(key), NULL, 8) & O_CLOEXEC;
}

int judged_call_replace(const struct judged_call *call, int fd, int number)
{
    struct seccomp_notif_addfd given = {.id = call->id,
                                        .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                        .srcfd = (uint32_t)fd,
                                        .newfd = (uint32_t)number,
                                        .newfd_flags = closes_on_exec(call, number) ? O_CLOEXEC : 0};
    int result;
    do {
        result = ioctl(call->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? errno : 0;
}

int judged_call_socket(const struct judged_call *call, int fd, uint64_t *ret_inode)
{
    static const char start[] = "socket:[";
    char path[64], target[64];
    if (fd < 0)
        return EBADF;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)call->thread, fd);
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    if (size < 0)
        return errno == ENOENT ? EBADF : errno;
    target[size] = '\0';
    const char *number = target + strlen(start);
    if (!text_starts_with(target, start) || !text_take_number(&number, ret_inode))
        return ENOTSOCK;
    return judged_call_waits(call) ? 0 : ESRCH;
}

bool judged_call_has_path_only(const struct judged_call *call, int fd)
{
    char path[64];
    struct stat link; /* its mode says what the descriptor may do: read, write, or neither */
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)call->thread, fd);
    return lstat(path, &link) == 0 && !(link.st_mode & (S_IRUSR | S_IWUSR));
}

int judged_call_open(const struct judged_call *call, int fd)
{
    char path[64];
    if (fd == AT_FDCWD)
        snprintf(path, sizeof(path), "/proc/%d/cwd", (int)call->thread);
    else
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)call->thread, fd);
    auto_fd int opened = fd < 0 && fd != AT_FDCWD ? -1 : open(path, O_PATH | O_CLOEXEC);
    if (opened < 0) {
        /* No such entry in /proc: the caller has no such descriptor. */
        errno = (fd < 0 && fd != AT_FDCWD) || errno == ENOENT ? EBADF : errno;
        return -1;
    }
    if (judged_call_waits(call))
        return fd_take(&opened);
    errno = ESRCH;
    return -1;
}
