/*
 * Reaches the network of the host.
 *
 * Why: with the network off there is nothing but a loopback of the sandbox's own: a database, a browser's debugging port
 * or a model server on the host's 127.0.0.1 asks for no password.
 * Seen: sandboxes that filtered by proxy variables; `curl --noproxy` walked past.
 *
 * case tcp-to-host: tcp 127.0.0.1 {tcp_port} => ECONNREFUSED connect | harms listeners
 * case tcp6-to-host: tcp ::1 {tcp6_port} => ECONNREFUSED connect | harms listeners
 * case tcp-mapped-to-host: tcp ::ffff:127.0.0.1 {tcp_port} => ECONNREFUSED connect | harms listeners
 * case udp-to-host: udp 127.0.0.1 {udp_port} => ECONNREFUSED recv | control EAGAIN recv | harms listeners
 * case tcp-any-to-host: tcp 0.0.0.0 {tcp_port} => ECONNREFUSED connect | harms listeners
 * case tcp-to-world: tcp 192.0.2.1 9 => ENETUNREACH connect | control-by nobody: it would need the internet
 * case tcp-to-metadata: tcp 169.254.169.254 80 => ENETUNREACH connect | control-by nobody: not every machine has it
 * case udp-to-world: udp 192.0.2.1 53 => ENETUNREACH connect | control-by nobody: it would need the internet
 * case bind-host-port: bind 127.0.0.1 {tcp_port} => done | control EADDRINUSE bind
 *
 * The sandbox's own loopback works, and with the network open so does the host's.
 * case own-server: serve 127.0.0.1 0 => done
 * case own-server6: serve ::1 0 => done
 * case tcp-net-open: tcp 127.0.0.1 {tcp_port} => done | flags --net open | reaches listeners
 */
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "attack.h"

static _Noreturn void serve(int fd, const struct addrinfo *address)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof(own);
    must(bind(fd, address->ai_addr, address->ai_addrlen), "bind");
    must(listen(fd, 1), "listen");
    must(getsockname(fd, (struct sockaddr *)&own, &size), "getsockname");
    int client = socket(address->ai_family, SOCK_STREAM, 0);
    must(connect(client, (struct sockaddr *)&own, size), "connect");
    must(accept(fd, NULL, NULL), "accept");
    done();
}

int main(int argc, char **argv)
{
    const char *act = argument(argc, argv, 1);
    struct addrinfo *address, hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    hints.ai_socktype = strcmp(act, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM;
    if (getaddrinfo(argument(argc, argv, 2), argument(argc, argv, 3), &hints, &address) != 0)
        saw("no such address");
    int fd = socket(address->ai_family, address->ai_socktype, 0);
    must(fd, "socket");
    if (strcmp(act, "serve") == 0)
        serve(fd, address);
    if (strcmp(act, "bind") == 0) {
        must(bind(fd, address->ai_addr, address->ai_addrlen), "bind");
        done();
    }
    must(connect(fd, address->ai_addr, address->ai_addrlen), "connect");
    must(send(fd, "x", 1, 0), "send");
    if (strcmp(act, "udp") == 0) {
        char byte;
        usleep(1000);
        must(recv(fd, &byte, 1, MSG_DONTWAIT), "recv");
    }
    done();
}
