#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/egress.h"

/* The socket must be what was asked for: process 1 is ours, but it lives among strangers. */
static bool is_what_was_asked(int fd, const struct port_request *request)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof(domain), type_size = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) < 0)
        return false;
    int family = endpoint_is_v4(&request->at) ? AF_INET : AF_INET6;
    return domain == family && type == (request->kind == PORT_DATAGRAM ? SOCK_DGRAM : SOCK_STREAM);
}

static void take_reply(struct egress *egress, const struct port_request *reply, int fd)
{
    for (size_t i = 0; i < egress->asks.count; i++) {
        struct ask ask = egress->asks.at[i];
        if (ask.request.number != reply->number)
            continue;
        egress->asks.at[i] = egress->asks.at[--egress->asks.count];
        int errnum = reply->errnum;
        if (fd >= 0 && (errnum || !is_what_was_asked(fd, &ask.request))) {
            close(fd);
            fd = -1;
            errnum = EPROTO;
        }
        if (ask.self)
            ask.done(ask.self, fd, fd < 0 && !errnum ? EPROTO : errnum);
        else if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0)
        close(fd); /* for a helper before this one */
}

/* Sends what waits. Only so many are under way that neither side's answers find the channel full. */
static void send_waiting(struct egress *egress)
{
    while (egress->asks.count < ASKS_AT_ONCE && egress->waiting_first < egress->waiting_asks.count) {
        struct ask ask = egress->waiting_asks.at[egress->waiting_first];
        int errnum = port_send(egress->channel.fd, &ask.request, -1) < 0 ? errno : 0;
        if (errnum == EAGAIN) {
            poller_change(&egress->poller, &egress->channel, EPOLLIN | EPOLLOUT);
            return;
        }
        egress->waiting_first++;
        if (!errnum)
            vec_push(&egress->asks, ask);
        else if (ask.self)
            ask.done(ask.self, -1, errnum);
    }
    if (egress->waiting_first == egress->waiting_asks.count)
        egress->waiting_first = egress->waiting_asks.count = 0;
    poller_change(&egress->poller, &egress->channel, EPOLLIN);
}

static void channel_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    struct egress *egress = container_of(watcher, struct egress, channel);
    struct port_request reply;
    int fd = -1, result;
    while ((result = port_receive(watcher->fd, &reply, &fd)) > 0 || (result < 0 && errno == EPROTO)) {
        if (result > 0)
            take_reply(egress, &reply, fd);
        send_waiting(egress);
        settings_confirm(egress);
    }
    send_waiting(egress);
    if (result == 0)
        egress->is_over = true; /* process 1 is gone, and with it everything that this program is for */
}

bool asks_are_answered(const struct egress *egress, uint64_t last_ask)
{
    for (size_t i = 0; i < egress->asks.count; i++) {
        if (egress->asks.at[i].request.number <= last_ask)
            return false;
    }
    size_t first = egress->waiting_first; /* in the order of their numbers */
    return first == egress->waiting_asks.count || egress->waiting_asks.at[first].request.number > last_ask;
}

int asks_open(struct egress *egress, int channel_fd)
{
    egress->last_ask = (uint64_t)getpid() << 32;
    return poller_add(&egress->poller, &egress->channel, channel_fd, EPOLLIN, channel_ready);
}

void ask_port(struct egress *egress, enum port_kind kind, struct endpoint at, ask_done *done, void *self)
{
    struct ask ask = {
        .request = {.kind = kind, .number = ++egress->last_ask, .at = at}, .done = done, .self = self};
    if (egress->waiting_asks.count - egress->waiting_first >= MOST_ASKS) {
        done(self, -1, EAGAIN);
        return;
    }
    vec_push(&egress->waiting_asks, ask);
    send_waiting(egress);
}

void ask_forget(struct egress *egress, const void *self)
{
    for (size_t i = 0; i < egress->asks.count; i++) {
        if (egress->asks.at[i].self == self)
            egress->asks.at[i].self = NULL;
    }
    for (size_t i = egress->waiting_first; i < egress->waiting_asks.count; i++) {
        if (egress->waiting_asks.at[i].self == self)
            egress->waiting_asks.at[i].self = NULL;
    }
}
