/*
 * Reaches the network of the host.
 *
 * Why: with the network off there is nothing but a loopback of the sandbox's own: a database, a browser's debugging port
 * or a model server on the host's 127.0.0.1 asks for no password.
 * Seen: sandboxes that filtered by proxy variables; `curl --noproxy` walked past.
 *
 * case tcp-to-host: tcp 127.0.0.1 {tcp_port} => ECONNREFUSED connect | harms listeners
 *   network: connect to a TCP server on your 127.0.0.1
 * case tcp6-to-host: tcp ::1 {tcp6_port} => ECONNREFUSED connect | harms listeners
 *   network: connect to a TCP server on your ::1
 * case tcp-mapped-to-host: tcp ::ffff:127.0.0.1 {tcp_port} => ECONNREFUSED connect | harms listeners
 *   network: connect to 127.0.0.1 written as an IPv6 address
 * case udp-to-host: udp 127.0.0.1 {udp_port} => ECONNREFUSED recv | control EAGAIN recv | harms listeners
 *   network: send a UDP datagram to a server on your 127.0.0.1
 * case tcp-any-to-host: tcp 0.0.0.0 {tcp_port} => ECONNREFUSED connect | harms listeners
 *   network: connect to 0.0.0.0, which means this machine
 * case tcp-to-world: tcp 192.0.2.1 9 => ENETUNREACH connect | control-by nobody: it would need the internet
 * case tcp-to-metadata: tcp 169.254.169.254 80 => ENETUNREACH connect | control-by nobody: not every machine has it
 * case udp-to-world: udp 192.0.2.1 53 => ENETUNREACH connect | control-by nobody: it would need the internet
 * case bind-host-port: bind 127.0.0.1 {tcp_port} => done | control EADDRINUSE bind
 *   network: find out which ports are taken on your 127.0.0.1
 *
 * The sandbox's own loopback works, and with the network open so does the host's.
 * case own-server: serve 127.0.0.1 0 => done
 * case own-server6: serve ::1 0 => done
 * case tcp-net-open: tcp 127.0.0.1 {tcp_port} => done | flags --net open | reaches listeners
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "attack.h"

enum { ANSWER_MILLISECONDS = 200 };

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    };
    socklen_t size;
};

static struct address parse(const char *text, long port)
{
    struct address address = {.size = sizeof(address.four)};
    if (inet_pton(AF_INET, text, &address.four.sin_addr) == 1) {
        address.four.sin_family = AF_INET;
        address.four.sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, text, &address.six.sin6_addr) == 1) {
        address.six.sin6_family = AF_INET6;
        address.six.sin6_port = htons((uint16_t)port);
        address.size = sizeof(address.six);
    } else {
        saw("no such address");
    }
    return address;
}

static _Noreturn void serve(int fd, const struct address *address)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof(own);
    must(bind(fd, &address->any, address->size), "bind");
    must(listen(fd, 1), "listen");
    must(getsockname(fd, (struct sockaddr *)&own, &size), "getsockname");
    int client = socket(address->any.sa_family, SOCK_STREAM, 0);
    must(connect(client, (struct sockaddr *)&own, size), "connect");
    must(accept(fd, NULL, NULL), "accept");
    done();
}

ATTACK(network)
{
    const char *act = argument(argc, argv, 1);
    struct address address = parse(argument(argc, argv, 2), number_argument(argc, argv, 3));
    int fd = socket(address.any.sa_family, strcmp(act, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM, 0);
    must(fd, "socket");
    if (strcmp(act, "serve") == 0)
        serve(fd, &address);
    if (strcmp(act, "bind") == 0) {
        must(bind(fd, &address.any, address.size), "bind");
        done();
    }
    must(connect(fd, &address.any, address.size), "connect");
    must(send(fd, "x", 1, MSG_NOSIGNAL), "send");
    if (strcmp(act, "udp") == 0) {
        char byte;
        struct pollfd answer = {.fd = fd, .events = POLLIN};
        poll(&answer, 1,
             ANSWER_MILLISECONDS); /* on a busy machine the kernel says later that nobody is there */
        must(recv(fd, &byte, 1, MSG_DONTWAIT), "recv");
    }
    done();
}
