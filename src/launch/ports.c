/*
 * The sockets of the sandbox's network that exist from the start: for DNS, for granted addresses, for ports of the
 * host; and two that say what happens at localhost. They are made inside, before the walls, and passed to the
 * supervisor, which accepts their connections outside. Process 1 makes later ones on request (kernel/ports.h).
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/ports.h"
#include "launch/inside.h"

bool ports_host_network(const struct operations *operations)
{
    return strcmp(operations_net(operations), "open") == 0;
}

bool ports_by_name(const struct operations *operations)
{
    return strcmp(operations_net(operations), "allow") == 0;
}

/* The supervisor reads the channel as soon as it has let this process go. */
static int send_out(int channel_fd, const struct port_request *port, int fd, struct err *err)
{
    while (port_send(channel_fd, port, fd) < 0) {
        struct pollfd full = {.fd = channel_fd, .events = POLLOUT};
        if (errno != EAGAIN || poll(&full, 1, -1) < 0)
            return err_sys(err, errno, "cannot hand a socket out");
    }
    return 0;
}

/* Without it, as on a kernel that lacks it, a person is told less. */
static int hand_out_sight(int channel_fd, enum port_kind kind, int fd_made, struct err *err)
{
    auto_fd int fd = fd_made;
    return fd < 0 ? 0 : send_out(channel_fd, &(struct port_request){.kind = kind}, fd, err);
}

static int hand_out(int channel_fd, enum port_kind kind, struct endpoint at, struct err *err)
{
    struct port_request port = {.kind = kind, .at = at};
    auto_fd int fd = port_make(&port);
    /* No IPv6 here, or a wider socket (of a network) already takes connections to this address. */
    if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRINUSE))
        return 0;
    if (fd < 0) {
        char text[ENDPOINT_TEXT_SIZE];
        endpoint_text(&at, text);
        return err_sys(err, errno, "cannot wait for connections to %s port %u inside", text, at.port);
    }
    return send_out(channel_fd, &port, fd, err);
}

/* Networks come first: their port is taken on all addresses, which includes the single ones. */
static int hand_out_granted(int channel_fd, const struct operations *operations, bool networks,
                            struct err *err)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->listening.port && operation->is_network == networks &&
            hand_out(channel_fd, PORT_LISTENER, operation->listening, err) < 0)
            return -1;
    }
    return 0;
}

static int hand_out_host_ports(int channel_fd, const struct operations *operations, struct err *err)
{
    vec_each (const struct operation, operation, operations) {
        if (operation->kind != OP_HOST_PORT)
            continue;
        struct endpoint v6 = {.address = {[15] = 1}, .port = operation->port};
        if (hand_out(channel_fd, PORT_SOLE_LISTENER, endpoint_v4(INADDR_LOOPBACK, operation->port), err) <
                0 ||
            hand_out(channel_fd, PORT_SOLE_LISTENER, v6, err) < 0)
            return -1;
    }
    return 0;
}

int ports_hand_out(const struct operations *operations, int channel_fd, struct err *err)
{
    struct endpoint names = endpoint_v4(PORT_NAMES_ADDRESS, PORT_NAMES);
    /* First: once a helper runs, the supervisor reads the channel no more. */
    if (hand_out_sight(channel_fd, PORT_SERVERS, port_open_servers(), err) < 0 ||
        hand_out_sight(channel_fd, PORT_REFUSALS, port_open_refusals(), err) < 0)
        return -1;
    if (ports_by_name(operations) && (hand_out(channel_fd, PORT_DATAGRAM, names, err) < 0 ||
                                      hand_out(channel_fd, PORT_SOLE_LISTENER, names, err) < 0 ||
                                      hand_out_granted(channel_fd, operations, true, err) < 0 ||
                                      hand_out_granted(channel_fd, operations, false, err) < 0))
        return -1;
    return hand_out_host_ports(channel_fd, operations, err);
}
