#include "kernel/children.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"

enum { LARGEST_LIST = 256 * 1024 };

static void add_of_thread(process_list *processes, int threads_fd, const char *thread, size_t most)
{
    char path[64];
    auto_buf struct buf text = {0};
    if (snprintf(path, sizeof(path), "%s/children", thread) >= (int)sizeof(path))
        return;
    auto_fd int fd = openat(threads_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || buf_read(&text, fd, LARGEST_LIST) < 0 || !text.size)
        return;
    uint64_t child;
    for (const char *at = text.bytes; text_take_number(&at, &child); at += strspn(at, " ")) {
        if (processes->count < most)
            vec_push(processes, (pid_t)child);
    }
}

void children_add(process_list *processes, pid_t process, size_t most)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    auto_dir DIR *threads = opendir(path);
    for (const struct dirent *thread; threads && (thread = readdir(threads));) {
        if (thread->d_name[0] != '.')
            add_of_thread(processes, dirfd(threads), thread->d_name, most);
    }
}

char process_state(pid_t process)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = '\0';
    const char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end && end[1] == ' ' ? end[2] : '\0';
}
