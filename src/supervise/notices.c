#include "supervise/notices.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"

/* SIGIO is what the kernel sends unless another is chosen. It is never queued: a flood costs no memory. */
static sigset_t own_signal(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGIO);
    return signals;
}

/* The signal must not end bawn where it is not blocked: at the end of the run, and in another thread. */
static void do_nothing(int number not_used)
{
}

void notices_begin(struct notices *notices)
{
    sigset_t signals = own_signal();
    *notices = NOTICES_NONE;
    sigaction(SIGIO, &(struct sigaction){.sa_handler = do_nothing, .sa_flags = SA_RESTART}, NULL);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) == 0)
        notices->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool is_watched(const struct notices *notices, const struct stat *status)
{
    vec_each (const int, fd, &notices->directory_fds) {
        struct stat other;
        if (fstat(*fd, &other) == 0 && other.st_dev == status->st_dev && other.st_ino == status->st_ino)
            return true;
    }
    return false;
}

bool notices_watch(struct notices *notices, int path_fd)
{
    enum { MOST_DIRECTORIES = 64 };
    struct stat status;
    if (notices->signal_fd < 0 || fstat(path_fd, &status) < 0)
        return false;
    if (is_watched(notices, &status))
        return true;
    auto_fd int fd = notices->directory_fds.count < MOST_DIRECTORIES ? open_directory_at(path_fd, ".") : -1;
    if (fd < 0 || fcntl(fd, F_NOTIFY, DN_CREATE | DN_MULTISHOT) < 0)
        return false;
    vec_push(&notices->directory_fds, fd_take(&fd));
    return true;
}

void notices_take(const struct notices *notices)
{
    struct signalfd_siginfo ignored;
    while (read(notices->signal_fd, &ignored, sizeof(ignored)) == sizeof(ignored)) {
    }
}

void notices_end(struct notices *notices)
{
    vec_each (const int, fd, &notices->directory_fds)
        close(*fd);
    vec_free(&notices->directory_fds);
    fd_close(notices->signal_fd);
    *notices = NOTICES_NONE;
}
