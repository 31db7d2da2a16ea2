#include "kernel/unix_sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/vec.h"

/* Unnamed sockets have an empty name; abstract ones begin with a NUL. */
static void add_name(struct buf *names, const char *bytes, size_t size)
{
    size_t length = strnlen(bytes, size);
    buf_add(names, bytes, length);
    if (length)
        buf_add_char(names, '\0');
}

struct seen_socket {
    const struct unix_diag_msg *about;
    const char *name; /* not ended by a NUL */
    size_t size;
    uint32_t inode; /* of its file, the lower half */
};

/* Gets each socket of an answer that has a name. */
typedef void socket_seen(void *self, const struct seen_socket *socket);

static void name_seen(void *self, const struct seen_socket *socket)
{
    add_name(self, socket->name, socket->size);
}

/* Finds name and file among the attributes of a socket. */
static void see_socket(socket_seen *seen, void *self, const struct nlmsghdr *message)
{
    struct seen_socket socket = {.about = NLMSG_DATA(message)};
    size_t size = message->nlmsg_len, at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    while (at <= size && size - at >= sizeof(struct rtattr)) {
        const struct rtattr *attribute = (const void *)((const char *)message + at);
        size_t length = attribute->rta_len;
        if (length < sizeof(*attribute) || length > size - at)
            break;
        const struct unix_diag_vfs *file = RTA_DATA(attribute);
        if (attribute->rta_type == UNIX_DIAG_VFS && length >= sizeof(*attribute) + sizeof(*file))
            socket.inode = file->udiag_vfs_ino;
        if (attribute->rta_type == UNIX_DIAG_NAME) {
            socket.name = RTA_DATA(attribute);
            socket.size = length - sizeof(*attribute);
        }
        at += RTA_ALIGN(length);
    }
    if (socket.name)
        seen(self, &socket);
}

enum answer { ANSWER_GOES_ON, ANSWER_IS_WHOLE, ANSWER_IS_NONE };

static enum answer see_sockets(socket_seen *seen, void *self, const char *bytes, size_t size)
{
    for (size_t at = 0; size - at >= sizeof(struct nlmsghdr);) {
        const struct nlmsghdr *message = (const void *)(bytes + at);
        if (message->nlmsg_len < sizeof(*message) || message->nlmsg_len > size - at ||
            message->nlmsg_type == NLMSG_ERROR)
            return ANSWER_IS_NONE;
        if (message->nlmsg_type == NLMSG_DONE)
            return ANSWER_IS_WHOLE;
        see_socket(seen, self, message);
        at += NLMSG_ALIGN(message->nlmsg_len);
        if (at > size)
            break;
    }
    return ANSWER_GOES_ON;
}

/* The kernel sends as much at once as there is room for, between a page (8 KiB at most) and 32 KiB. Aligned as a struct nlmsghdr. */
struct answer_room {
    char *bytes;
    size_t size;
};

/*
 * Asks the kernel for all sockets in any state: a datagram socket, such as a log's, counts as connected while one of its
 * senders is. Returns false if the kernel does not answer; then some may exist.
 */
static bool ask_kernel(socket_seen *seen, void *self, struct answer_room room)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } question = {.header = {.nlmsg_len = sizeof(question),
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                  .request = {.sdiag_family = AF_UNIX,
                              .udiag_states = ~0U,
                              .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS}};
    auto_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || send(fd, &question, sizeof(question), 0) != sizeof(question))
        return false;
    enum answer answer = ANSWER_GOES_ON;
    while (answer == ANSWER_GOES_ON) {
        ssize_t got = recv(fd, room.bytes, room.size, MSG_TRUNC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || (size_t)got > room.size)
            return false;
        answer = see_sockets(seen, self, room.bytes, (size_t)got);
    }
    return answer == ANSWER_IS_WHOLE;
}

/* "Num RefCount Protocol Flags Type St Inode Path": seven words, then the name. */
static const char *name_in(const char *line, size_t size)
{
    enum { WORDS_BEFORE = 7 };
    const char *at = line, *end = line + size;
    for (int words = 0; words < WORDS_BEFORE; words++) {
        while (at < end && *at == ' ')
            at++;
        while (at < end && *at != ' ')
            at++;
    }
    return at < end ? at + 1 : end;
}

const char *unix_sockets_of_text(struct arena *arena, const char *text)
{
    auto_buf struct buf names = {0};
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");
        const char *name = name_in(line, size), *end = line + size;
        bool is_head = size >= 3 && strncmp(line, "Num", 3) == 0;
        if (name < end && *name != '@' && !is_head)
            add_name(&names, name, (size_t)(end - name));
        line = *end ? end + 1 : end;
    }
    return arena_copy(arena, names.bytes, names.size);
}

int unix_sockets_read(struct arena *arena, const char **ret_list, struct err *err)
{
    enum { LARGEST = 4 * 1024 * 1024 };
    auto_buf struct buf names = {0}, text = {0};
    not_zeroed _Alignas(struct nlmsghdr) char bytes[32 * 1024];
    if (ask_kernel(name_seen, &names, (struct answer_room){bytes, sizeof(bytes)})) {
        *ret_list = arena_copy(arena, names.bytes, names.size);
        return 0;
    }
    auto_fd int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || buf_read(&text, fd, LARGEST) < 0)
        return err_sys(err, errno, "cannot list this machine's sockets");
    if (text.size == LARGEST)
        return err_sys(err, EFBIG, "cannot list this machine's sockets");
    *ret_list = unix_sockets_of_text(arena, buf_text(&text));
    return 0;
}

/* A name that begins with neither a slash nor a NUL. */
static bool is_relative(const struct seen_socket *socket)
{
    return socket->size > 0 && socket->name[0] != '/' && socket->name[0] != '\0';
}

struct relatives {
    struct buf names; /* each ended by a NUL */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(uint32_t) inodes;
};

static void relative_seen(void *self, const struct seen_socket *socket)
{
    enum { MOST_RELATIVE = 256 };
    struct relatives *relatives = self;
    if (!is_relative(socket) || relatives->inodes.count == MOST_RELATIVE)
        return;
    add_name(&relatives->names, socket->name, socket->size);
    vec_push(&relatives->inodes, socket->inode);
}

/* Adds the paths that begin with this directory and lead to the file of one of the sockets. */
static void add_found_in(const char *directory, const struct relatives *relatives, struct buf *paths)
{
    const char *names = relatives->names.bytes;
    for (size_t i = 0; i < relatives->inodes.count; i++) {
        const char *name = unix_sockets_next(&names);
        char path[PATH_MAX];
        struct stat status;
        if (snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
            lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
            (uint32_t)status.st_ino == relatives->inodes.at[i])
            add_name(paths, path, strlen(path));
    }
}

const char *unix_sockets_find_relative(struct arena *arena, const char *trees)
{
    auto_buf struct buf paths = {0};
    struct relatives relatives = {0};
    not_zeroed _Alignas(struct nlmsghdr) char bytes[32 * 1024];
    if (ask_kernel(relative_seen, &relatives, (struct answer_room){bytes, sizeof(bytes)}) &&
        relatives.inodes.count) {
        for (const char *tree; (tree = unix_sockets_next(&trees));)
            add_found_in(tree, &relatives, &paths);
        auto_dir DIR *processes = opendir("/proc");
        for (const struct dirent *at; processes && (at = readdir(processes));) {
            char link[64], directory[PATH_MAX];
            if (at->d_name[0] < '0' || at->d_name[0] > '9')
                continue;
            snprintf(link, sizeof(link), "/proc/%.20s/cwd", at->d_name);
            ssize_t length = readlink(link, directory, sizeof(directory) - 1);
            if (length <= 0 || directory[0] != '/')
                continue;
            directory[length] = '\0';
            add_found_in(directory, &relatives, &paths);
        }
    }
    buf_free(&relatives.names);
    vec_free(&relatives.inodes);
    return arena_copy(arena, paths.bytes, paths.size);
}

struct digest {
    const char *trees;
    struct socket_digest found;
};

static bool is_beneath_any(const char *name, size_t size, const char *trees)
{
    for (const char *tree; (tree = unix_sockets_next(&trees));) {
        size_t length = strlen(tree);
        if (length <= size && memcmp(name, tree, length) == 0 &&
            (length == 1 || length == size || name[length] == '/'))
            return true;
    }
    return false;
}

/* A server's side of a connection bears the server's name. A datagram socket serves in any state. */
static bool serves(const struct unix_diag_msg *about)
{
    enum { ESTABLISHED = 1 }; /* TCP_ESTABLISHED */
    return about->udiag_type == SOCK_DGRAM || about->udiag_state != ESTABLISHED;
}

/* By a name in /proc, as bawn's own have it, no tree is known. */
static void digest_socket(void *self, const struct seen_socket *socket)
{
    static const char unknown[] = "/proc/";
    struct digest *digest = self;
    size_t length = strnlen(socket->name, socket->size);
    if (!length || !serves(socket->about) ||
        (length >= strlen(unknown) && memcmp(socket->name, unknown, strlen(unknown)) == 0))
        return;
    uint64_t hash = fnv_add(fnv_add(fnv_start, socket->name, length), &socket->about->udiag_ino,
                            sizeof(socket->about->udiag_ino));
    digest->found.all += hash;
    if (is_relative(socket) || is_beneath_any(socket->name, length, digest->trees))
        digest->found.in_trees += hash;
}

bool unix_sockets_digest(const char *trees, struct socket_digest *ret_digest)
{
    struct digest digest = {.trees = trees};
    not_zeroed _Alignas(struct nlmsghdr) char bytes[8 * 1024]; /* little of the stack stays in memory */
    if (!ask_kernel(digest_socket, &digest, (struct answer_room){bytes, sizeof(bytes)}))
        return false;
    *ret_digest = digest.found;
    return true;
}

const char *unix_sockets_next(const char **list)
{
    const char *name = *list;
    *list += *name ? strlen(name) + 1 : 0;
    return *name ? name : NULL;
}
