/* Requests of a server: records of the front, and the secrets that are put into their heads. */
#include <string.h>

#include "base/base64.h"
#include "vault/server.h"

enum { SECRET_PATIENCE = 120000 };

/* The token that goes with a request of git; NULL: the request is none. */
static struct value *token_for(const struct server *server, const struct head *head)
{
    struct values *values = &server->back->values;
    const struct vault_forge *forge =
        repository_read(server->back->settings, server->host, server->port, head->method, head->target).forge;
    for (size_t i = 0; forge && i < values->count; i++) {
        struct value *value = &values->at[i];
        if (strcmp(value->secret->name, forge->secret) == 0 &&
            secret_is_for(value->secret, server->host, server->port))
            return value;
    }
    return NULL;
}

/* Is every secret there that the head asks for? If not, asks bawn for it. */
static bool has_secrets(struct server *server)
{
    struct back *back = server->back;
    static struct head head;
    bool has_all = true;
    auto_buf struct buf plain = {0};
    if (head_read_request(bytes_of(server->request.bytes, server->request.size), server->host, server->port,
                          &head))
        return true; /* send_head refuses it */
    struct value *token = token_for(server, &head);
    if (token && token->state != VALUE_KNOWN) {
        value_ask(token);
        has_all = false;
    }
    for (size_t i = 0; i < back->values.count; i++) {
        struct value *value = &back->values.at[i];
        if (value->state == VALUE_KNOWN || !secret_is_for(value->secret, server->host, server->port))
            continue;
        struct bytes placeholder = value->placeholder;
        bool is_asked_for = false;
        for (size_t j = 0; j < head.count && !is_asked_for; j++)
            is_asked_for = swap_is_for(head.fields[j].name) &&
                           swap_value(head.fields[j].value, placeholder, placeholder, &plain);
        if (!is_asked_for)
            continue;
        value_ask(value);
        has_all = false;
    }
    return has_all;
}

/* Answers to all connections are searched for it from now on: a server may store what one has sent, and show it to another. */
static bool watch_for(struct back *back, struct bytes sent, struct bytes instead)
{
    if (patterns_have(&back->patterns, sent))
        return true;
    struct bytes kept = values_keep(&back->values, sent);
    return patterns_add(&back->patterns, &back->arena, kept, instead);
}

/* The header's value with secrets in the place of placeholders. */
static struct bytes swapped(struct server *server, struct bytes value, struct arena *scratch)
{
    struct back *back = server->back;
    for (size_t i = 0; i < back->values.count; i++) {
        struct value *at = &back->values.at[i];
        auto_buf struct buf out = {0};
        if (at->state != VALUE_KNOWN || !secret_is_for(at->secret, server->host, server->port) ||
            !swap_value(value, at->placeholder, at->bytes, &out))
            continue;
        struct bytes full = bytes_of(arena_copy(scratch, out.bytes, out.size), out.size);
        explicit_bzero(out.bytes, out.size);
        at->is_used = true;
        bool is_watched = at->secret->kind || /* then value_set has done so */
                          patterns_add(&back->patterns, &back->arena, at->bytes, at->placeholder);
        const char *space = memchr(full.at, ' ', full.size), *before = memchr(value.at, ' ', value.size);
        bool is_plain = space && bytes_equal(bytes_after(full, (size_t)(space + 1 - full.at)), at->bytes);
        if (space && before && !is_plain) /* "Basic X": a server may send X back */
            is_watched &= watch_for(back, bytes_after(full, (size_t)(space + 1 - full.at)),
                                    bytes_after(value, (size_t)(before + 1 - value.at)));
        if (!is_watched) /* too many forms of it: nothing is sent whose echo would pass */
            server->stream.is_broken = true;
        return full;
    }
    return value;
}

/* Others could make a server do something else with the token: a method or a path that it obeys instead, a cookie. */
static void keep_fields_of_git(struct head *head)
{
    static const char *const of_git[] = {"user-agent",      "accept",       "accept-encoding",
                                         "accept-language", "content-type", "content-encoding",
                                         "git-protocol",    "pragma",       "cache-control"};
    size_t kept = 0;
    for (size_t i = 0; i < head->count; i++) {
        bool is_known = false;
        for (size_t j = 0; j < array_len(of_git); j++)
            is_known |= bytes_are(head->fields[i].name, of_git[j]);
        if (is_known)
            head->fields[kept++] = head->fields[i];
    }
    head->count = kept;
}

/* "Basic X", as git sends a token: nothing inside stands for it. Returns false if it cannot be sent. */
static bool add_token(struct server *server, struct head *head, struct arena *scratch)
{
    struct back *back = server->back;
    struct value *token = token_for(server, head);
    server->token = token;
    if (!token)
        return true;
    const char *user =
        repository_read(back->settings, server->host, server->port, head->method, head->target).forge->user;
    auto_buf struct buf plain = {0}, value = {0};
    buf_printf(&plain, "%s:%.*s", user, (int)token->bytes.size, token->bytes.at);
    buf_add_str(&value, "Basic ");
    base64_add(&value, bytes_of(plain.bytes, plain.size));
    struct bytes full = bytes_of(arena_copy(scratch, value.bytes, value.size), value.size);
    explicit_bzero(plain.bytes, plain.size);
    explicit_bzero(value.bytes, value.size);
    keep_fields_of_git(head);
    if (head->count == HEAD_MOST_FIELDS ||
        !patterns_add(&back->patterns, &back->arena, token->bytes, token->placeholder) ||
        !watch_for(back, bytes_after(full, strlen("Basic ")), token->placeholder))
        return false;
    token->is_used = true;
    head->fields[head->count++] = (struct field){bytes_of("Authorization", 13), full};
    return true;
}

/* Sends the head, with the secrets in it. Returns false if it is not one that the front would write. */
static bool send_head(struct server *server)
{
    static struct head head;
    auto_buf struct buf text = {0};
    struct bytes request = bytes_of(server->request.bytes, server->request.size);
    if (server->input.size) /* an answer that nobody asked for must not become the answer to this request */
        return false;
    if (head_read_request(request, server->host, server->port, &head))
        return false;
    head_drop(&head, "range"); /* a piece of an answer could hide a piece of a secret */
    head_drop(&head, "if-range");
    head_drop(&head, "accept-encoding");
    if (head.count == HEAD_MOST_FIELDS)
        return false;
    head.fields[head.count++] = (struct field){bytes_of("Accept-Encoding", 15), bytes_of("identity", 8)};
    if (server
            ->refresh) { /* its content is here as a whole, and may have another length than the front told */
        head.framing = FRAMING_LENGTH;
        head.length = refresh_content_size(server);
    }
    auto_arena struct arena scratch = {0};
    for (size_t i = 0; i < head.count; i++) {
        if (swap_is_for(head.fields[i].name))
            head.fields[i].value = swapped(server, head.fields[i].value, &scratch);
    }
    if (!add_token(server, &head, &scratch) || server->stream.is_broken)
        return false;
    head_write_request(&head, server->host, server->port, &text);
    stream_write(&server->stream, bytes_of(text.bytes, text.size));
    explicit_bzero(text.bytes, text.size);
    server->is_head = bytes_are(head.method, "head");
    server->may_upgrade = head.framing == FRAMING_UPGRADE;
    server->request_framing = head.framing;
    server->request_left = head.framing == FRAMING_LENGTH ? head.length : 0;
    server->is_request_done = server->has_answer = false;
    server->state = SERVER_ANSWER;
    server->deadline = 0;
    return true;
}

/* A request waits for its secrets and for TLS. */
static bool try_head(struct server *server)
{
    if (!server->stream.is_ready)
        return false;
    if (!has_secrets(server)) {
        if (server->state != SERVER_SECRET)
            server->deadline = now_milliseconds() + SECRET_PATIENCE;
        server->state = SERVER_SECRET;
        return false;
    }
    if (!send_head(server))
        server->stream.is_broken = true;
    else if (server->refresh)
        refresh_send_content(server);
    server->request.size = 0;
    return true;
}

/* Content must be as long as the head told: more would be another request to the server. */
static bool take_content(struct server *server, struct bytes bytes)
{
    auto_buf struct buf framed = {0};
    bool is_chunked = server->request_framing == FRAMING_CHUNKED;
    if (server->state == SERVER_GATHER)
        return refresh_take_content(server, bytes);
    if (server->state != SERVER_ANSWER || server->is_request_done ||
        (!is_chunked && bytes.size > server->request_left))
        return false;
    server->request_left -= is_chunked ? 0 : bytes.size;
    body_write(server->request_framing, bytes, &framed);
    stream_write(&server->stream, bytes_of(buf_text(&framed), framed.size));
    return true;
}

static bool take_end(struct server *server)
{
    auto_buf struct buf framed = {0};
    bool is_late = (server->state == SERVER_IDLE && server->awaits_end) ||
                   (server->state == SERVER_RAW && !server->is_request_done);
    server->awaits_end = false;
    if (server->state == SERVER_GATHER) {
        refresh_gathered(server);
        return true;
    }
    if (is_late) {
        server->is_request_done = true;
        return true;
    }
    if (server->state != SERVER_ANSWER || server->is_request_done || server->request_left)
        return false;
    body_end(server->request_framing, &framed);
    stream_write(&server->stream, bytes_of(buf_text(&framed), framed.size));
    server->is_request_done = true;
    return true;
}

static bool take_record(struct server *server, enum record_kind kind, struct bytes bytes)
{
    switch (kind) {
    case RECORD_HEAD:
        if (server->state != SERVER_IDLE || server->request.size || server->awaits_end)
            return false;
        buf_add(&server->request, bytes.at, bytes.size);
        refresh_begin(server);
        return true;
    case RECORD_CONTENT:
        return take_content(server, bytes);
    case RECORD_END:
        return take_end(server);
    case RECORD_RAW:
        stream_write(&server->stream, bytes);
        return server->state == SERVER_RAW;
    default:
        return false;
    }
}

/* A head waits in `request`; what follows it stays in the channel meanwhile. */
bool server_take_records(struct server *server)
{
    bool has_moved = false;
    while (!server->stream.is_broken && stream_waiting(&server->stream) < VAULT_LARGEST_QUEUE) {
        enum record_kind kind;
        struct bytes bytes;
        if (server->state == SERVER_KEEPER || server->state == SERVER_STORE)
            return has_moved;
        if (server->request.size && server->state != SERVER_GATHER && !try_head(server))
            return has_moved;
        /* The end of the last request may have come before its answer; the next one waits for that answer. */
        if (server->state == SERVER_OVER || (server->state == SERVER_ANSWER && server->is_request_done))
            return has_moved;
        int next = channel_next(&server->channel, &kind, &bytes);
        if (next == 0)
            return has_moved;
        has_moved = true;
        if (next < 0 || !take_record(server, kind, bytes))
            server->stream.is_broken = true;
    }
    return has_moved;
}
