#include "supervise/localhost.h"

#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "kernel/ports.h"

enum {
    FIRST_OF_NO_SERVER = 32768, /* from here on the kernel chooses ports for programs that name none */
    REFUSALS_HEARD = 64,
    LONGEST_PAUSE = 8000, /* milliseconds between two looks */
    PAUSE_SHARE = 4,      /* of the time that the run has lasted */
};

static bool has(const uint16_t *ports, size_t count, uint16_t port)
{
    for (size_t i = 0; i < count; i++) {
        if (ports[i] == port)
            return true;
    }
    return false;
}

static void note_server(void *self, uint16_t port)
{
    struct localhost *localhost = self;
    if (port < FIRST_OF_NO_SERVER && localhost->serving_count < LOCALHOST_PORTS &&
        !has(localhost->serving, localhost->serving_count, port))
        localhost->serving[localhost->serving_count++] = port;
}

static bool look(void *self)
{
    struct localhost *localhost = self;
    int64_t now = now_milliseconds(), pause = (localhost->looked - localhost->began) / PAUSE_SHARE;
    if (localhost->servers_fd < 0 ||
        now - localhost->looked < (pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE))
        return false;
    localhost->looked = now;
    if (!port_list_servers(localhost->servers_fd, 0, note_server, localhost) ||
        localhost->serving_count == LOCALHOST_PORTS) {
        close(localhost->servers_fd);
        localhost->servers_fd = -1;
    }
    return localhost->serving_count > localhost->serving_told;
}

bool localhost_is_own(const struct localhost *localhost, uint16_t port)
{
    vec_each (const struct operation, operation, &localhost->plan->operations) {
        if ((operation->kind == OP_HOST_PORT || operation->kind == OP_PUBLISH) && operation->port == port)
            return true;
        if (operation->listening.port == port)
            return true;
    }
    return false;
}

static int tell_servers(void *self, short events not_used, struct err *err not_used)
{
    struct localhost *localhost = self;
    while (localhost->serving_told < localhost->serving_count) {
        uint16_t port = localhost->serving[localhost->serving_told++];
        if (!localhost_is_own(localhost, port))
            localhost->noticed(localhost->self, LOCALHOST_SERVES, port);
    }
    return 0;
}

static void set(void *self, uint16_t port not_used)
{
    *(bool *)self = true;
}

/* Does a server have the port? `servers_fd` of the network that is meant. */
static bool has_server(int servers_fd, uint16_t port)
{
    bool found = false;
    return servers_fd >= 0 && port_list_servers(servers_fd, port, set, &found) && found;
}

static void note_refusal(struct localhost *localhost, uint16_t port)
{
    auto_fd int host_fd = -1;
    if (localhost->refused_count == LOCALHOST_PORTS ||
        has(localhost->refused, localhost->refused_count, port) || localhost_is_own(localhost, port) ||
        has_server(localhost->servers_fd, port))
        return;
    host_fd = port_open_servers();
    if (!has_server(host_fd, port))
        return;
    localhost->refused[localhost->refused_count++] = port;
    localhost->noticed(localhost->self, LOCALHOST_REFUSED, port);
}

/* Where the loop watches it no more, its descriptor is closed too: the kernel must not fill it. */
static void hear_no_more(struct localhost *localhost)
{
    if (localhost->refusals_fd < 0)
        return;
    loop_remove(localhost->loop, localhost->refusals_fd);
    close(localhost->refusals_fd);
    localhost->refusals_fd = -1;
}

static int take_refusals(void *self, short events not_used, struct err *err not_used)
{
    struct localhost *localhost = self;
    uint16_t port;
    while (localhost->refusals < REFUSALS_HEARD && port_take_refusal(localhost->refusals_fd, &port)) {
        localhost->refusals++;
        note_refusal(localhost, port);
    }
    if (localhost->refusals == REFUSALS_HEARD || localhost->refused_count == LOCALHOST_PORTS)
        hear_no_more(localhost);
    return 0;
}

void localhost_take(struct localhost *localhost, bool is_of_refusals, int fd)
{
    int *place = is_of_refusals ? &localhost->refusals_fd : &localhost->servers_fd;
    if (*place >= 0) {
        close(fd);
        return;
    }
    *place = fd;
    if (is_of_refusals) {
        loop_add(localhost->loop, fd, POLLIN, take_refusals, localhost);
        return;
    }
    localhost->began = localhost->looked = now_milliseconds();
    localhost->loop->along = (struct loop_look){look, tell_servers, localhost};
}

void localhost_hear(struct localhost *localhost, enum localhost_kind kind, uint16_t port)
{
    struct err ignored;
    if (!localhost->noticed || localhost->refusals == REFUSALS_HEARD)
        return;
    localhost->refusals++;
    if (kind == LOCALHOST_REFUSED)
        note_refusal(localhost, port);
    else
        note_server(localhost, port);
    (void)tell_servers(localhost, 0, &ignored);
}

void localhost_end(struct localhost *localhost)
{
    struct err ignored;
    if (localhost->refusals_fd >= 0)
        (void)take_refusals(localhost, 0, &ignored);
    hear_no_more(localhost);
    if (localhost->servers_fd >= 0)
        close(localhost->servers_fd);
    localhost->servers_fd = -1;
}
