#include "kernel/callers.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

void callers_note_sharing(struct callers *callers)
{
    callers->share_descriptors = true;
}

/* The caller's directory in /proc, from its second call on: most processes make few calls that are judged. Returns -1 if there is none. */
static int directory_of(struct callers *callers, const struct judged_call *call)
{
    struct caller *caller = &callers->at[(unsigned)call->thread % CALLERS];
    if (caller->thread != call->thread) {
        if (caller->thread)
            fd_close(caller->fd);
        *caller = (struct caller){call->thread, -1};
        return -1;
    }
    if (caller->fd >= 0)
        return caller->fd;
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d", (int)call->thread);
    auto_fd int opened = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0 || !judged_call_waits(call)) /* it could be another's */
        return -1;
    caller->fd = fd_take(&opened);
    return caller->fd;
}

/* The directory of its threads has an entry for each, and so as many links beside its own two. */
static bool has_one_thread(int directory_fd)
{
    enum { OWN_LINKS = 2 };
    struct stat threads;
    return fstatat(directory_fd, "task", &threads, 0) == 0 && threads.st_nlink == OWN_LINKS + 1;
}

bool callers_settled_place(struct callers *callers, const struct judged_call *call, int fd, char *ret_place,
                           size_t capacity, struct stat *ret_status)
{
    char name[32];
    bool is_in_doubt = callers->share_descriptors || call->thread <= 0 || fd < 0;
    int directory = is_in_doubt ? -1 : directory_of(callers, call);
    if (directory < 0 || !has_one_thread(directory))
        return false;
    snprintf(name, sizeof(name), "fd/%d", fd);
    ssize_t size = readlinkat(directory, name, ret_place, capacity);
    if (size <= 0 || (size_t)size >= capacity)
        return false;
    ret_place[size] = '\0';
    return !ret_status || fstatat(directory, name, ret_status, 0) == 0;
}
