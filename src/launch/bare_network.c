/* Where a connection may lead, and what a server is bound to. bare_sockets.h has the theory of operation. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "launch/bare_sockets.h"

socklen_t bare_own_address(const struct bare_network *network, const struct kept_socket *kept, uint16_t port,
                           struct sockaddr_storage *ret_address)
{
    struct endpoint at = endpoint_v4(network->address, port);
    if (kept->family == AF_INET)
        return endpoint_to_socket(&at, ret_address);
    *ret_address = (struct sockaddr_storage){0};
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(&v6->sin6_addr, at.address, sizeof(at.address));
    return sizeof(*v6);
}

/*
 * The copy is the caller's socket, and blocks if that does. For this moment it gets a time limit, so that the judge does not wait; the
 * kernel goes on connecting.
 */
int bare_connect_copy(const struct kept_socket *kept, const struct sockaddr *address, socklen_t size)
{
    static const struct timeval moment = {.tv_usec = 1};
    struct timeval before = {0};
    socklen_t before_size = sizeof(before);
    bool is_blocking = bare_is_blocking(kept);
    if (is_blocking && (getsockopt(kept->fd, SOL_SOCKET, SO_SNDTIMEO, &before, &before_size) < 0 ||
                        setsockopt(kept->fd, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment)) < 0))
        return errno;
    int errnum = connect(kept->fd, address, size) < 0 ? errno : 0;
    if (is_blocking)
        setsockopt(kept->fd, SOL_SOCKET, SO_SNDTIMEO, &before, sizeof(before));
    return errnum;
}

/* Is it an address of this machine, which the run has one for? */
static bool is_of_machine(const struct endpoint *endpoint)
{
    static const uint8_t none[16] = {0}, v6[16] = {[15] = 1};
    if (endpoint_is_v4(endpoint))
        return endpoint_v4_address(endpoint) >> 24 == 127 || endpoint_v4_address(endpoint) == 0;
    return memcmp(endpoint->address, none, sizeof(none)) == 0 ||
           memcmp(endpoint->address, v6, sizeof(v6)) == 0;
}

/* The address as an endpoint. Returns 0 or an errno: another family's, or too short. */
static int take_endpoint(const struct kept_socket *kept, const struct socket_address *address,
                         struct endpoint *ret_endpoint)
{
    enum { SHORTEST_V6 = 24 }; /* without a scope */
    struct sockaddr_storage storage = {0};
    if (address->size < (kept->family == AF_INET6 ? SHORTEST_V6 : sizeof(struct sockaddr_in)))
        return EINVAL;
    memcpy(&storage, &address->any, address->size);
    if (storage.ss_family != kept->family || !endpoint_from_socket(&storage, ret_endpoint))
        return EAFNOSUPPORT;
    return 0;
}

/* A socket for IPv6 alone could not get the run's address, which is of IPv4. The option cannot be changed once it is bound. */
static void open_to_v4(const struct kept_socket *kept)
{
    static const int off = 0;
    if (kept->family == AF_INET6)
        setsockopt(kept->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
}

static void keep_address(const struct socket_address *address, struct sockaddr_in6 *ret_kept,
                         socklen_t *ret_size)
{
    *ret_size = address->size < sizeof(*ret_kept) ? address->size : sizeof(*ret_kept);
    *ret_kept = (struct sockaddr_in6){0};
    memcpy(ret_kept, &address->any, *ret_size);
}

/* Few, so that the judge never waits for the supervisor to read them. */
static void report_port(struct bare_network *network, enum report_kind kind, uint16_t port)
{
    enum { REPORTS = 16 };
    struct report report = {.kind = kind, .status = port};
    if (network->reports < REPORTS && write(network->report_fd, &report, sizeof(report)) == sizeof(report))
        network->reports++;
}

/* A connection to a server of the same run. */
static int connect_within(struct bare_network *network, const struct judged_call *call,
                          struct kept_socket *kept, uint16_t port)
{
    struct sockaddr_storage address;
    socklen_t size = bare_own_address(network, kept, port, &address);
    bool is_blocking = bare_is_blocking(kept);
    if (!bare_has_server(network, port)) {
        report_port(network, REPORT_MISSED, port);
        return ECONNREFUSED;
    }
    int errnum = bare_connect_copy(kept, (struct sockaddr *)&address, size);
    if (errnum == EINPROGRESS && is_blocking)
        return bare_await(network, call, kept, AWAITS_PEER);
    if (errnum == 0 || errnum == EINPROGRESS)
        bare_close_copy(kept);
    return errnum;
}

static int connect_tcp(struct bare_network *network, const struct judged_call *call, struct kept_socket *kept,
                       const struct socket_address *to)
{
    struct endpoint endpoint;
    if (to->any.sa_family == AF_UNSPEC)
        return kept->fd >= 0 ? 0 : EAFNOSUPPORT; /* a connection is not undone */
    int errnum = take_endpoint(kept, to, &endpoint);
    if (errnum)
        return errnum;
    if (kept->fd < 0 || kept->listening)
        return kept->listening ? EINVAL : EISCONN;
    bool is_here = is_of_machine(&endpoint), leads_out = bare_is_open(network, &endpoint);
    if (is_here && !leads_out) { /* a port of the host's is open at one address */
        endpoint = endpoint_v4(INADDR_LOOPBACK, endpoint.port);
        leads_out = bare_is_open(network, &endpoint);
    }
    if (!leads_out && !is_here)
        return network->is_by_name ? ECONNREFUSED : ENETUNREACH;
    open_to_v4(kept);
    keep_address(to, &kept->peer, &kept->peer_size);
    return leads_out ? bare_send_out(network, call, kept, &endpoint)
                     : connect_within(network, call, kept, endpoint.port);
}

/* Nothing is connected: there is one place where all of it goes. */
int bare_connect_questions(const struct bare_network *network, struct kept_socket *kept,
                           const struct socket_address *to)
{
    struct endpoint endpoint;
    if (to->any.sa_family == AF_UNSPEC) {
        kept->peer_size = 0;
        return 0;
    }
    int errnum = take_endpoint(kept, to, &endpoint);
    if (errnum)
        return errnum;
    if (!network->is_by_name)
        return ENETUNREACH;
    if (endpoint.port != PORT_NAMES)
        return ECONNREFUSED;
    keep_address(to, &kept->peer, &kept->peer_size);
    return 0;
}

/* With `net open`: wherever the caller wants. A socket of UDP can be connected again. */
static int connect_on_host(struct bare_network *network, const struct judged_call *call,
                           struct kept_socket *kept, const struct socket_address *to)
{
    int type = 0;
    socklen_t size = sizeof(type);
    if (kept->fd < 0)
        return EISCONN;
    if (to->any.sa_family == AF_UNIX || getsockopt(kept->fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return EAFNOSUPPORT;
    bool is_blocking = bare_is_blocking(kept);
    int errnum = bare_connect_copy(kept, &to->any, to->size);
    if (errnum == EINPROGRESS && is_blocking)
        return bare_await(network, call, kept, AWAITS_PEER);
    if (type == SOCK_STREAM && to->any.sa_family != AF_UNSPEC && (errnum == 0 || errnum == EINPROGRESS))
        bare_close_copy(kept);
    return errnum;
}

int bare_connect(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    struct socket_address to;
    int errnum = bare_socket_of(bare, call, &kept);
    if (errnum == 0)
        errnum = bare_read_address(call, call->arguments[1], call->arguments[2], &to);
    if (errnum)
        return errnum;
    if (!kept)
        return EACCES; /* it came from outside, or is of netlink */
    switch (kept->kind) {
    case KEPT_TCP:
        return connect_tcp(bare->network, call, kept, &to);
    case KEPT_QUESTIONS:
        return bare_connect_questions(bare->network, kept, &to);
    case KEPT_UNIX:
        return bare_connect_unix(bare, call, kept, &to);
    case KEPT_OF_THE_HOST:
        return connect_on_host(bare->network, call, kept, &to);
    }
    return EACCES;
}

/* Shows the port that the socket has got. With IP_BIND_ADDRESS_NO_PORT it gets one only when it listens. */
static int note_own_port(struct kept_socket *kept)
{
    struct sockaddr_storage now = {0};
    socklen_t size = sizeof(now);
    struct endpoint at;
    if (getsockname(kept->fd, (struct sockaddr *)&now, &size) < 0 || !endpoint_from_socket(&now, &at))
        return errno;
    kept->own.sin6_port = htons(at.port); /* at the same place in both families */
    return 0;
}

/* Shows the address that the caller wanted. */
static int note_own_address(struct kept_socket *kept, const struct socket_address *wanted)
{
    keep_address(wanted, &kept->own, &kept->own_size);
    return note_own_port(kept);
}

static int bind_copy(struct bare_network *network, const struct kept_socket *kept,
                     const struct sockaddr *address, socklen_t size)
{
    int result = bind(kept->fd, address, size);
    if (result < 0 && errno == EADDRINUSE) {
        bare_forget_closed(network); /* the port may be that of a socket which its program has closed */
        result = bind(kept->fd, address, size);
    }
    return result < 0 ? errno : 0;
}

static int bind_tcp(struct bare_network *network, struct kept_socket *kept, const struct socket_address *to)
{
    struct endpoint endpoint;
    struct sockaddr_storage address;
    int errnum = take_endpoint(kept, to, &endpoint);
    if (errnum)
        return errnum;
    if (kept->fd < 0 || kept->own_size)
        return EINVAL;
    if (!is_of_machine(&endpoint))
        return EADDRNOTAVAIL;
    if (endpoint.port) {
        struct endpoint host_port = endpoint_v4(INADDR_LOOPBACK, endpoint.port);
        if (bare_is_open(network, &host_port))
            return EADDRINUSE;
    }
    open_to_v4(kept);
    socklen_t size = bare_own_address(network, kept, endpoint.port, &address);
    errnum = bind_copy(network, kept, (struct sockaddr *)&address, size);
    kept->is_bound = errnum == 0;
    return errnum ? errnum : note_own_address(kept, to);
}

static int bind_on_host(struct bare_network *network, struct kept_socket *kept,
                        const struct socket_address *to)
{
    if (kept->fd < 0)
        return EINVAL;
    int errnum = bind_copy(network, kept, &to->any, to->size);
    kept->is_bound |= errnum == 0;
    return errnum;
}

/*
 * Unix sockets are bound by the kernel: Landlock asks whether a file may be made there. If the descriptor has become one of TCP meanwhile, Landlock
 * denies it.
 */
int bare_bind(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    struct socket_address to;
    int errnum = bare_socket_of(bare, call, &kept);
    if (errnum)
        return errnum;
    if (!kept || kept->kind == KEPT_UNIX)
        return BARE_CONTINUED;
    errnum = bare_read_address(call, call->arguments[1], call->arguments[2], &to);
    if (errnum)
        return errnum;
    if (kept->kind == KEPT_OF_THE_HOST)
        return bind_on_host(bare->network, kept, &to);
    return kept->kind == KEPT_TCP ? bind_tcp(bare->network, kept, &to) : 0;
}

/* A socket that listens without an address would get all addresses of the machine from the kernel. */
static int bind_anywhere(struct bare_network *network, struct kept_socket *kept)
{
    struct socket_address any = {.size = kept->family == AF_INET6 ? sizeof(any.v6) : sizeof(any.v4)};
    any.any.sa_family = (sa_family_t)kept->family;
    return kept->own_size ? 0 : bind_tcp(network, kept, &any);
}

int bare_listen(const struct bare *bare, const struct judged_call *call)
{
    struct kept_socket *kept;
    int errnum = bare_socket_of(bare, call, &kept);
    if (errnum)
        return errnum;
    if (!kept)
        return EACCES;
    if (kept->kind == KEPT_QUESTIONS)
        return EOPNOTSUPP;
    if (kept->fd < 0)
        return kept->listening ? 0 : EINVAL;
    errnum = kept->kind == KEPT_TCP ? bind_anywhere(bare->network, kept) : 0;
    if (errnum)
        return errnum;
    if (kept->kind == KEPT_UNIX)
        bare_note_listening(bare, call, kept);
    if (listen(kept->fd, (int)call->arguments[1]) < 0)
        return errno;
    if (kept->kind != KEPT_TCP) {
        kept->listening = 1;
        bare_close_copy(kept);
    } else if (!kept->listening) {
        errnum = note_own_port(kept);
        kept->listening = ntohs(kept->own.sin6_port);
        kept->holder = bare_process_of(call);
        kept->held_as = (int)call->arguments[0];
        vec_push(&bare->network->listening, kept->inode);
        report_port(bare->network, REPORT_SERVES, kept->listening);
    }
    return errnum;
}
