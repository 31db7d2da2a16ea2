/*
 * Two ends for measuring a network path:
 *
 *     bench-net serve ADDRESS PORT
 *     bench-net connect|request|bulk ADDRESS PORT SECONDS     prints how many a second: connections, requests, bytes
 *
 * connect: a new connection for each exchange of one byte. request: 16 kept connections, 100 bytes there and 1,000 back.
 * Time is taken from the first answer on: what a way has to start for the first connection is not what is measured here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 16, REQUEST = 100, ANSWER = 1000, BLOCK = 1 << 18 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void must(bool fine, const char *what)
{
    if (!fine) {
        perror(what);
        exit(1);
    }
}

static struct sockaddr_in address_of(char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(arguments[1], NULL, 10))};
    must(inet_pton(AF_INET, arguments[0], &address.sin_addr) == 1, "address");
    return address;
}

static int dial(const struct sockaddr_in *address)
{
    static const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0, "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

/* What a client's first byte asks for: 'b' for bytes without end, otherwise an answer a request. */
static bool answer(int fd)
{
    static char block[BLOCK];
    char request[REQUEST];
    ssize_t got = recv(fd, request, sizeof(request), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return true;
    if (got <= 0)
        return false;
    if (request[0] == 'c')
        return send(fd, block, 1, MSG_NOSIGNAL) == 1;
    if (request[0] == 'r')
        return send(fd, block, ANSWER, MSG_NOSIGNAL) == ANSWER;
    if (fork() == 0) {
        while (send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0) {
        }
        _exit(0);
    }
    return false;
}

static _Noreturn void serve(const struct sockaddr_in *address)
{
    static const int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
        poller = epoll_create1(EPOLL_CLOEXEC);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    must(bind(listener, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
             listen(listener, 4096) == 0,
         "listen");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[64];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd != listener) {
                if (!answer(fd))
                    close(fd);
                continue;
            }
            while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
                event.data.fd = fd;
                epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
            }
        }
    }
}

static void exchange(const struct sockaddr_in *address)
{
    char byte = 'c';
    int fd = dial(address);
    must(send(fd, &byte, 1, 0) == 1 && recv(fd, &byte, 1, 0) == 1, "exchange");
    close(fd);
}

static double measure_connections(const struct sockaddr_in *address, double seconds)
{
    double count = 0, end = now() + seconds;
    while (now() < end) {
        exchange(address);
        count++;
    }
    return count;
}

static double measure_requests(const struct sockaddr_in *address, double seconds)
{
    static char request[REQUEST] = "r";
    int poller = epoll_create1(EPOLL_CLOEXEC);
    size_t got[4096] = {0};
    for (int i = 0; i < CONNECTIONS; i++) {
        int fd = dial(address);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
        must(send(fd, request, sizeof(request), 0) == sizeof(request), "send");
    }
    double count = 0, end = now() + seconds;
    while (now() < end) {
        struct epoll_event ready[CONNECTIONS];
        int many = epoll_wait(poller, ready, CONNECTIONS, 1000);
        for (int i = 0; i < many; i++) {
            char part[ANSWER];
            int fd = ready[i].data.fd;
            ssize_t size = recv(fd, part, ANSWER - got[fd], 0);
            must(size > 0, "receive");
            got[fd] += (size_t)size;
            if (got[fd] < ANSWER)
                continue;
            got[fd] = 0;
            count++;
            must(send(fd, request, sizeof(request), 0) == sizeof(request), "send");
        }
    }
    return count;
}

static double measure_bulk(const struct sockaddr_in *address, double seconds)
{
    static char block[BLOCK];
    int fd = dial(address);
    double bytes = 0, end = now() + seconds;
    must(send(fd, "b", 1, 0) == 1, "send");
    while (now() < end) {
        ssize_t got = recv(fd, block, sizeof(block), 0);
        must(got > 0, "receive");
        bytes += (double)got;
    }
    return bytes;
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "serve") == 0) {
        struct sockaddr_in address = address_of(arguments + 2);
        serve(&address);
    }
    must(count == 5, "usage: bench-net serve ADDRESS PORT | connect|request|bulk ADDRESS PORT SECONDS");
    struct sockaddr_in address = address_of(arguments + 2);
    double seconds = strtod(arguments[4], NULL);
    exchange(&address);
    double done = arguments[1][0] == 'c'   ? measure_connections(&address, seconds)
                  : arguments[1][0] == 'r' ? measure_requests(&address, seconds)
                                           : measure_bulk(&address, seconds);
    printf("%.0f\n", done / seconds);
    return 0;
}
