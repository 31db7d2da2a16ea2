#include "kernel/unix_sockets.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/vec.h"
#include "kernel/process.h"

enum {
    MOST_PROCESSES = 512,
    DEEPEST = 64,
    MOST_DESCRIPTORS = 8192, /* of all processes together */
    LARGEST_TABLE = 256 * 1024,
};

static bool read_text(const char *path, struct buf *ret_text)
{
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && buf_read(ret_text, fd, LARGEST_TABLE) == 0 && ret_text->size;
}

/* "  12: 00000000:A1B2 00000000:0000 07 …": the inode is the tenth word. */
static bool read_inode(const char *line, uint16_t port, uint64_t *ret_inode)
{
    enum { WORD_OF_LOCAL = 1, WORD_OF_INODE = 9 };
    for (int word = 0; word <= WORD_OF_INODE; word++) {
        line += strspn(line, " ");
        size_t size = strcspn(line, " \n");
        const char *colon = memchr(line, ':', size);
        if (word == WORD_OF_LOCAL && (!colon || strtoul(colon + 1, NULL, 16) != port))
            return false;
        if (word == WORD_OF_INODE)
            break;
        line += size;
    }
    return text_take_number(&line, ret_inode) && *ret_inode != 0;
}

static bool find_inode(pid_t process, bool is_stream, uint16_t port, uint64_t *ret_inode)
{
    static const char *const tables[2][2] = {{"udp", "udp6"}, {"tcp", "tcp6"}};
    for (size_t i = 0; i < array_len(tables[0]); i++) {
        char path[64];
        auto_buf struct buf text = {0};
        snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)process, tables[is_stream][i]);
        if (!read_text(path, &text))
            continue;
        for (const char *line = strchr(text.bytes, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
            if (read_inode(line + 1, port, ret_inode))
                return true;
        }
    }
    return false;
}

/* Reads only the text of the links, so that a file that hangs is not touched. */
static bool has_open(pid_t process, const char *wanted, size_t *descriptors_left)
{
    char path[64], target[4096];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)process);
    auto_dir DIR *descriptors = opendir(path);
    bool found = false;
    for (const struct dirent *at; descriptors && !found && *descriptors_left && (at = readdir(descriptors));
         --*descriptors_left) {
        ssize_t size = readlinkat(dirfd(descriptors), at->d_name, target, sizeof(target) - 1);
        target[size > 0 ? size : 0] = '\0';
        found = strcmp(target, wanted) == 0;
    }
    return found;
}

void holder_read_program(struct holder *holder)
{
    char path[64];
    auto_buf struct buf text = {0};
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)holder->pid);
    read_text(path, &text);
    size_t size = text.size && text.bytes[text.size - 1] == '\n' ? text.size - 1 : text.size;
    snprintf(holder->program, sizeof(holder->program), "%.*s", (int)size, buf_text(&text));
}

/* An abstract name of a deputy's socket: this, the number of the process, and what makes it the only one of its kind. */
static const char noted[] = "\0bawn/for/";

int holder_note(int socket_fd, pid_t process)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -1;
    size_t size = sizeof(noted) - 1;
    memcpy(name.sun_path, noted, size);
    size += (size_t)snprintf(name.sun_path + size, sizeof(name.sun_path) - size, "%d/%016llx", (int)process,
                             (unsigned long long)random);
    return bind(socket_fd, (const struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
}

/* 0: it was not noted. */
static pid_t read_note(int socket_fd)
{
    struct sockaddr_un name = {0};
    socklen_t size = sizeof(name);
    uint64_t process;
    if (getpeername(socket_fd, (struct sockaddr *)&name, &size) < 0 || size >= sizeof(name) ||
        memcmp(name.sun_path, noted, sizeof(noted) - 1) != 0)
        return 0;
    const char *number = name.sun_path + sizeof(noted) - 1; /* a NUL follows the name */
    return text_take_number(&number, &process) && *number == '/' && process <= INT32_MAX ? (pid_t)process : 0;
}

struct holder holder_of_peer(int socket_fd, pid_t deputy)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct holder holder = {0};
    if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        holder.pid = peer.pid && peer.pid == deputy ? read_note(socket_fd) : peer.pid;
    if (holder.pid)
        holder_read_program(&holder);
    return holder;
}

/* What the search may still look at. */
struct budget {
    size_t processes, descriptors;
};

/*
 * Newest processes first, and children before parents: a process that ends soon was started last and has no children. A process
 * that opened a file comes before those that inherited it.
 */
static bool search(pid_t process, const char *target, unsigned depth, struct budget *left, pid_t *ret_process)
{
    auto_vec process_list children = {0};
    bool found = false;
    if (depth < DEEPEST)
        children_add(&children, process, MOST_PROCESSES);
    for (size_t i = children.count; !found && i && left->processes; i--) {
        left->processes--;
        bool is_below = search(children.at[i - 1], target, depth + 1, left, ret_process);
        bool is_here = has_open(children.at[i - 1], target, &left->descriptors);
        if (is_here)
            *ret_process = children.at[i - 1];
        found = is_below || is_here;
    }
    return found;
}

bool holder_find_open(pid_t first, const char *target, struct holder *ret_holder)
{
    struct budget left = {MOST_PROCESSES, MOST_DESCRIPTORS};
    *ret_holder = (struct holder){0};
    if (!search(first, target, 0, &left, &ret_holder->pid))
        return false;
    holder_read_program(ret_holder);
    return true;
}

bool holder_find(pid_t first, bool is_stream, uint16_t port, struct holder *ret_holder)
{
    uint64_t inode;
    char socket[64];
    if (!find_inode(first, is_stream, port, &inode))
        return false;
    snprintf(socket, sizeof(socket), "socket:[%llu]", (unsigned long long)inode);
    return holder_find_open(first, socket, ret_holder);
}

bool holder_find_thread(pid_t first, uint64_t thread, struct holder *ret_holder)
{
    pid_t process = thread <= INT32_MAX ? process_of_thread((pid_t)thread) : 0, above = process;
    *ret_holder = (struct holder){.pid = process};
    for (unsigned depth = 0; above > 1 && above != first && depth < DEEPEST; depth++)
        above = process_parent(above);
    if (above != first || process == first)
        return false;
    holder_read_program(ret_holder);
    return true;
}

bool holder_read_command(const struct holder *holder, char *ret_line, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)holder->pid);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, ret_line, capacity - 1);
    while (size > 0 && !ret_line[size - 1])
        size--;
    for (ssize_t i = 0; i < size; i++)
        ret_line[i] = ret_line[i] ? ret_line[i] : ' ';
    ret_line[size > 0 ? size : 0] = '\0';
    return size > 0;
}

void holder_read_parents(const struct holder *holder, pid_t last, char ret_names[PARENTS_LONGEST])
{
    enum { MOST = 8 };
    size_t size = 0;
    pid_t process = holder->pid;
    ret_names[0] = '\0';
    for (int i = 0; i < MOST && process > 1 && last > 0; i++) {
        struct holder parent = {.pid = process_parent(process)};
        if (parent.pid <= 1 || parent.pid == last)
            break;
        holder_read_program(&parent);
        if (size + strlen(parent.program) + sizeof(" < ") > PARENTS_LONGEST)
            break;
        size += (size_t)snprintf(ret_names + size, PARENTS_LONGEST - size, "%s%s", size ? " < " : "",
                                 parent.program);
        process = parent.pid;
    }
}
