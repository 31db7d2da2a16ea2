/*
 * Refreshing a login whose tokens stay outside.
 *
 * A request to the path at which a login is refreshed is gathered as a whole. If its refresh token is a
 * placeholder, bawn is asked for a *keeper*: a process that holds the login's lock, tells the host's current
 * tokens, and stores new ones (supervise/login_keeper.c). Then:
 *
 *   GATHER   the request's content comes
 *   KEEPER   waits for the host's tokens. If another program has refreshed them meanwhile, they are the answer, and no server is asked
 *   ANSWER   the request is sent with the real token; the answer is gathered
 *   STORE    the new tokens are with the keeper. When the host's file has them, the answer goes inside, with stand-ins
 *
 * From ANSWER on, the old token is used up. Neither the end of the client nor that of bawn ends the connection then (refresh_is_out).
 *
 * A server that refuses the token may have seen it before: the keeper waits a moment for the program of the
 * host's that has used it. An answer that cannot be read for certain is not passed on.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "vault/grant.h"
#include "vault/server.h"

enum {
    KEEPER_PATIENCE = 120000, /* milliseconds: other sessions may refresh the same login */
    FRESH_SECONDS = 300,      /* agents refresh a token that has less left */
    LARGEST_MESSAGE = 64 * 1024,
};

struct refresh {
    struct server *server;
    bool is_form;
    bool is_sent;    /* with the token */
    bool is_refused; /* by the server */
    unsigned status; /* of the answer */
    struct value *value;
    struct bytes token;       /* in the content */
    struct buf path, content; /* of the request */
    struct buf head, answer;  /* of the server */
    struct watcher keeper;
};

static void wipe(struct buf *buf)
{
    if (buf->bytes)
        explicit_bzero(buf->bytes, buf->capacity);
    buf_free(buf);
}

void refresh_free(struct server *server)
{
    struct refresh *refresh = server->refresh;
    if (!refresh)
        return;
    wipe(&refresh->content);
    wipe(&refresh->answer);
    buf_free(&refresh->path);
    buf_free(&refresh->head);
    poller_close(&refresh->keeper);
    poller_retire(&server->back->poller, refresh);
    server->refresh = NULL;
}

bool refresh_is_out(const struct server *server)
{
    return server->refresh && server->refresh->is_sent && server->state != SERVER_OVER;
}

/* --- the request -------------------------------------------------------------------------------------------------- */

/* Is the login refreshed by requests to this path of the server's host? Without a path: by any. */
static bool is_endpoint(const struct server *server, const struct vault_secret *secret, struct bytes path)
{
    vec_each (const struct secret_endpoint, endpoint, &secret->endpoints) {
        if (endpoint->host.port == server->port && strcasecmp(endpoint->host.name, server->host) == 0 &&
            (!path.at || bytes_equal(path, bytes_of(endpoint->path, strlen(endpoint->path)))))
            return true;
    }
    return false;
}

/* The refresh token whose placeholder this is, for requests to that path of the server's host; NULL: there is none. */
static struct value *find_value(const struct server *server, struct bytes path, struct bytes placeholder)
{
    struct values *values = &server->back->values;
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        if (value->secret->kind == TOKEN_REFRESH && is_endpoint(server, value->secret, path) &&
            (!placeholder.at || token_stands_for(placeholder, value->placeholder)))
            return value;
    }
    return NULL;
}

void refresh_begin(struct server *server)
{
    not_zeroed struct head head;
    bool is_form = false;
    const struct bytes any = bytes_of(NULL, 0);
    if (!find_value(server, any, any) ||
        head_read_request(bytes_of(server->request.bytes, server->request.size), server->host, server->port,
                          &head) ||
        !grant_may_be(&head, &is_form) || !find_value(server, head.target, any))
        return;
    server->refresh = must_realloc(NULL, 1, sizeof(*server->refresh));
    *server->refresh = (struct refresh){.server = server, .is_form = is_form};
    buf_add(&server->refresh->path, head.target.at, head.target.size);
    server->state = SERVER_GATHER;
    server->deadline = now_milliseconds() + VAULT_PATIENCE;
}

bool refresh_take_content(struct server *server, struct bytes bytes)
{
    struct buf *content = &server->refresh->content;
    if (content->size + bytes.size > GRANT_LARGEST)
        return false;
    buf_add(content, bytes.at, bytes.size);
    return true;
}

void refresh_gathered(struct server *server)
{
    struct refresh *refresh = server->refresh;
    struct bytes content = bytes_of(refresh->content.bytes, refresh->content.size);
    if (grant_find(refresh->is_form, content, &refresh->token))
        refresh->value =
            find_value(server, bytes_of(refresh->path.bytes, refresh->path.size), refresh->token);
    if (!refresh->value) { /* a request like any other */
        gather_adopt(server, &refresh->content);
        refresh_free(server);
        return;
    }
    server->state = SERVER_KEEPER;
    server->deadline = now_milliseconds() + KEEPER_PATIENCE;
    values_tell(&server->back->values, "refresh", refresh->value->secret->name);
}

size_t refresh_content_size(const struct server *server)
{
    return server->refresh->content.size;
}

void refresh_send_content(struct server *server)
{
    struct refresh *refresh = server->refresh;
    stream_write(&server->stream, bytes_of(refresh->content.bytes, refresh->content.size));
    wipe(&refresh->content);
    server->request_left = 0;
    server->is_request_done = true;
    refresh->is_sent = true;
    server->deadline = now_milliseconds() + VAULT_PATIENCE;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void find_placeholders(const struct value *value, struct bytes ret_placeholders[TOKEN_KIND_COUNT])
{
    for (enum token_kind kind = TOKEN_NONE; kind < TOKEN_KIND_COUNT; kind++) {
        const struct value *sibling = kind ? values_sibling(value, kind) : NULL;
        ret_placeholders[kind] = sibling ? sibling->placeholder : bytes_of(NULL, 0);
    }
}

/* Passes the content on, and ends the answer. */
static void end_answer(struct server *server, struct bytes content)
{
    auto_buf struct buf clean = {0};
    scrub_take(&server->scrub, content, &clean);
    scrub_end(&server->scrub, &clean);
    channel_add_all(&server->channel, RECORD_CONTENT, bytes_of(clean.bytes, clean.size));
    server->deadline = 0;
    server_answer_ended(server);
    refresh_free(server);
}

static void answer_with(struct server *server, struct bytes content)
{
    not_zeroed struct head head;
    const struct buf *text = &server->refresh->head;
    if (head_read_answer(bytes_of(text->bytes, text->size), false, false, &head)) {
        server_fail(server, "the answer is refused");
        return;
    }
    head_unpack(&head);
    if (head.framing != FRAMING_NONE) {
        head.framing = FRAMING_LENGTH;
        head.length = content.size;
    }
    server_pass_head(server, &head);
    end_answer(server, content);
}

/* Another program has refreshed the login: its tokens are the answer. */
static void answer_locally(struct server *server, const struct token_set *set)
{
    auto_buf struct buf content = {0}, head = {0};
    struct bytes placeholders[TOKEN_KIND_COUNT];
    find_placeholders(server->refresh->value, placeholders);
    grant_add_own_answer(set, placeholders, &content);
    buf_printf(&head,
               "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
               "Content-Length: %zu\r\n\r\n",
               content.size);
    channel_add(&server->channel, RECORD_HEAD, bytes_of(head.bytes, head.size));
    server->is_last &= server->refresh->is_sent;
    server->is_request_done = true;
    server->request.size = 0;
    end_answer(server, bytes_of(content.bytes, content.size));
}

static bool tell_keeper(const struct refresh *refresh, const char *word, const struct token_set *set)
{
    auto_buf struct buf message = {0};
    buf_printf(&message, "%s\n", word);
    if (set)
        token_set_add(set, &message);
    ssize_t sent = send(refresh->keeper.fd, message.bytes, message.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    bool is_sent = sent == (ssize_t)message.size;
    explicit_bzero(message.bytes, message.size);
    return is_sent;
}

/* The tokens of the host's file are the current ones. */
static bool take_tokens(const struct refresh *refresh, const struct token_set *set)
{
    bool is_kept = true;
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        struct value *value = values_sibling(refresh->value, kind);
        if (value && set->at[kind].size)
            is_kept &= value_set(value, set->at[kind]);
    }
    return is_kept;
}

static bool is_fresh(const struct token_set *set)
{
    return set->at[TOKEN_ACCESS].size && set->seconds > FRESH_SECONDS;
}

/* The host's tokens, before the request is sent. */
static void take_current(struct server *server, const struct token_set *set)
{
    struct refresh *refresh = server->refresh;
    const struct value *access = values_sibling(refresh->value, TOKEN_ACCESS);
    bool is_other = access && (!access->is_used || !bytes_equal(access->bytes, set->at[TOKEN_ACCESS]));
    auto_buf struct buf content = {0};
    if (!take_tokens(refresh, set)) {
        server_fail(server, "there is no room for the tokens of this login");
        return;
    }
    if (is_other && is_fresh(set)) {
        answer_locally(server, set);
        return;
    }
    grant_add(refresh->is_form, bytes_of(refresh->content.bytes, refresh->content.size), refresh->token,
              refresh->value->bytes, &content);
    wipe(&refresh->content);
    refresh->content = content;
    content = (struct buf){0};
    server->state = SERVER_IDLE; /* the head is sent as soon as TLS is ready */
    server->deadline = now_milliseconds() + VAULT_PATIENCE;
}

/* The host's tokens, after the answer. */
static void take_stored(struct server *server, const struct token_set *set)
{
    struct refresh *refresh = server->refresh;
    struct bytes placeholders[TOKEN_KIND_COUNT],
        answer = bytes_of(refresh->answer.bytes, refresh->answer.size);
    struct token_set answered;
    auto_buf struct buf clean = {0};
    bool is_other = !bytes_equal(set->at[TOKEN_REFRESH], refresh->value->bytes);
    if (!take_tokens(refresh, set)) {
        server_fail(server, "there is no room for the tokens of this login");
    } else if (refresh->is_refused && is_other && is_fresh(set)) {
        answer_locally(server, set);
    } else if (refresh->is_refused) {
        answer_with(server, answer);
    } else if (grant_read_answer(answer, &answered)) {
        find_placeholders(refresh->value, placeholders);
        grant_add_answer(answer, &answered, placeholders, &clean);
        answer_with(server, bytes_of(clean.bytes, clean.size));
    }
}

/* --- the keeper --------------------------------------------------------------------------------------------------- */

static void keeper_ready(struct watcher *watcher, uint32_t events not_used)
{
    static char message[LARGEST_MESSAGE];
    struct refresh *refresh = container_of(watcher, struct refresh, keeper);
    struct server *server = refresh->server;
    ssize_t got = recv(watcher->fd, message, sizeof(message), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    struct bytes text = bytes_of(message, got > 0 ? (size_t)got : 0), word = {0};
    struct token_set set;
    bool is_told = bytes_take_line(&text, &word) && bytes_equal(word, bytes_of("have", 4)) &&
                   token_set_read(text, &set) && set.at[TOKEN_REFRESH].size;
    if (is_told && server->state == SERVER_KEEPER) {
        take_current(server, &set);
    } else if (is_told && server->state == SERVER_STORE) {
        take_stored(server, &set);
    } else {
        poller_close(watcher);
        values_tell(&server->back->values, server->state == SERVER_STORE ? "lost" : "missing",
                    refresh->value->secret->name);
        server_fail(server, "the login outside could not be read or stored; `bawn log` says more");
    }
    explicit_bzero(message, sizeof(message));
    server_step(server);
}

void refresh_keeper_came(struct back *back, const char *name, int fd)
{
    struct server *oldest = NULL;
    for (struct server *at = back->servers; at; at = at->next) {
        if (at->state == SERVER_KEEPER && !at->refresh->keeper.is_open &&
            strcmp(at->refresh->value->secret->name, name) == 0)
            oldest = at;
    }
    if (!oldest) {
        fd_close(fd); /* the connection has ended meanwhile: the keeper sees that, and ends */
        return;
    }
    if (poller_add(&back->poller, &oldest->refresh->keeper, fd, EPOLLIN, keeper_ready) < 0) {
        server_fail(oldest, "the login outside could not be read");
        server_step(oldest);
    }
}

/* --- the server's answer ------------------------------------------------------------------------------------------ */

void refresh_take_head(struct server *server, struct bytes text, unsigned status)
{
    buf_add(&server->refresh->head, text.at, text.size);
    server->refresh->status = status;
}

bool refresh_take_answer(struct server *server, struct bytes bytes)
{
    struct buf *answer = &server->refresh->answer;
    if (answer->size + bytes.size > GRANT_LARGEST)
        return false;
    buf_add(answer, bytes.at, bytes.size);
    return true;
}

void refresh_answered(struct server *server)
{
    struct refresh *refresh = server->refresh;
    struct bytes answer = bytes_of(refresh->answer.bytes, refresh->answer.size);
    struct token_set set;
    bool is_told = false;
    server->has_answer = false;
    server->state = SERVER_STORE;
    server->deadline = now_milliseconds() + VAULT_PATIENCE;
    refresh->is_refused = refresh->status >= 400 && refresh->status <= 403;
    if (refresh->is_refused) {
        is_told = tell_keeper(refresh, "again", NULL);
    } else if (refresh->status / 100 != 2) {
        answer_with(server, answer);
        return;
    } else if (refresh->status == 200 && grant_read_answer(answer, &set)) {
        is_told = tell_keeper(refresh, "new", &set);
    }
    if (is_told)
        return;
    if (!refresh->is_refused)
        values_tell(&server->back->values, "lost", refresh->value->secret->name);
    server_fail(server,
                "the answer to the refresh of this login cannot be understood, so it is not passed on");
}
