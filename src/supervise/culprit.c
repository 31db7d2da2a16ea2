#include "supervise/culprit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/directories.h"

enum { STATUS_LARGEST = 8192, COMMAND_LONGEST = 300, MOST_DESCRIPTORS = 256, MOST_GENERATIONS = 64 };

/* Its parent's number; 0 where it has none that is seen. */
static pid_t parent_of(int processes_fd, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "%d/status", pid);
    auto_fd int fd = openat(processes_fd, path, O_RDONLY | O_CLOEXEC);
    auto_buf struct buf status = {0};
    if (fd < 0 || buf_read(&status, fd, STATUS_LARGEST) < 0)
        return 0;
    const char *line = strstr(buf_text(&status), "\nPPid:\t");
    return line ? (pid_t)strtol(line + strlen("\nPPid:\t"), NULL, 10) : 0;
}

/* All that runs in a sandbox descends from its process 1, which takes in what loses its parent. */
static bool descends_from(int processes_fd, pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < MOST_GENERATIONS && pid > 1; i++) {
        pid = parent_of(processes_fd, pid);
        if (pid == ancestor)
            return true;
    }
    return false;
}

/* The links are the kernel's, and only their text is looked at: a file that hangs is not touched. */
static bool has_open(int process_fd, const char *path)
{
    auto_fd int fds = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fds < 0 ? NULL : directories_list(fds);
    bool found = false;
    struct dirent *entry;
    for (int i = 0; list && !found && i < MOST_DESCRIPTORS && (entry = readdir(list)); i++) {
        char target[4096];
        ssize_t size = readlinkat(fds, entry->d_name, target, sizeof(target));
        found = size > 0 && (size_t)size == strlen(path) && memcmp(target, path, (size_t)size) == 0;
    }
    if (list)
        closedir(list);
    return found;
}

static const char *command_of(struct arena *arena, int process_fd)
{
    auto_fd int fd = openat(process_fd, "cmdline", O_RDONLY | O_CLOEXEC);
    auto_buf struct buf command = {0};
    if (fd < 0 || (buf_read(&command, fd, COMMAND_LONGEST) < 0 && !command.size))
        return NULL;
    while (command.size && !command.bytes[command.size - 1])
        command.size--;
    char *text = arena_copy(arena, command.bytes, command.size);
    for (size_t i = 0; i < command.size; i++)
        text[i] = text[i] ? text[i] : ' ';
    return *text ? text : NULL;
}

const char *culprit_find(struct arena *arena, pid_t process_1, const char *path)
{
    auto_fd int processes_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = processes_fd < 0 ? NULL : directories_list(processes_fd);
    const char *command = NULL;
    for (struct dirent *entry; list && !command && (entry = readdir(list));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == process_1 || !descends_from(processes_fd, pid, process_1))
            continue;
        auto_fd int process_fd = openat(processes_fd, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process_fd >= 0 && has_open(process_fd, path))
            command = command_of(arena, process_fd);
    }
    if (list)
        closedir(list);
    return command;
}
