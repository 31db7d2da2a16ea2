#include "kernel/notice.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older kernel headers lack it (Linux 5.19): a signal does not interrupt a call whose notice was taken. */
#define WAIT_KILLABLE (1U << 5)

int notice_begin(struct sock_filter *code, unsigned short count, enum notice_patience patience)
{
    const struct sock_fprog program = {.len = count, .filter = code};
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    unsigned at_once = patience == NOTICE_AT_ONCE ? WAIT_KILLABLE : 0;
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | at_once, &program);
    if (fd < 0 && errno == EINVAL && at_once)
        fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return fd;
}

int notice_take(int listener_fd, struct notice *ret_notice)
{
    union {
        struct seccomp_notif notice;
        char room[512]; // cppcheck-suppress unusedStructMember ; kernels to come may say more
    } asked = {0};
    if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return errno == EINTR || errno == ENOENT || errno == EAGAIN ? 0 : -1;
    *ret_notice =
        (struct notice){.id = asked.notice.id, .pid = (pid_t)asked.notice.pid, .call = asked.notice.data.nr};
    for (size_t i = 0; i < array_len(ret_notice->arguments); i++)
        ret_notice->arguments[i] = asked.notice.data.args[i];
    return 1;
}

int notice_tell(int pipe_fd, const struct notice *notice)
{
    ssize_t put;
    do {
        put = write(pipe_fd, notice, sizeof(*notice)); /* all of it or nothing: it is less than PIPE_BUF */
    } while (put < 0 && errno == EINTR);
    return put == (ssize_t)sizeof(*notice) ? 0 : errno;
}

int notice_take_told(int pipe_fd, struct notice *ret_notice)
{
    struct notice told;
    if (read(pipe_fd, &told, sizeof(told)) != (ssize_t)sizeof(told))
        return 0;
    *ret_notice = told;
    return 1;
}

int notice_send(int listener_fd, uint64_t id, int errnum, bool is_continued)
{
    union {
        struct seccomp_notif_resp answer;
        char room[512]; // cppcheck-suppress unusedStructMember
    } said = {0};
    said.answer = (struct seccomp_notif_resp){
        .id = id, .error = -errnum, .flags = is_continued ? (uint32_t)SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0U};
    int sent;
    do {
        sent = ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &said);
    } while (sent < 0 && errno == EINTR);
    return sent == 0 ? 1 : errno == ENOENT ? 0 : -1; /* ENOENT: it was killed meanwhile */
}

int notice_answer(int listener_fd, uint64_t id, int errnum)
{
    return notice_send(listener_fd, id, errnum, errnum == 0);
}

int notice_continue(int listener_fd, const struct notice *notice)
{
    return notice_answer(listener_fd, notice->id, 0);
}

bool notice_is_valid(int listener_fd, uint64_t id)
{
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}
