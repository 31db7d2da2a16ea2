/* The sockets of the command: how they are made, remembered, and what addresses they show. bare_sockets.h has the theory of operation. */
#include "launch/bare_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/memory.h"
#include "kernel/unix_sockets.h"

enum { SOCKET_TYPE = 0xf }; /* beside SOCK_CLOEXEC and SOCK_NONBLOCK */

/* --- what is remembered ---------------------------------------------------------------------------------------------- */

struct kept_socket *bare_find_socket(struct bare_network *network, uint64_t inode)
{
    struct kept_socket *set = network->sockets[inode % SOCKET_SETS];
    for (size_t i = 0; i < SOCKET_WAYS; i++) {
        if (set[i].inode == inode)
            return &set[i];
    }
    return NULL;
}

void bare_close_copy(struct kept_socket *kept)
{
    fd_close(kept->fd);
    kept->fd = -1;
}

bool bare_is_blocking(const struct kept_socket *kept)
{
    return !(fcntl(kept->fd, F_GETFL) & O_NONBLOCK);
}

/* Which of two is forgotten first? One that is connected only loses the addresses that it shows; many others were closed long ago. */
static bool is_worth_less(const struct kept_socket *a, const struct kept_socket *b)
{
    unsigned worth_a = !a->inode       ? 0
                       : a->fd < 0     ? 1
                       : !a->listening ? 2
                                       : 3,
             worth_b = !b->inode       ? 0
                       : b->fd < 0     ? 1
                       : !b->listening ? 2
                                       : 3;
    return worth_a != worth_b ? worth_a < worth_b : a->number < b->number;
}

static struct kept_socket *find_place(struct bare_network *network, uint64_t inode)
{
    struct kept_socket *set = network->sockets[inode % SOCKET_SETS], *least = set;
    for (size_t i = 1; i < SOCKET_WAYS; i++)
        least = is_worth_less(&set[i], least) ? &set[i] : least;
    if (least->inode)
        bare_close_copy(least);
    return least;
}

pid_t bare_process_of(const struct judged_call *call)
{
    struct holder holder;
    return holder_find_thread(getpid(), (uint64_t)call->thread, &holder) ? holder.pid : call->thread;
}

/* Does a program still have the socket? Mostly the one that made it. */
static bool is_held(const struct kept_socket *kept)
{
    char target[64], path[64], now[64];
    struct holder holder;
    snprintf(target, sizeof(target), "socket:[%llu]", (unsigned long long)kept->inode);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)kept->holder, kept->held_as);
    ssize_t size = kept->holder ? readlink(path, now, sizeof(now)) : -1;
    if (size > 0 && (size_t)size == strlen(target) && memcmp(now, target, (size_t)size) == 0)
        return true;
    return holder_find_open(getpid(), target, &holder);
}

void bare_forget_closed(struct bare_network *network)
{
    for (size_t i = 0; i < (size_t)SOCKET_SETS * SOCKET_WAYS; i++) {
        struct kept_socket *kept = &network->sockets[i / SOCKET_WAYS][i % SOCKET_WAYS];
        if (kept->inode && kept->fd >= 0 && kept->is_bound && !is_held(kept)) {
            bare_close_copy(kept);
            *kept = (struct kept_socket){.fd = -1};
        }
    }
}

/* A program may have ended that by shutdown(). It can begin again only by a call that is judged. */
static bool still_listens(const struct kept_socket *server)
{
    int listens = 0;
    socklen_t size = sizeof(listens);
    return getsockopt(server->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

/* The socket that listens there, without a look at who has it. The list loses those that are gone. */
static struct kept_socket *find_server(struct bare_network *network, uint16_t port)
{
    for (size_t i = network->listening.count; i > 0; i--) {
        struct kept_socket *kept = bare_find_socket(network, network->listening.at[i - 1]);
        if (!kept || kept->fd < 0)
            network->listening.at[i - 1] = network->listening.at[--network->listening.count];
        else if (kept->listening == port && still_listens(kept))
            return kept;
    }
    return NULL;
}

bool bare_has_server(struct bare_network *network, uint16_t port)
{
    struct kept_socket *server = find_server(network, port);
    if (server && !is_held(server))
        bare_close_copy(server);
    return server && server->fd >= 0 && !(server->shares_port && port_has_server_on_all(port));
}

void bare_forget_stopped(struct bare_network *network)
{
    for (size_t i = network->listening.count; i > 0; i--) {
        struct kept_socket *kept = bare_find_socket(network, network->listening.at[i - 1]);
        if (kept && kept->fd >= 0 && !is_held(kept))
            bare_close_copy(kept);
    }
    (void)find_server(network, 0);
}

/* --- socket() -------------------------------------------------------------------------------------------------------- */

/* A socket for questions to the resolver. Where nothing can be looked up, nobody has its other end. */
static int make_for_questions(struct bare_network *network, const struct judged_call *call, int type)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (type & SOCK_NONBLOCK), 0, ends) < 0)
        return -1;
    if (network->is_by_name)
        bare_send(network, &(struct port_request){.kind = PORT_QUESTIONS, .number = (uint64_t)call->thread},
                  ends[1]);
    else
        close(ends[1]);
    return ends[0];
}

int bare_socket(const struct bare *bare, const struct judged_call *call)
{
    struct bare_network *network = bare->network;
    int family = (int)call->arguments[0], type = (int)call->arguments[1], protocol = (int)call->arguments[2];
    bool is_stream = (type & SOCKET_TYPE) == SOCK_STREAM;
    enum kept_kind kind = family == AF_UNIX         ? KEPT_UNIX
                          : network->is_of_the_host ? KEPT_OF_THE_HOST
                          : is_stream               ? KEPT_TCP
                                                    : KEPT_QUESTIONS;
    if (family != AF_UNIX && is_stream)
        protocol = IPPROTO_TCP;
    auto_fd int fd = kind == KEPT_QUESTIONS ? make_for_questions(network, call, type)
                                            : socket(family, type | SOCK_CLOEXEC, protocol);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return errno;
    int errnum = judged_call_give(call, fd, type & SOCK_CLOEXEC);
    if (errnum)
        return errnum;
    struct kept_socket *kept = find_place(network, status.st_ino);
    *kept = (struct kept_socket){.inode = status.st_ino,
                                 .number = ++network->last_number,
                                 .kind = kind,
                                 .family = family,
                                 .fd = kind == KEPT_QUESTIONS ? -1 : fd_take(&fd)};
    return BARE_ANSWERED;
}

/* --- addresses ------------------------------------------------------------------------------------------------------- */

int bare_socket_of(const struct bare *bare, const struct judged_call *call, struct kept_socket **ret_kept)
{
    uint64_t inode;
    int errnum = judged_call_socket(call, (int)call->arguments[0], &inode);
    *ret_kept = errnum ? NULL : bare_find_socket(bare->network, inode);
    return errnum;
}

int bare_read_address(const struct judged_call *call, uint64_t address, uint64_t size,
                      struct socket_address *ret_address)
{
    *ret_address = (struct socket_address){0};
    if ((int)size < (int)sizeof(sa_family_t) || size > sizeof(struct sockaddr_storage))
        return EINVAL;
    socklen_t most = sizeof(ret_address->local);
    ret_address->size = size < most ? (socklen_t)size : most;
    if (memory_read(call->thread, address, &ret_address->any, ret_address->size) < 0)
        return EFAULT;
    return judged_call_waits(call) ? 0 : ESRCH;
}

/* Writes an address to where the caller wants one, as the kernel does: as much as there is room for, and its size. */
static int show(const struct judged_call *call, const void *address, socklen_t size)
{
    uint32_t room = 0;
    if (memory_read(call->thread, call->arguments[2], &room, sizeof(room)) < 0)
        return EFAULT;
    if (room > INT32_MAX)
        return EINVAL;
    if (memory_write(call->thread, call->arguments[1], address, size < room ? size : room) < 0 ||
        memory_write(call->thread, call->arguments[2], &size, sizeof(size)) < 0)
        return EFAULT;
    return 0;
}

/* The resolver's address, to a program that has named none. */
static socklen_t resolver_address(const struct kept_socket *kept, struct sockaddr_in6 *ret_address)
{
    struct endpoint names = endpoint_v4(PORT_NAMES_ADDRESS, PORT_NAMES);
    struct sockaddr_storage address;
    socklen_t size = endpoint_to_socket(&names, &address);
    *ret_address = kept->peer;
    if (!kept->peer_size)
        memcpy(ret_address, &address, size);
    return kept->peer_size ? kept->peer_size : size;
}

/* A socket for questions has no address. It is shown as one that the kernel has bound. */
static socklen_t made_up_address(const struct kept_socket *kept, struct sockaddr_in6 *ret_address)
{
    enum { FIRST = 32768, COUNT = 28000 }; /* ports that the kernel chooses from */
    uint16_t port = htons((uint16_t)(FIRST + kept->inode % COUNT));
    if (kept->family == AF_INET6) {
        *ret_address =
            (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = in6addr_loopback};
        return sizeof(*ret_address);
    }
    *(struct sockaddr_in *)ret_address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return sizeof(struct sockaddr_in);
}

int bare_getsockname(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    struct sockaddr_in6 made_up = {0};
    int errnum = bare_socket_of(bare, call, &kept);
    if (errnum || !kept)
        return errnum ? errnum : BARE_CONTINUED;
    if (kept->own_size)
        return show(call, &kept->own, kept->own_size);
    if (kept->kind != KEPT_QUESTIONS)
        return BARE_CONTINUED;
    socklen_t size = made_up_address(kept, &made_up);
    return show(call, &made_up, size);
}

int bare_getpeername(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    int errnum = bare_socket_of(bare, call, &kept);
    if (errnum || !kept)
        return errnum ? errnum : BARE_CONTINUED;
    if (kept->kind == KEPT_QUESTIONS && !kept->peer_size)
        return ENOTCONN;
    return kept->peer_size && kept->fd < 0 ? show(call, &kept->peer, kept->peer_size) : BARE_CONTINUED;
}

/*
 * Notes whom a program asks, to show it as the sender of the answer. An address that cannot be read is for the kernel to refuse. The kernel
 * ignores it where it could lead anywhere: there is no socket of UDP, and a stream has one peer.
 */
int bare_sendto(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    struct socket_address to;
    if (bare_socket_of(bare, call, &kept) != 0 || !kept || kept->kind != KEPT_QUESTIONS ||
        bare_read_address(call, call->arguments[4], call->arguments[5], &to) != 0)
        return BARE_CONTINUED;
    int errnum = bare_connect_questions(bare->network, kept, &to);
    return errnum ? errnum : BARE_CONTINUED;
}

/* Resolvers check the sender of an answer. For such a socket the kernel writes none, so the judge writes it before the call. */
static void show_sender(const struct bare *bare, const struct judged_call *call, uint64_t address,
                        uint64_t room)
{
    struct kept_socket *kept;
    struct sockaddr_in6 sender;
    if (bare_socket_of(bare, call, &kept) != 0 || !kept || kept->kind != KEPT_QUESTIONS)
        return;
    socklen_t size = resolver_address(kept, &sender);
    if (room >= size && memory_write(call->thread, address, &sender, size) < 0)
        return; /* the kernel says what is wrong with it */
}

int bare_recvfrom(const struct bare *bare, const struct judged_call *call)
{
    uint32_t room = 0;
    if (memory_read(call->thread, call->arguments[5], &room, sizeof(room)) == 0)
        show_sender(bare, call, call->arguments[4], room);
    return BARE_CONTINUED;
}

int bare_recvmsg(const struct bare *bare, const struct judged_call *call)
{
    struct msghdr message = {0};
    if (memory_read(call->thread, call->arguments[1], &message, sizeof(message)) == 0 && message.msg_name)
        show_sender(bare, call, (uintptr_t)message.msg_name, message.msg_namelen);
    return BARE_CONTINUED;
}

/* A connected socket, or one that was accepted, does not need the option: the caller is told that it is set. Returns 0 or an errno. */
static int share_port(const struct judged_call *call, struct kept_socket *kept)
{
    int value = 0;
    if ((int)call->arguments[4] < (int)sizeof(value))
        return EINVAL;
    if (memory_read(call->thread, call->arguments[3], &value, sizeof(value)) < 0)
        return EFAULT;
    if (!kept || kept->fd < 0 || kept->kind == KEPT_UNIX)
        return 0;
    kept->shares_port |= value != 0;
    return setsockopt(kept->fd, SOL_SOCKET, SO_REUSEPORT, &value, sizeof(value)) < 0 ? errno : 0;
}

/* Internet options mean nothing to a socket for questions: the caller is told that they are set. */
int bare_setsockopt(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    int errnum = bare_socket_of(bare, call, &kept);
    if (errnum == 0 && kept && kept->kind == KEPT_QUESTIONS)
        return 0;
    if ((int)call->arguments[1] != SOL_SOCKET)
        return BARE_CONTINUED;
    return errnum ? errnum : share_port(call, kept);
}
