/*
 * A connection from the sandbox, in the front.
 *
 * A client goes through these states:
 *
 *   HEAD     reads the head of a request; nothing is sent to the back before it is complete and judged
 *   CONTENT  reads its content
 *   PUSH     reads a push, as far as it takes to judge it; nothing is sent to the back meanwhile
 *   QUESTION reads a request by GraphQL as a whole, and judges it; nothing is sent to the back meanwhile
 *   REFUSED  the policy refuses the request: reads its content and drops it, and answers itself
 *   ANSWER   the request is complete: nothing more is read until its answer has ended
 *   RAW      the server agreed to change to WebSocket: bytes pass in both directions
 *   BYE      the last bytes are queued: sends them, then reads and drops until the client closes
 *
 * client_step does what can be done in one turn. It is called when one of its descriptors is ready, and again after the others' turns.
 */
#include "vault/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/ports.h"

enum {
    INPUT_MOST = HEAD_LARGEST + RECORD_CONTENT_LARGEST,
    BACK_PATIENCE = 5000, /* milliseconds */
    TICK = 250,
};

static void client_end(struct client *client, bool is_clean)
{
    struct front *front = client->front;
    stream_close(&client->stream, &front->poller, is_clean);
    channel_close(&client->channel);
    poller_close(&client->tether);
    buf_free(&client->input);
    buf_free(&client->refusal);
    client_end_push(client);
    question_end(client);
    buf_free(&client->held_head);
    buf_free(&client->held);
    scrub_free(&client->watch);
    *(client->previous ? &client->previous->next : &front->clients) = client->next;
    if (client->next)
        client->next->previous = client->previous;
    front->client_count--;
    poller_retire(&front->poller, client);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static bool take_answer_head(struct client *client, struct bytes text)
{
    not_zeroed struct head head;
    bool is_expected = client->state == CLIENT_CONTENT || client->state == CLIENT_ANSWER;
    bool may_upgrade = client->body.framing == FRAMING_UPGRADE;
    if (!is_expected || client->has_answer || head_read_answer(text, client->is_head, may_upgrade, &head) ||
        head.framing == FRAMING_CLOSE)
        return false;
    stream_write(&client->stream, text);
    client->has_answer = true;
    client->answer_framing = head.framing;
    client->answer_is_last |= head.is_last;
    if (head.framing == FRAMING_UPGRADE)
        client->state = CLIENT_RAW;
    return true;
}

static bool take_answer_end(struct client *client)
{
    auto_buf struct buf end = {0};
    if (!client->has_answer || client->state == CLIENT_RAW)
        return false;
    question_learn(client);
    question_end(client);
    body_end(client->answer_framing, &end);
    stream_write(&client->stream, bytes_of(buf_text(&end), end.size));
    bool is_early = client->state == CLIENT_CONTENT; /* the server does not want the rest */
    if (client->answer_is_last || is_early)
        client_begin_farewell(client);
    else
        client->state = CLIENT_HEAD;
    client->has_answer = false;
    return true;
}

/* Returns false if the back sent what it never sends. */
static bool take_record(struct client *client, enum record_kind kind, struct bytes bytes)
{
    auto_buf struct buf framed = {0};
    switch (kind) {
    case RECORD_HEAD:
        return take_answer_head(client, bytes);
    case RECORD_CONTENT:
        question_take_answer(client, bytes);
        body_write(client->answer_framing, bytes, &framed);
        stream_write(&client->stream, bytes_of(framed.bytes, framed.size));
        return client->has_answer && client->state != CLIENT_RAW;
    case RECORD_END:
        return take_answer_end(client);
    case RECORD_RAW:
        stream_write(&client->stream, bytes);
        return client->state == CLIENT_RAW;
    case RECORD_FAILED:
        snprintf(client->failure, sizeof(client->failure), "%.*s", (int)bytes.size, bytes.at);
        if (client->has_answer) /* too late to tell the client: it sees an answer that is cut off */
            client_tell_refused(client, client->failure);
        if (client->state != CLIENT_HEAD)
            client_refuse(client, "502 Bad Gateway", client->failure);
        return true;
    }
    return false;
}

static bool take_records(struct client *client)
{
    bool has_moved = false;
    while (client->state != CLIENT_BYE && stream_waiting(&client->stream) < VAULT_LARGEST_QUEUE) {
        enum record_kind kind;
        struct bytes bytes;
        int next = channel_next(&client->channel, &kind, &bytes);
        if (next == 0)
            break;
        has_moved = true;
        if (next < 0 || !take_record(client, kind, bytes)) {
            client->stream.is_broken = true;
            break;
        }
    }
    return has_moved;
}

/* --- the life of a client ----------------------------------------------------------------------------------------- */

static bool may_receive(const struct client *client)
{
    return client->state == CLIENT_BYE ||
           (client->state != CLIENT_ANSWER && client->input.size < INPUT_MOST && !client_is_clogged(client));
}

/* In BYE: what the client still sends is dropped, since closing a socket with unread bytes would discard our last ones. */
static void say_bye(struct client *client)
{
    auto_buf struct buf dropped = {0};
    for (int i = 0; i < VAULT_TURN && stream_pump(&client->stream, true) &&
                    stream_read(&client->stream, INPUT_MOST, &dropped);
         i++)
        dropped.size = 0;
    if (!client->is_finished && !stream_waiting(&client->stream)) {
        client->is_finished = true;
        shutdown(client->stream.watcher.fd, SHUT_WR);
    }
}

/* The back has closed the channel, and all its records are read. */
static void channel_has_ended(struct client *client)
{
    bool is_between = client->state == CLIENT_HEAD && client->input.size == 0;
    if (*client->failure && client->state == CLIENT_HEAD)
        return; /* the request comes yet */
    if (client->has_answer && client->state != CLIENT_RAW)
        client->stream.is_broken = true; /* the client must see that the answer was cut off */
    else if (is_between || client->state == CLIENT_RAW)
        client_begin_farewell(client);
    else
        client_refuse(client, "502 Bad Gateway", "the connection to the server ended");
}

static bool round_of(struct client *client)
{
    bool has_moved = stream_pump(&client->stream, may_receive(client));
    if (may_receive(client))
        has_moved |= stream_read(&client->stream, INPUT_MOST - client->input.size, &client->input);
    has_moved |= client_read_request(client);
    if (client->state == CLIENT_BYE)
        return false;
    has_moved |= channel_pump(&client->channel);
    has_moved |= take_records(client);
    bool is_slow = stream_waiting(&client->stream) >= VAULT_LARGEST_QUEUE; /* then records may wait */
    if (client->state != CLIENT_BYE && client->channel.is_ended && !has_moved && !is_slow)
        channel_has_ended(client);
    return has_moved && client->state != CLIENT_BYE;
}

static void client_step(struct client *client)
{
    bool has_moved = true;
    for (int i = 0; i < VAULT_TURN && has_moved; i++)
        has_moved = client->state != CLIENT_BYE && !client->stream.is_broken && round_of(client);
    client->has_more = has_moved && !client->stream.is_broken;
    if (client->has_more)
        return;
    if (client->state == CLIENT_BYE && !client->stream.is_broken)
        say_bye(client);
    const struct stream *stream = &client->stream;
    bool has_gone = stream->is_ended && client->state != CLIENT_ANSWER && client->state != CLIENT_BYE;
    bool is_done =
        client->state == CLIENT_BYE && client->is_finished && (stream->is_closed || stream->is_ended);
    if (stream->is_broken || has_gone || is_done) {
        client_end(client, !stream->is_broken || client->state == CLIENT_BYE);
        return;
    }
    if (stream->is_ready && client->state == CLIENT_HEAD && client->input.size == 0 && !*client->failure)
        client->deadline = 0; /* between requests it may be silent for as long as it likes */
    poller_change(&client->front->poller, &client->stream.watcher,
                  stream_events(stream, may_receive(client)) |
                      (client->state == CLIENT_ANSWER ? EPOLLRDHUP : 0U));
    poller_change(&client->front->poller, &client->channel.watcher, channel_events(&client->channel));
}

/* While nothing is read, epoll still reports a client that has gone: it must not be reported again and again. */
static void stream_ready(struct watcher *watcher, uint32_t events)
{
    struct client *client = container_of(watcher, struct client, stream.watcher);
    bool has_left = client->state == CLIENT_ANSWER && events & EPOLLRDHUP;
    if (has_left || events & (EPOLLHUP | EPOLLERR))
        client_end(client, false); /* nobody waits for the answer */
    else
        client_step(client);
}

static void channel_ready(struct watcher *watcher, uint32_t events not_used)
{
    client_step(container_of(watcher, struct client, channel.watcher));
}

/* bawn-egress gives the connection up, or needs its place. */
static void tether_ready(struct watcher *watcher, uint32_t events not_used)
{
    client_end(container_of(watcher, struct client, tether), false);
}

/* Placeholders of other hosts' secrets. */
static void watch_for_others(struct client *client)
{
    struct vault_settings *settings = client->front->settings;
    client->watch.patterns = &client->others;
    vec_each (const struct vault_secret, secret, &settings->secrets) {
        struct bytes placeholder = bytes_of(secret->placeholder, strlen(secret->placeholder));
        if (!secret_is_for(secret, client->host, client->port))
            patterns_add(&client->others, &settings->arena, placeholder, placeholder);
    }
}

static int open_descriptors(struct client *client, const int *fds, int channel_fd)
{
    struct poller *poller = &client->front->poller;
    int result = poller_add(poller, &client->stream.watcher, fds[0], EPOLLIN, stream_ready);
    result |= poller_add(poller, &client->channel.watcher, channel_fd, EPOLLIN, channel_ready);
    result |= poller_add(poller, &client->tether, fds[2], EPOLLIN, tether_ready);
    return result;
}

/* The back gets the server's socket and its end of the channel. Where it is behind, it is waited for: it never waits for the front. */
static int hand_on(struct front *front, const struct handed_connection *handed, int server_fd,
                   int *ret_channel)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -1;
    const int fds[] = {server_fd, pair[1]};
    int result = passing_send_all(front->back.fd, handed, sizeof(*handed), fds, 2);
    struct pollfd back = {.fd = front->back.fd, .events = POLLOUT};
    while (result < 0 && errno == EAGAIN && poll(&back, 1, BACK_PATIENCE) == 1)
        result = passing_send_all(front->back.fd, handed, sizeof(*handed), fds, 2);
    close(pair[1]);
    if (result < 0)
        close(pair[0]);
    else
        *ret_channel = pair[0];
    return result;
}

void client_begin(struct front *front, const struct handed_connection *handed, struct bytes first,
                  const int *fds)
{
    int channel_fd = -1;
    SSL_CTX *context = authority_context(&front->authority, &front->settings->arena, handed->host);
    bool has_room = front->client_count < VAULT_MOST_CONNECTIONS;
    if (!has_room || !context || hand_on(front, handed, fds[1], &channel_fd) < 0) {
        for (size_t i = 0; i < HANDED_DESCRIPTORS; i++)
            close(fds[i]);
        return;
    }
    close(fds[1]);
    struct client *client = must_realloc(NULL, 1, sizeof(*client));
    *client = (struct client){.front = front, .port = handed->port, .next = front->clients};
    memcpy(client->host, handed->host, sizeof(client->host));
    client->deadline = now_milliseconds() + VAULT_PATIENCE;
    if (front->clients)
        front->clients->previous = client;
    front->clients = client;
    front->client_count++;
    SSL *ssl = SSL_new(context);
    if (ssl)
        SSL_set_accept_state(ssl);
    stream_begin(&client->stream, ssl, first);
    watch_for_others(client);
    leak_begin(&client->search, &front->settings->leaks);
    client->is_judged = settings_judge(front->settings, client->host, client->port);
    if (open_descriptors(client, fds, channel_fd) < 0)
        client_end(client, false);
    else
        client_step(client);
}

int clients_keep_time(struct front *front)
{
    int64_t now = now_milliseconds();
    int sleep = front->clients ? TICK : -1;
    for (struct client *at = front->clients, *next; at; at = next) {
        next = at->next;
        if (at->deadline && now >= at->deadline)
            client_end(at, at->state == CLIENT_BYE);
        else if (at->has_more)
            client_step(at);
        sleep = at->has_more ? 0 : sleep; /* one that has ended is freed by the poller */
    }
    return sleep;
}
