/*
 * Two ends for measuring a network path:
 *
 *     bench-net serve ADDRESS PORT
 *     bench-net relay ADDRESS PORT TO        the smallest relay: passes on what comes, to port TO of the same address
 *     bench-net connect|request|work|alone|bulk ADDRESS PORT SECONDS [proxy]   prints how many a second: connections, requests, bytes
 *
 * With `proxy` it asks the one that HTTPS_PROXY names (http://USER:PASSWORD@localhost:PORT) for each connection, as clients do.
 * connect: a new connection for each exchange of one byte. request: 16 kept connections, 100 bytes there and 1,000 back.
 * work: the same, and the server takes 20 microseconds of its processor for each answer. alone: the same as request, with a
 * process of its own for each connection on both sides, which sleeps until it is answered or asked.
 * Time is taken from the first answer on: what a way has to start for the first connection is not what is measured here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 16, REQUEST = 100, ANSWER = 1000, BLOCK = 1 << 18 };

static double clock_now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double now(void)
{
    return clock_now(CLOCK_MONOTONIC);
}

/* By its own clock: while somebody else has the processor nothing is done. */
static void work(void)
{
    double end = clock_now(CLOCK_THREAD_CPUTIME_ID) + 20e-6;
    while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
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

/* Where to, and what is asked of a proxy there; an empty text: it is the host itself. */
struct target {
    struct sockaddr_in address;
    char ask[4096];
};

static void ask_proxy(int fd, const char *ask)
{
    char answer[4096] = "";
    size_t size = 0;
    must(send(fd, ask, strlen(ask), 0) == (ssize_t)strlen(ask), "send");
    while (!strstr(answer, "\r\n\r\n")) {
        ssize_t got = recv(fd, answer + size, sizeof(answer) - 1 - size, 0);
        must(got > 0, "receive");
        size += (size_t)got;
        answer[size] = '\0';
    }
    must(strstr(answer, " 200 "), "the proxy");
}

static int dial(const struct target *target)
{
    static const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&target->address, sizeof(target->address)) == 0,
         "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (*target->ask)
        ask_proxy(fd, target->ask);
    return fd;
}

static void add_base64(const char *bytes, size_t size, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned group = 0;
        for (size_t j = 0; j < 3; j++)
            group = group << 8 | (i + j < size ? (unsigned char)bytes[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            *text++ = (char)(i + j <= size ? digits[group >> (18 - 6 * j) & 63] : '=');
    }
    *text = '\0';
}

/* It may have been started a moment ago. */
static void await_proxy(const struct sockaddr_in *address)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    bool is_there = false;
    for (int i = 0; i < 500 && !is_there; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is_there = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
        close(fd);
        if (!is_there)
            nanosleep(&pause, NULL);
    }
}

static void go_through_proxy(struct target *target, char **arguments)
{
    const char *url = getenv("HTTPS_PROXY");
    const char *login = url ? strstr(url, "://") : NULL, *host = login ? strrchr(login, '@') : NULL;
    const char *port = host ? strrchr(host, ':') : NULL;
    must(port && (size_t)(host - login) < 1024, "HTTPS_PROXY");
    char coded[2048];
    add_base64(login + 3, (size_t)(host - login) - 3, coded);
    snprintf(target->ask, sizeof(target->ask),
             "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\nProxy-Authorization: Basic %s\r\n\r\n", arguments[0],
             arguments[1], arguments[0], arguments[1], coded);
    target->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    target->address.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
    await_proxy(&target->address);
}

static char block[BLOCK];

static _Noreturn void answer_alone(int fd)
{
    char request[REQUEST];
    while (send(fd, block, ANSWER, MSG_NOSIGNAL) == ANSWER && recv(fd, request, sizeof(request), 0) > 0) {
    }
    _exit(0);
}

static _Noreturn void send_bytes(int fd)
{
    while (send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0) {
    }
    _exit(0);
}

/*
 * What a client's first byte asks for: 'b' for bytes without end, 'a' for a process of its own, otherwise an answer a
 * request. Returns whether the connection stays with this process.
 */
static bool answer(int fd)
{
    char request[REQUEST];
    ssize_t got = recv(fd, request, sizeof(request), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return true;
    if (got <= 0)
        return false;
    if (request[0] == 'c')
        return send(fd, block, 1, MSG_NOSIGNAL) == 1;
    if (request[0] == 'w')
        work();
    if (request[0] == 'r' || request[0] == 'w')
        return send(fd, block, ANSWER, MSG_NOSIGNAL) == ANSWER;
    if (fork() == 0) {
        if (request[0] == 'a')
            answer_alone(fd);
        send_bytes(fd);
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
    signal(SIGCHLD, SIG_IGN); /* nobody waits for those who have a connection of their own */
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[64];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd != listener) {
                if (!answer(fd)) {
                    epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL); /* another process may have it open */
                    close(fd);
                }
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

static int peer_of[1 << 16];

static void join(int poller, int fd, int peer)
{
    static const int on = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    must(fd < 1 << 16, "descriptors");
    peer_of[fd] = peer;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

/* Receives once and sends once. Returns false at the end of the connection. */
static bool pass_on(int fd)
{
    ssize_t got = recv(fd, block, sizeof(block), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return true;
    return got > 0 && send(peer_of[fd], block, (size_t)got, MSG_NOSIGNAL) == got;
}

/* What no relay can do without: no rules, no names, no limits, no journal, and one slow peer holds up all others. */
static _Noreturn void relay(const struct sockaddr_in *address, const struct target *target)
{
    static const int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), poller = epoll_create1(EPOLL_CLOEXEC);
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
            if (fd == listener) {
                int inner = accept4(listener, NULL, NULL, SOCK_CLOEXEC), outer = dial(target);
                must(inner >= 0, "accept");
                join(poller, inner, outer);
                join(poller, outer, inner);
            } else if (peer_of[fd] && !pass_on(fd)) {
                int peer = peer_of[fd];
                peer_of[fd] = peer_of[peer] = 0; /* the peer may be ready in this round, too */
                close(fd);
                close(peer);
            }
        }
    }
}

static void exchange(const struct target *target)
{
    char byte = 'c';
    int fd = dial(target);
    must(send(fd, &byte, 1, 0) == 1 && recv(fd, &byte, 1, 0) == 1, "exchange");
    close(fd);
}

static double measure_connections(const struct target *target, double seconds)
{
    double count = 0, end = now() + seconds;
    while (now() < end) {
        exchange(target);
        count++;
    }
    return count;
}

static double measure_requests(const struct target *target, double seconds, char kind)
{
    char request[REQUEST] = {kind};
    int poller = epoll_create1(EPOLL_CLOEXEC);
    size_t got[4096] = {0};
    for (int i = 0; i < CONNECTIONS; i++) {
        int fd = dial(target);
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

static _Noreturn void ask_alone(const struct target *target, double end, double *count)
{
    char request[REQUEST] = {'a'}, part[ANSWER];
    int fd = dial(target);
    while (now() < end) {
        must(send(fd, request, sizeof(request), 0) == sizeof(request), "send");
        must(recv(fd, part, sizeof(part), MSG_WAITALL) == sizeof(part), "receive");
        ++*count;
    }
    _exit(0);
}

static double measure_alone(const struct target *target, double seconds)
{
    struct {
        double count;
        char apart[56]; /* what two processes write all the time is not in one line of a processor's cache */
    } *asked =
        mmap(NULL, sizeof(*asked) * CONNECTIONS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(asked != MAP_FAILED, "memory");
    double sum = 0, end = now() + seconds;
    for (int i = 0; i < CONNECTIONS; i++) {
        if (fork() == 0)
            ask_alone(target, end, &asked[i].count);
    }
    while (wait(NULL) > 0) {
    }
    for (int i = 0; i < CONNECTIONS; i++)
        sum += asked[i].count;
    return sum;
}

static double measure_bulk(const struct target *target, double seconds)
{
    int fd = dial(target);
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
    if (count == 5 && strcmp(arguments[1], "relay") == 0) {
        struct sockaddr_in address = address_of(arguments + 2);
        struct target target = {.address = address};
        target.address.sin_port = htons((uint16_t)strtoul(arguments[4], NULL, 10));
        relay(&address, &target);
    }
    must(
        count == 5 || count == 6,
        "usage: bench-net serve ADDRESS PORT | relay ADDRESS PORT TO | connect|request|work|alone|bulk ADDRESS PORT SECONDS [proxy]");
    struct target target = {.address = address_of(arguments + 2)};
    double seconds = strtod(arguments[4], NULL);
    if (count == 6)
        go_through_proxy(&target, arguments + 2);
    exchange(&target);
    char kind = arguments[1][0];
    double done = kind == 'c'   ? measure_connections(&target, seconds)
                  : kind == 'a' ? measure_alone(&target, seconds)
                  : kind == 'b' ? measure_bulk(&target, seconds)
                                : measure_requests(&target, seconds, kind);
    printf("%.0f\n", done / seconds);
    return 0;
}
