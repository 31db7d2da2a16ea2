/* The way to the network's helper, and what the judge's thread waits for beside calls. bare_sockets.h has the theory of operation. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "launch/bare_sockets.h"

enum {
    BACKLOG = 4096,
    MOST_OUTGOING = 16384,
    MOST_OPEN = 65536,
    MATE_MILLISECONDS = 5000,
    PEER_MILLISECONDS = 130000, /* as long as the kernel tries */
    TICK = 10,
    LOOK_MILLISECONDS = 1000,
};

/* --- which addresses have something behind them ------------------------------------------------------------------------ */

static bool has_endpoint(const struct bare_network *network, const struct endpoint *endpoint)
{
    return map_get(&network->open, (const char *)endpoint, sizeof(*endpoint)) != NULL;
}

bool bare_is_open(const struct bare_network *network, const struct endpoint *endpoint)
{
    struct endpoint all = endpoint_is_v4(endpoint) ? endpoint_v4(INADDR_ANY, endpoint->port)
                                                   : (struct endpoint){.port = endpoint->port};
    bool is_here = endpoint_is_v4(endpoint) && endpoint_v4_address(endpoint) >> 24 == 127;
    /* Programs ask the host's resolver for names, whichever that is. */
    bool is_resolver = network->is_by_name && endpoint->port == PORT_NAMES;
    return is_resolver || has_endpoint(network, endpoint) || (!is_here && has_endpoint(network, &all));
}

static int open_endpoint(struct bare_network *network, const struct endpoint *endpoint)
{
    if (has_endpoint(network, endpoint))
        return 0;
    if (network->open.count == MOST_OPEN)
        return ENOSPC;
    struct endpoint *key = arena_new(&network->arena, struct endpoint);
    *key = *endpoint;
    *map_at(&network->open, (const char *)key, sizeof(*key)) = key;
    return 0;
}

/* Those that the plan names, as launch/ports.c makes sockets for them in a namespace. */
static int open_planned(struct bare_network *network, const struct operations *operations)
{
    int errnum = 0;
    vec_each (const struct operation, operation, operations) {
        struct endpoint host_port = endpoint_v4(INADDR_LOOPBACK, operation->port);
        if (errnum == 0 && operation->listening.port && network->is_by_name)
            errnum = open_endpoint(network, &operation->listening);
        if (errnum == 0 && operation->kind == OP_HOST_PORT)
            errnum = open_endpoint(network, &host_port);
    }
    return errnum;
}

/* --- the channel ------------------------------------------------------------------------------------------------------- */

static void send_waiting(struct bare_network *network)
{
    size_t sent = 0;
    while (sent < network->outgoing.count) {
        const struct outgoing *first = &network->outgoing.at[sent];
        bool is_gone = network->channel_fd < 0;
        if (!is_gone && port_send(network->channel_fd, &first->message, first->fd) < 0 &&
            (errno == EAGAIN || errno == ETOOMANYREFS))
            break;
        fd_close(first->fd);
        sent++;
    }
    if (!sent)
        return;
    network->outgoing.count -= sent;
    memmove(network->outgoing.at, network->outgoing.at + sent,
            network->outgoing.count * sizeof(*network->outgoing.at));
}

void bare_send(struct bare_network *network, const struct port_request *message, int fd)
{
    if (network->channel_fd < 0 || network->outgoing.count == MOST_OUTGOING) {
        fd_close(fd);
        return;
    }
    vec_push(&network->outgoing, (struct outgoing){*message, fd});
    send_waiting(network);
}

/* The helper asks: for an address to be opened, or for a connection to a server of the run (publish). */
static void serve(struct bare_network *network)
{
    struct port_request request;
    int unwanted = -1, result;
    while ((result = port_receive(network->channel_fd, &request, &unwanted)) > 0) {
        fd_close(unwanted);
        int fd = -1;
        struct port_request within = request;
        within.at = endpoint_v4(network->address, request.at.port);
        request.errnum = EOPNOTSUPP;
        if (request.kind == PORT_CONNECTION && bare_has_server(network, request.at.port))
            request.errnum = (fd = port_make(&within)) < 0 ? errno : 0;
        else if (request.kind == PORT_CONNECTION)
            request.errnum = ECONNREFUSED;
        else if (request.kind == PORT_LISTENER || request.kind == PORT_SOLE_LISTENER)
            request.errnum = open_endpoint(network, &request.at);
        bare_send(network, &request, fd);
    }
    if (result == 0)
        network->channel_fd = -1;
}

/* --- connections --------------------------------------------------------------------------------------------------------- */

static void end_waiting(struct bare_network *network, size_t index, int errnum)
{
    const struct waiting_connection *waiting = &network->waiting.at[index];
    if (!waiting->is_answered)
        judged_call_answer(&waiting->call, errnum);
    network->waiting.at[index] = network->waiting.at[--network->waiting.count];
}

/* The connection that waits for what was accepted from this address; waiting.count: none. */
static size_t find_waiting(const struct bare_network *network, const struct sockaddr_storage *address)
{
    struct endpoint from = {0};
    size_t at = endpoint_from_socket(address, &from) ? 0 : network->waiting.count;
    while (at < network->waiting.count && (network->waiting.at[at].awaited != AWAITS_MATE ||
                                           !endpoint_equal(&network->waiting.at[at].from, &from)))
        at++;
    return at;
}

/* Accepts what has arrived, and sends to the helper what one of the sockets here waits for. */
static void take_arrivals(struct bare_network *network)
{
    while (network->waiting.count) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof(address);
        int fd =
            accept4(network->arrivals_fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        size_t at = find_waiting(network, &address);
        if (at == network->waiting.count) {
            close(fd);
            continue;
        }
        const struct waiting_connection *waiting = &network->waiting.at[at];
        struct kept_socket *kept = bare_find_socket(network, waiting->inode);
        if (kept)
            bare_close_copy(kept);
        bare_send(network, &(struct port_request){.kind = PORT_ARRIVAL, .at = waiting->to}, fd);
        end_waiting(network, at, 0);
    }
}

static bool is_waiting(const struct bare_network *network, uint64_t inode)
{
    vec_each (const struct waiting_connection, waiting, &network->waiting) {
        if (waiting->inode == inode)
            return true;
    }
    return false;
}

int bare_await(struct bare_network *network, const struct judged_call *call, const struct kept_socket *kept,
               enum awaited awaited)
{
    vec_push(&network->waiting,
             (struct waiting_connection){.awaited = awaited,
                                         .call = *call,
                                         .inode = kept->inode,
                                         .deadline = now_milliseconds() + PEER_MILLISECONDS});
    return BARE_ANSWERED;
}

int bare_send_out(struct bare_network *network, const struct judged_call *call, struct kept_socket *kept,
                  const struct endpoint *to)
{
    struct sockaddr_storage address;
    socklen_t size = bare_own_address(network, kept, network->arrivals_port, &address);
    bool is_blocking = bare_is_blocking(kept);
    struct waiting_connection waiting = {.awaited = AWAITS_MATE,
                                         .is_answered = !is_blocking,
                                         .call = *call,
                                         .inode = kept->inode,
                                         .to = *to,
                                         .deadline = now_milliseconds() + MATE_MILLISECONDS};
    if (is_waiting(network, kept->inode))
        return EALREADY;
    int errnum = bare_connect_copy(kept, (struct sockaddr *)&address, size);
    if (errnum && errnum != EINPROGRESS)
        return errnum;
    size = sizeof(address);
    if (getsockname(kept->fd, (struct sockaddr *)&address, &size) < 0 ||
        !endpoint_from_socket(&address, &waiting.from))
        return ECONNREFUSED;
    vec_push(&network->waiting, waiting);
    take_arrivals(network);
    return is_blocking ? BARE_ANSWERED : errnum;
}

/* Has the kernel connected it? Returns -1 while it has not, then 0 or an errno. */
static int result_of(const struct kept_socket *kept)
{
    struct pollfd ready = {.fd = kept->fd, .events = POLLOUT};
    int errnum = 0;
    socklen_t size = sizeof(errnum);
    if (poll(&ready, 1, 0) == 0)
        return -1;
    return getsockopt(kept->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0 ? errno : errnum;
}

/* Looks at one that waits. Returns whether it is over. */
static bool look_at(const struct bare *bare, size_t index, int64_t now)
{
    struct bare_network *network = bare->network;
    struct waiting_connection waiting = network->waiting.at[index];
    struct kept_socket *kept = bare_find_socket(network, waiting.inode);
    bool is_lost = !kept || kept->fd < 0 || now >= waiting.deadline ||
                   (!waiting.is_answered && !judged_call_waits(&waiting.call));
    int result = is_lost ? ETIMEDOUT : -1;
    if (!is_lost && waiting.awaited == AWAITS_PEER)
        result = result_of(kept);
    if (!is_lost && waiting.awaited == AWAITS_QUEUE) {
        /* Everything is read and judged again. If the call has to wait again, that is a new entry. */
        result = bare_connect(bare, &waiting.call);
        network->waiting.at[index].is_answered = result < 0;
        result = result < 0 ? 0 : result;
    } else if (result == 0) {
        bare_close_copy(kept);
    }
    if (result >= 0)
        end_waiting(network, index, result);
    return result >= 0;
}

/* --- the judge's thread ---------------------------------------------------------------------------------------------------- */

int bare_network_await(const struct bare_network *network, struct pollfd ret_ready[NETWORK_AWAITED])
{
    ret_ready[0] = (struct pollfd){.fd = network->channel_fd,
                                   .events = (short)(POLLIN | (network->outgoing.count ? POLLOUT : 0))};
    ret_ready[1] =
        (struct pollfd){.fd = network->waiting.count ? network->arrivals_fd : -1, .events = POLLIN};
    return network->waiting.count ? TICK : network->listening.count ? LOOK_MILLISECONDS : -1;
}

void bare_network_attend(const struct bare *bare)
{
    struct bare_network *network = bare->network;
    if (network->channel_fd >= 0)
        serve(network);
    send_waiting(network);
    int64_t now = now_milliseconds();
    if (network->listening.count && now - network->last_look >= LOOK_MILLISECONDS) {
        network->last_look = now;
        bare_forget_stopped(network);
    }
    take_arrivals(network);
    for (size_t i = network->waiting.count; i > 0; i--)
        look_at(bare, i - 1, now);
}

/* An address that no other program of this machine uses by chance. */
static int listen_somewhere(struct bare_network *network)
{
    uint8_t random[3];
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    struct endpoint at = {0};
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return -1;
    network->address = UINT32_C(127) << 24 | (UINT32_C(64) + random[0] % 128) << 16 |
                       (uint32_t)random[1] << 8 | (UINT32_C(1) + random[2] % 254);
    at = endpoint_v4(network->address, 0);
    socklen_t at_size = endpoint_to_socket(&at, &address);
    auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, at_size) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0 || !endpoint_from_socket(&address, &at))
        return -1;
    port_prepare(fd);
    network->arrivals_port = at.port;
    network->arrivals_fd = fd_take(&fd);
    return 0;
}

int bare_network_begin(struct bare *bare, int channel_fd, struct err *err)
{
    static struct bare_network network; /* the judge's thread uses it until the process ends */
    network.channel_fd = channel_fd;
    network.report_fd = bare->report_fd;
    network.is_by_name = ports_by_name(bare->launch->operations);
    network.is_of_the_host = ports_host_network(bare->launch->operations);
    if (listen_somewhere(&network) < 0)
        return err_sys(err, errno, "cannot listen on this machine's loopback");
    int errnum = open_planned(&network, bare->launch->operations);
    bare_find_granted(&network, bare->launch->operations);
    bare->network = &network;
    return errnum ? err_sys(err, errnum, "the plan names too many addresses") : 0;
}
