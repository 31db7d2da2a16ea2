/*
 * A connection to a server, in the back. It sees no byte of the sandbox but what the front has read and written anew, and reads that again:
 * the front may be taken over.
 *
 * A server goes through these states:
 *
 *   IDLE     waits for a request's head from the front
 *   SECRET   the request waits for a secret that bawn has been asked for
 *   GATHER, KEEPER, STORE   see refresh.c
 *   ANSWER   the head is sent: content goes out while the answer comes in
 *   RAW      the server agreed to change to WebSocket
 *   OVER     nothing more comes: what is queued for the front is sent
 *
 * server_step does what can be done in one turn. It is called when one of its descriptors is ready, and again after the others' turns.
 */
#include "vault/server.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    INPUT_MOST = HEAD_LARGEST + RECORD_CONTENT_LARGEST,
    MOST_INTERIM = 32, /* answers before the answer to one request, such as 103 */
    TICK = 250,        /* milliseconds */
};

static void server_end(struct server *server)
{
    struct back *back = server->back;
    stream_close(&server->stream, &back->poller, !server->stream.is_broken);
    channel_close(&server->channel);
    buf_free(&server->input);
    buf_free(&server->request);
    scrub_free(&server->scrub);
    unpack_end(&server->unpack);
    refresh_free(server);
    gather_free(server);
    *(server->previous ? &server->previous->next : &back->servers) = server->next;
    if (server->next)
        server->next->previous = server->previous;
    back->server_count--;
    poller_retire(&back->poller, server);
}

/* Nothing more is done for this connection: what is queued still goes to the front. */
static void server_over(struct server *server)
{
    server->state = SERVER_OVER;
    server->deadline = now_milliseconds() + VAULT_PATIENCE;
    stream_finish(&server->stream);
}

void server_fail(struct server *server, const char *sentence)
{
    if (server->state == SERVER_OVER)
        return;
    channel_add(&server->channel, RECORD_FAILED, bytes_of(sentence, strlen(sentence)));
    server_over(server);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void drop_input(struct server *server, size_t size)
{
    struct buf *input = &server->input;
    if (size < input->size)
        memmove(input->bytes, input->bytes + size, input->size - size);
    input->size -= size;
}

void server_pass_head(struct server *server, const struct head *head)
{
    auto_buf struct buf text = {0}, clean = {0};
    head_write_answer(head, &text);
    scrub_take(&server->scrub, bytes_of(text.bytes, text.size), &clean);
    scrub_end(&server->scrub, &clean);
    channel_add(&server->channel, RECORD_HEAD, bytes_of(clean.bytes, clean.size));
}

/* The host's file may have a newer token than the one that was refused. */
static void forget_tokens(struct server *server)
{
    struct values *values = &server->back->values;
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        if (value->secret->kind && secret_is_for(value->secret, server->host, server->port))
            value->is_known = false;
    }
}

static void refuse_answer(struct server *server, const char *problem)
{
    char sentence[512];
    snprintf(sentence, sizeof(sentence), "the answer of %s is refused: %s", server->host, problem);
    server_fail(server, sentence);
}

/* git would ask for a name and a password, which are not inside. The token may be out of date: it is read again. */
static void refuse_token(struct server *server, struct head *head)
{
    static const char reason[] = "Forbidden";
    head->status = 403;
    head->reason = bytes_of(reason, strlen(reason));
    head_drop(head, "www-authenticate");
    server->token->is_known = false;
    values_tell(&server->back->values, "rejected", server->token->secret->name);
}

static bool read_head(struct server *server)
{
    not_zeroed struct head head;
    struct bytes input = bytes_of(server->input.bytes, server->input.size);
    ptrdiff_t size = head_size(input);
    if (size == 0)
        return false;
    const char *problem = size < 0 ? "its head is too large"
                                   : head_read_answer(bytes_of(input.at, (size_t)size), server->is_head,
                                                      server->may_upgrade, &head);
    if (!problem && head.coding == CODING_OTHER && head.framing != FRAMING_NONE)
        problem = "it is compressed in a way that cannot be unpacked here";
    bool is_interim = !problem && head.status < 200 && head.framing != FRAMING_UPGRADE;
    server->interim_count += is_interim;
    if (server->interim_count > MOST_INTERIM)
        problem = "too many interim answers came before it";
    if (!problem && head.framing == FRAMING_UPGRADE && head_has(&head, "sec-websocket-extensions"))
        problem = "it extends WebSocket, which was not asked for";
    if (problem) {
        refuse_answer(server, problem);
        return false;
    }
    bool is_rejected = head.status == 401;
    if (is_rejected && server->token)
        refuse_token(server, &head);
    if (!is_interim) {
        body_begin(&server->body, &head);
        if (head.coding != CODING_NONE) {
            unpack_begin(&server->unpack, head.coding);
            head_unpack(&head);
        }
        if (server->refresh)
            refresh_take_head(server, bytes_of(input.at, (size_t)size), head.status);
        else
            server_pass_head(server, &head);
        server->has_answer = true;
        server->is_last = head.is_last;
    }
    if (is_rejected)
        forget_tokens(server);
    if (head.framing == FRAMING_UPGRADE)
        server->state = SERVER_RAW;
    drop_input(server, (size_t)size);
    return true;
}

void server_answer_ended(struct server *server)
{
    channel_add(&server->channel, RECORD_END, bytes_of("", 0));
    server->has_answer = false;
    unpack_end(&server->unpack);
    /* A server may answer as soon as it has all content, before the front has said that this is all. */
    bool is_sent =
        server->is_request_done || (server->request_framing != FRAMING_CHUNKED && server->request_left == 0);
    server->awaits_end = is_sent && !server->is_request_done;
    if (server->is_last || !is_sent)
        server_over(server);
    else
        server->state = SERVER_IDLE;
}

/* The same for the answer to the refresh of a login, which is passed on when its tokens are stored. */
static bool gather_answer(struct server *server, struct bytes content)
{
    if (!refresh_take_answer(server, content)) {
        server_fail(server, "the answer to the refresh of this login is too large");
        return false;
    }
    if (server->body.state == BODY_DONE)
        refresh_answered(server);
    return true;
}

/* Takes content, without its framing and unpacked. Returns how many bytes of input it was; -1: the answer is refused. */
static ptrdiff_t take_content(struct server *server, struct buf *content)
{
    struct unpack *unpack = &server->unpack;
    struct bytes input = bytes_of(server->input.bytes, server->input.size);
    if (unpack->coding == CODING_NONE)
        return body_take(&server->body, input, RECORD_CONTENT_LARGEST, content);
    auto_buf struct buf packed = {0};
    ptrdiff_t taken = body_take(&server->body, input, UNPACK_PIECE, &packed);
    const char *problem = unpack_take(unpack, bytes_of(packed.bytes, packed.size), content);
    if (!problem && server->body.state == BODY_DONE && !unpack_is_complete(unpack))
        problem = "its compressed content is cut off";
    if (problem)
        refuse_answer(server, problem);
    return problem ? -1 : taken;
}

static bool read_content(struct server *server)
{
    auto_buf struct buf content = {0}, clean = {0};
    ptrdiff_t taken = take_content(server, &content);
    if (taken < 0) {
        if (server->state != SERVER_OVER)
            server_over(server); /* the answer has begun: the client sees that it is cut off */
        return false;
    }
    drop_input(server, (size_t)taken);
    if (server->refresh)
        return gather_answer(server, bytes_of(content.bytes, content.size)) && taken > 0;
    if (content.size)
        scrub_take(&server->scrub, bytes_of(content.bytes, content.size), &clean);
    bool is_done = server->body.state == BODY_DONE;
    if (is_done)
        scrub_end(&server->scrub, &clean);
    channel_add_all(&server->channel, RECORD_CONTENT, bytes_of(clean.bytes, clean.size));
    if (is_done)
        server_answer_ended(server);
    return taken > 0 || is_done;
}

static bool read_raw(struct server *server)
{
    auto_buf struct buf clean = {0};
    size_t size = server->input.size;
    if (!size)
        return false;
    scrub_take(&server->scrub, bytes_of(server->input.bytes, size), &clean);
    channel_add_all(&server->channel, RECORD_RAW, bytes_of(clean.bytes, clean.size));
    drop_input(server, size);
    return true;
}

static bool read_answer(struct server *server)
{
    if (channel_waiting(&server->channel) > VAULT_LARGEST_QUEUE)
        return false;
    if (server->state == SERVER_RAW)
        return read_raw(server);
    if (server->state != SERVER_ANSWER)
        return false;
    return server->has_answer ? read_content(server) : read_head(server);
}

/* --- the life of a server ----------------------------------------------------------------------------------------- */

static bool may_receive(const struct server *server)
{
    return server->state != SERVER_OVER && server->input.size < INPUT_MOST &&
           channel_waiting(&server->channel) <= VAULT_LARGEST_QUEUE;
}

static bool round_of(struct server *server)
{
    bool has_moved = stream_pump(&server->stream, may_receive(server));
    if (may_receive(server))
        has_moved |= stream_read(&server->stream, INPUT_MOST - server->input.size, &server->input);
    has_moved |= channel_pump(&server->channel);
    has_moved |= server_take_records(server);
    has_moved |= read_answer(server);
    return has_moved;
}

/* TLS failed: why? The certificate is the reason that a person can do something about. */
static void say_failure(struct server *server)
{
    char sentence[512];
    long verified = server->stream.ssl ? SSL_get_verify_result(server->stream.ssl) : X509_V_OK;
    unsigned long error = ERR_peek_last_error();
    if (verified != X509_V_OK)
        snprintf(sentence, sizeof(sentence), "the certificate of %s is not trusted: %s", server->host,
                 X509_verify_cert_error_string(verified));
    else
        snprintf(sentence, sizeof(sentence), "TLS with %s failed: %s", server->host,
                 error && ERR_reason_error_string(error) ? ERR_reason_error_string(error)
                                                         : "the connection ended");
    server_fail(server, sentence);
}

/* Nothing more comes from the server, but the front does not take as fast what has come. */
static bool has_unread(const struct server *server)
{
    return server->state == SERVER_ANSWER && server->has_answer && server->input.size &&
           channel_waiting(&server->channel) > VAULT_LARGEST_QUEUE;
}

/* The server has ended the connection. */
static void stream_has_ended(struct server *server)
{
    bool is_clean = server->stream.is_ended;
    if (!server->stream.is_ready)
        say_failure(server);
    else if (is_clean && server->state == SERVER_ANSWER && server->has_answer && body_close(&server->body))
        read_content(server);
    else if (server->state == SERVER_ANSWER && !server->has_answer)
        server_fail(server, "the server ended the connection without an answer");
    else
        server_over(server);
}

/* The front has ended, or nobody waits for an answer any more. */
static bool is_given_up(const struct server *server)
{
    return server->channel.is_ended && !refresh_is_out(server);
}

static bool may_go_on(const struct server *server)
{
    return server->state != SERVER_OVER && !is_given_up(server);
}

void server_step(struct server *server)
{
    bool has_moved = true;
    for (int i = 0; i < VAULT_TURN && has_moved; i++)
        has_moved = may_go_on(server) && round_of(server);
    server->has_more = has_moved && may_go_on(server);
    if (server->has_more)
        return;
    bool has_gone = server->stream.is_ended || server->stream.is_broken;
    if (server->state != SERVER_OVER && server->state != SERVER_STORE && has_gone && !has_unread(server))
        stream_has_ended(server);
    if (server->state == SERVER_OVER) {
        stream_pump(&server->stream, false);
        while (channel_waiting(&server->channel) && channel_pump(&server->channel)) {
        }
    }
    if (is_given_up(server) || (server->state == SERVER_OVER && !channel_waiting(&server->channel))) {
        server_end(server);
        return;
    }
    bool is_deaf = server->state == SERVER_OVER || server->state == SERVER_STORE || has_gone;
    poller_change(&server->back->poller, &server->stream.watcher,
                  is_deaf ? 0 : stream_events(&server->stream, may_receive(server)));
    poller_change(&server->back->poller, &server->channel.watcher,
                  server->channel.is_ended ? 0 : channel_events(&server->channel));
}

/* A reset is reported even while nothing is read. */
static void stream_ready(struct watcher *watcher, uint32_t events)
{
    struct server *server = container_of(watcher, struct server, stream.watcher);
    if (events & EPOLLERR)
        server->stream.is_broken = true;
    server_step(server);
}

static void channel_ready(struct watcher *watcher, uint32_t events not_used)
{
    server_step(container_of(watcher, struct server, channel.watcher));
}

static SSL *new_ssl(const struct back *back, const char *host)
{
    SSL *ssl = SSL_new(back->context);
    if (!ssl || !SSL_set_tlsext_host_name(ssl, host) || !SSL_set1_host(ssl, host)) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set_connect_state(ssl);
    return ssl;
}

void server_begin(struct back *back, const struct handed_connection *handed, const int *fds)
{
    struct server *server = must_realloc(NULL, 1, sizeof(*server));
    *server = (struct server){
        .back = back, .port = handed->port, .next = back->servers, .scrub.patterns = &back->patterns};
    memcpy(server->host, handed->host, sizeof(server->host));
    server->deadline = now_milliseconds() + VAULT_PATIENCE;
    if (back->servers)
        back->servers->previous = server;
    back->servers = server;
    back->server_count++;
    stream_begin(&server->stream, new_ssl(back, server->host), bytes_of(NULL, 0));
    int result = poller_add(&back->poller, &server->stream.watcher, fds[0], EPOLLIN, stream_ready);
    result |= poller_add(&back->poller, &server->channel.watcher, fds[1], EPOLLIN, channel_ready);
    if (result < 0)
        server_end(server);
    else
        server_step(server);
}

void servers_go_on(struct back *back, bool is_usable)
{
    for (struct server *at = back->servers, *next; at; at = next) {
        next = at->next;
        if (at->state != SERVER_SECRET)
            continue;
        if (!is_usable)
            server_fail(at, "the secret for this host could not be read; `bawn log` says why");
        server_step(at);
    }
}

bool servers_refresh(const struct back *back)
{
    bool is_one = false;
    for (const struct server *at = back->servers; at; at = at->next)
        is_one |= refresh_is_out(at);
    return is_one;
}

int servers_keep_time(struct back *back)
{
    int64_t now = now_milliseconds();
    int sleep = back->servers ? TICK : -1;
    for (struct server *at = back->servers, *next; at; at = next) {
        next = at->next;
        if (at->stream.is_ready && at->state == SERVER_IDLE)
            at->deadline = 0;
        bool is_late = at->deadline && now >= at->deadline;
        if (is_late && at->state == SERVER_OVER) {
            server_end(at);
            continue;
        }
        if (is_late)
            server_fail(at, at->state == SERVER_SECRET ? "the secret for this host was not read in time"
                            : at->state == SERVER_KEEPER
                                ? "other sessions refresh this login, and took too long"
                                : "the server did not answer in time");
        if (is_late || at->has_more)
            server_step(at);
        sleep = at->has_more ? 0 : sleep; /* one that has ended is freed by the poller */
    }
    return sleep;
}
