#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "workspace/record.h"

/* "apply 4711 1795084847": what the holder of the lock wrote into the file. Nothing is said of one that is gone. */
static void read_decider(int fd, struct decider *ret_decider)
{
    char text[64] = "";
    uint64_t process, began;
    *ret_decider = (struct decider){0};
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
    size_t verb = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    const char *at = text + verb;
    if (size <= 0 || verb == 0 || verb >= sizeof(ret_decider->verb) || *at++ != ' ' ||
        !text_take_number(&at, &process) || *at++ != ' ' || !text_take_number(&at, &began) || *at != '\n' ||
        process < 1 || process > INT_MAX || (kill((pid_t)process, 0) < 0 && errno == ESRCH))
        return;
    memcpy(ret_decider->verb, text, verb);
    ret_decider->process = (pid_t)process;
    ret_decider->began.tv_sec = (time_t)began;
}

int deciding_begin(int folder_fd, const char *verb, struct decider *ret_other, struct err *err)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct timespec now;
    auto_fd int fd = openat(folder_fd, RECORD_DECIDING, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    clock_gettime(CLOCK_REALTIME, &now);
    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES)) {
        read_decider(fd, ret_other);
        return DECIDING_IS_ANOTHER;
    }
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &all) < 0)
        return err_sys(err, errno, "cannot keep others from deciding about the session at the same time");
    /* The lock alone keeps others out. The line is for their message; on a full disk it is missing. */
    if (ftruncate(fd, 0) == 0)
        dprintf(fd, "%s %d %lld\n", verb, (int)getpid(), (long long)now.tv_sec);
    return fd_take(&fd);
}

void deciding_end(int deciding_fd)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (deciding_fd < 0)
        return;
    /* A child that is about to end has a copy of the descriptor: closing ours would not release the lock. */
    if (ftruncate(deciding_fd, 0) == 0)
        fcntl(deciding_fd, F_OFD_SETLK, &all);
    close(deciding_fd);
}

bool deciding_is_under_way(int folder_fd)
{
    struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    auto_fd int fd = openat(folder_fd, RECORD_DECIDING, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}
