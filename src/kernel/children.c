#include "kernel/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "kernel/directories.h"

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

int process_open(pid_t process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d", (int)process);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static DIR *list_threads(int process_fd)
{
    int fd = process_fd < 0 ? -1 : openat(process_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directories_take(fd);
}

void children_add_of(process_list *processes, int process_fd, size_t most)
{
    auto_dir DIR *threads = list_threads(process_fd);
    for (const struct dirent *thread; threads && (thread = readdir(threads));) {
        if (thread->d_name[0] != '.')
            add_of_thread(processes, dirfd(threads), thread->d_name, most);
    }
}

void children_add(process_list *processes, pid_t process, size_t most)
{
    auto_fd int fd = process_open(process);
    children_add_of(processes, fd, most);
}

bool process_signal(int process_fd, int number)
{
    return process_fd >= 0 && syscall(SYS_pidfd_send_signal, process_fd, number, NULL, 0) == 0;
}

/* Reads a small file of /proc. Returns "" where there is none. */
static const char *read_text(int directory_fd, const char *path, char *ret_text, size_t capacity)
{
    auto_fd int fd = directory_fd < 0 ? -1 : openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, ret_text, capacity - 1);
    ret_text[size > 0 ? size : 0] = '\0';
    return ret_text;
}

/* The field of /proc/PID/stat with this number, as proc(5) counts them. The name before the third may hold anything. */
static uint64_t field(const char *after_name, int number)
{
    const char *at = after_name;
    for (int i = 3; i < number && at; i++) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    uint64_t value;
    return at && text_take_number(&at, &value) ? value : 0;
}

/* Looks at a process or thread in its directory. */
static struct process_look look_at(int directory_fd)
{
    char text[1024];
    const char *end = strrchr(read_text(directory_fd, "stat", text, sizeof(text)), ')');
    if (!end || end[1] != ' ')
        return (struct process_look){0};
    const char *fields = end + 2;
    return (struct process_look){*fields, (pid_t)field(fields, 4), field(fields, 20), field(fields, 22)};
}

struct process_look process_look(int process_fd)
{
    return look_at(process_fd);
}

static unsigned liveliness(char state)
{
    static const char *const from_dead[] = {"ZX", "T", "t", "D"};
    unsigned rank = 0;
    while (state && rank < array_len(from_dead) && !strchr(from_dead[rank], state))
        rank++;
    return rank;
}

/* Looks at one thread, and adds to the hash what changes when it runs. */
static struct process_look look_at_thread(int threads_fd, const char *number, struct blake2b *hash,
                                          bool *ret_counted)
{
    char text[128];
    auto_fd int fd = openat(threads_fd, number, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct process_look look = look_at(fd);
    uint64_t thread = 0, runs = field(read_text(fd, "schedstat", text, sizeof(text)), 5);
    (void)text_take_number(&number, &thread);
    const uint64_t mark[] = {thread, look.start, runs};
    blake2b_add(hash, mark, sizeof(mark));
    if (!runs && liveliness(look.state))
        *ret_counted = false;
    return look;
}

struct process_look process_look_whole(int process_fd, struct blake2b *hash, bool *ret_counted)
{
    struct process_look look = look_at(process_fd);
    auto_dir DIR *threads = list_threads(process_fd);
    if (!threads && liveliness(look.state))
        *ret_counted = false;
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.')
            continue;
        struct process_look other = look_at_thread(dirfd(threads), entry->d_name, hash, ret_counted);
        if (liveliness(other.state) > liveliness(look.state))
            look.state = other.state;
    }
    return look;
}

enum { FACTS_LARGEST = 4096 };

/* What stands behind "KEY:" in a file of the process's in /proc, or NULL. */
static const char *find_fact(pid_t process, const char *name, const char *key, char text[FACTS_LARGEST])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, name);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, FACTS_LARGEST - 1);
    text[size < 0 ? 0 : size] = '\0';
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && strncmp(line + length, ":\t", 2) == 0)
            return line + length + 2;
    }
    return NULL;
}

bool process_number_in(pid_t process, const char *name, const char *key, uint64_t *ret_number)
{
    char text[FACTS_LARGEST];
    const char *at = find_fact(process, name, key, text);
    return at && text_take_number(&at, ret_number);
}

bool process_may_be_stopped_by(pid_t process, int signal_number)
{
    char text[FACTS_LARGEST];
    const char *ignored = find_fact(process, "status", "SigIgn", text);
    return ignored && !(strtoull(ignored, NULL, 16) & 1ULL << (signal_number - 1));
}

uint64_t process_status_number(pid_t process, const char *key)
{
    uint64_t number = 0;
    return process_number_in(process, "status", key, &number) ? number : 0;
}

pid_t process_of_thread(pid_t thread)
{
    return (pid_t)process_status_number(thread, "Tgid");
}

pid_t process_parent(pid_t process)
{
    return (pid_t)process_status_number(process, "PPid");
}
