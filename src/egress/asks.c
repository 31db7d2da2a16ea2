#include "egress/asks.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    MOST_WAITING = 32768, /* as many names as there may be, at a few ports each */
    AT_ONCE = 64,
    TURN = 64, /* messages, before others have their turn */
};

/* The kind of the socket is checked: process 1 is bawn's own code, but it runs among untrusted processes. */
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

static void take_reply(struct asks *asks, const struct port_request *reply, int fd)
{
    for (size_t i = 0; i < asks->sent.count; i++) {
        struct ask ask = asks->sent.at[i];
        if (ask.request.number != reply->number)
            continue;
        asks->sent.at[i] = asks->sent.at[--asks->sent.count];
        int errnum = reply->errnum;
        if (fd >= 0 && (errnum || !is_what_was_asked(fd, &ask.request))) {
            close(fd);
            fd = -1;
            errnum = EPROTO;
        }
        bool needs_none = ask.request.kind == PORT_LISTENER || ask.request.kind == PORT_SOLE_LISTENER;
        if (ask.self)
            ask.done(ask.self, fd, fd < 0 && !errnum && !needs_none ? EPROTO : errnum);
        else if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0)
        close(fd); /* an earlier helper asked for it */
}

static void send_waiting(struct asks *asks)
{
    while (asks->sent.count < AT_ONCE && asks->waiting_first < asks->waiting.count) {
        struct ask ask = asks->waiting.at[asks->waiting_first];
        int errnum = port_send(asks->channel.fd, &ask.request, -1) < 0 ? errno : 0;
        if (errnum == EAGAIN) {
            poller_change(asks->poller, &asks->channel, EPOLLIN | EPOLLOUT);
            return;
        }
        asks->waiting_first++;
        if (!errnum)
            vec_push(&asks->sent, ask);
        else if (ask.self)
            ask.done(ask.self, -1, errnum);
    }
    if (asks->waiting_first == asks->waiting.count)
        asks->waiting_first = asks->waiting.count = 0;
    poller_change(asks->poller, &asks->channel, EPOLLIN);
}

static void channel_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    struct asks *asks = container_of(watcher, struct asks, channel);
    struct port_request reply;
    int fd = -1, result = -1;
    for (int i = 0; i < TURN; i++) {
        result = port_receive(watcher->fd, &reply, &fd);
        if (result == 0 || (result < 0 && errno != EPROTO))
            break;
        bool is_arrival = result > 0 && (reply.kind == PORT_ARRIVAL || reply.kind == PORT_QUESTIONS);
        if (is_arrival && fd >= 0)
            asks->on_arrival(asks, &reply, fd);
        else if (result > 0 && !is_arrival)
            take_reply(asks, &reply, fd);
        send_waiting(asks);
        asks->on_reply(asks);
    }
    send_waiting(asks);
    if (result == 0)
        asks->poller->is_over = true; /* process 1 has ended, and the sandbox with it */
}

bool asks_are_answered(const struct asks *asks, uint64_t last)
{
    for (size_t i = 0; i < asks->sent.count; i++) {
        if (asks->sent.at[i].request.number <= last)
            return false;
    }
    size_t first = asks->waiting_first;
    return first == asks->waiting.count || asks->waiting.at[first].request.number > last;
}

int asks_open(struct asks *asks, int channel_fd)
{
    asks->last = (uint64_t)getpid() << 32;
    return poller_add(asks->poller, &asks->channel, channel_fd, EPOLLIN, channel_ready);
}

void ask_port(struct asks *asks, enum port_kind kind, struct endpoint at, ask_done *done, void *self)
{
    struct ask ask = {
        .request = {.kind = kind, .number = ++asks->last, .at = at}, .done = done, .self = self};
    if (asks->waiting.count - asks->waiting_first >= MOST_WAITING) {
        done(self, -1, EAGAIN);
        return;
    }
    vec_push(&asks->waiting, ask);
    send_waiting(asks);
}

void ask_forget(struct asks *asks, const void *self)
{
    for (size_t i = 0; i < asks->sent.count; i++) {
        if (asks->sent.at[i].self == self)
            asks->sent.at[i].self = NULL;
    }
    for (size_t i = asks->waiting_first; i < asks->waiting.count; i++) {
        if (asks->waiting.at[i].self == self)
            asks->waiting.at[i].self = NULL;
    }
}
