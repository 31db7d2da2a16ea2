/*
 * Connects again and again while another thread changes what the connection is about.
 *
 *     races TIMES address GOOD_PORT BAD_PORT     the port in the caller's memory
 *     races TIMES descriptor GOOD_PORT BAD_PORT  the socket under the descriptor: one that is connected to GOOD_PORT, and a new one
 *     races TIMES path GOOD_PATH BAD_PATH        the path of a Unix socket in the caller's memory
 *
 * Prints how many connections were made. Whether any reached the bad end, its server knows.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static atomic_bool over;
static struct sockaddr_in inet = {.sin_family = AF_INET};
static struct sockaddr_un local = {.sun_family = AF_UNIX};
static const char *good, *bad;
static int target = -1;

static void *flip_port(void *unused)
{
    volatile uint16_t *port = &inet.sin_port;
    uint16_t ports[2] = {htons((uint16_t)atoi(good)), htons((uint16_t)atoi(bad))};
    for (unsigned i = 0; !over; i++)
        *port = ports[i & 1];
    return unused;
}

static void *flip_path(void *unused)
{
    uint64_t paths[2] = {0}; /* names of seven bytes at most, each put there at once */
    memcpy(&paths[0], good, strnlen(good, 7));
    memcpy(&paths[1], bad, strnlen(bad, 7));
    for (unsigned i = 0; !over; i++) {
        memcpy(local.sun_path, &paths[i & 1], sizeof(*paths));
        atomic_signal_fence(memory_order_seq_cst);
    }
    return unused;
}

static void *flip_descriptor(void *unused)
{
    int other = socket(AF_UNIX, SOCK_STREAM, 0), third = socket(AF_INET, SOCK_STREAM, 0);
    while (!over) {
        dup2(other, target);
        dup2(third, target);
    }
    return unused;
}

static int is_named(const char *name, const char *wanted)
{
    return strcmp(name, wanted) == 0;
}

int main(int count, char **words)
{
    pthread_t thread;
    int made = 0;
    if (count != 5)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    good = words[3];
    bad = words[4];
    int times = atoi(words[1]);
    int is_unix = is_named(words[2], "path"), is_descriptor = is_named(words[2], "descriptor");
    inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    inet.sin_port = htons((uint16_t)atoi(is_descriptor ? bad : good));
    target = socket(AF_INET, SOCK_STREAM, 0);
    pthread_create(&thread, NULL, is_unix ? flip_path : is_descriptor ? flip_descriptor : flip_port, NULL);
    for (int i = 0; i < times; i++) {
        int fd = is_descriptor ? target : socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
        struct linger hard = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        const struct sockaddr *address = is_unix ? (struct sockaddr *)&local : (struct sockaddr *)&inet;
        if (connect(fd, address, is_unix ? sizeof(local) : sizeof(inet)) == 0) {
            made++;
            if (write(fd, "x", 1) < 0)
                made--;
        }
        if (!is_descriptor)
            close(fd);
    }
    over = 1;
    pthread_join(thread, NULL);
    printf("%d\n", made);
    return 0;
}
