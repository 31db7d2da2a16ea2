/* Requests of a server: records of the front, and the secrets that are put into their heads. */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "vault/server.h"

enum { SECRET_PATIENCE = 120000 };

/* Is the placeholder in a place where the secret belongs? */
static bool is_asked_for(const struct server *server, const struct value *value, const struct head *head)
{
    auto_buf struct buf plain = {0};
    const struct vault_secret *secret = value->secret;
    struct bytes placeholder = value->placeholder;
    for (size_t i = 0; i < head->count; i++) {
        if (secret_is_for_header(secret, head->fields[i].name) &&
            swap_value(head->fields[i].value, placeholder, placeholder, &plain))
            return true;
    }
    vec_each (const struct secret_carrier, carrier, &secret->carriers) {
        if (carrier_swap_target(carrier, head->target, placeholder, placeholder, &plain))
            return true;
    }
    return gather_asks_for(server, value);
}

/* What of a repository goes with a request. */
struct carried {
    struct value *token; /* NULL: nothing */
    const char *user;    /* of git; NULL: the request is to an API, which takes a bearer */
};

static struct carried carried_with(const struct server *server, const struct head *head)
{
    const struct vault_settings *settings = server->back->settings;
    struct values *values = &server->back->values;
    const struct vault_forge *forge =
        repository_read(settings, server->host, server->port, head->method, head->target).forge;
    const char *secret =
        forge ? forge->secret
              : repository_api_token(settings, server->host, server->port, head->method, head->target);
    for (size_t i = 0; secret && i < values->count; i++) {
        if (strcmp(values->at[i].secret->name, secret) == 0)
            return (struct carried){&values->at[i], forge ? forge->user : NULL};
    }
    return (struct carried){0};
}

/* Is every secret there that the request asks for? If not, asks bawn for it. */
static bool has_secrets(struct server *server)
{
    struct back *back = server->back;
    not_zeroed struct head head;
    bool has_all = true;
    if (head_read_request(bytes_of(server->request.bytes, server->request.size), server->host, server->port,
                          &head))
        return true; /* send_head refuses it */
    struct carried carried = carried_with(server, &head);
    if (carried.token)
        has_all = value_need(carried.token);
    for (size_t i = 0; i < back->values.count; i++) {
        struct value *value = &back->values.at[i];
        if (secret_is_for(value->secret, server->host, server->port) && is_asked_for(server, value, &head))
            has_all &= value_need(value);
    }
    return has_all;
}

/* The header's value with secrets in the place of placeholders. */
static struct bytes swapped(struct server *server, const struct field *field, struct arena *scratch)
{
    struct back *back = server->back;
    struct bytes value = field->value;
    for (size_t i = 0; i < back->values.count; i++) {
        struct value *at = &back->values.at[i];
        auto_buf struct buf out = {0};
        if (!at->is_known || !secret_is_for(at->secret, server->host, server->port) ||
            !secret_is_for_header(at->secret, field->name) ||
            !swap_value(value, at->placeholder, at->bytes, &out))
            continue;
        struct bytes full = bytes_of(arena_copy(scratch, out.bytes, out.size), out.size);
        explicit_bzero(out.bytes, out.size);
        at->is_used = true;
        bool is_watched = true;
        const char *space = memchr(full.at, ' ', full.size), *before = memchr(value.at, ' ', value.size);
        bool is_plain = space && bytes_equal(bytes_after(full, (size_t)(space + 1 - full.at)), at->bytes);
        if (space && before && !is_plain) /* "Basic X": a server may send X back */
            is_watched = value_watch_form(at, bytes_after(full, (size_t)(space + 1 - full.at)),
                                          bytes_after(value, (size_t)(before + 1 - value.at)));
        if (!is_watched) /* too many forms of it: nothing is sent whose echo would pass */
            server->stream.is_broken = true;
        return full;
    }
    return value;
}

bool server_write_secret(struct server *server, struct value *value, enum writing writing,
                         struct buf *written)
{
    if (!carrier_write(writing, value->bytes, written)) {
        char sentence[256];
        snprintf(sentence, sizeof(sentence),
                 "the value of %.100s has a character that cannot be put into this %s safely",
                 value->secret->name, writing == WRITING_PATH ? "path" : "content");
        values_tell(&server->back->values, "unsafe", value->secret->name);
        server_fail(server, sentence);
        return false;
    }
    struct bytes form = bytes_of(written->bytes, written->size);
    value->is_used = true;
    if (bytes_equal(form, value->bytes) || value_watch_form(value, form, value->placeholder))
        return true;
    server->stream.is_broken = true; /* too many forms of it: nothing is sent whose echo would pass */
    return false;
}

/* The target with secrets in the place of placeholders. Returns false if one cannot be put there. */
static bool swap_target(struct server *server, struct head *head, struct arena *scratch)
{
    struct values *values = &server->back->values;
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        if (!value->is_known || !secret_is_for(value->secret, server->host, server->port))
            continue;
        vec_each (const struct secret_carrier, carrier, &value->secret->carriers) {
            auto_buf struct buf written = {0}, target = {0};
            if (!carrier_swap_target(carrier, head->target, value->placeholder, value->placeholder, &target))
                continue;
            target.size = 0;
            if (!server_write_secret(
                    server, value, carrier->kind == CARRIER_PATH ? WRITING_PATH : WRITING_PERCENT, &written))
                return false;
            carrier_swap_target(carrier, head->target, value->placeholder,
                                bytes_of(written.bytes, written.size), &target);
            head->target = bytes_of(arena_copy(scratch, target.bytes, target.size), target.size);
            explicit_bzero(written.bytes, written.size);
            explicit_bzero(target.bytes, target.size);
        }
    }
    return true;
}

/* Others could make a server do something else with the token: a method or a path that it obeys instead, a cookie. */
static void keep_known_fields(struct head *head, bool is_of_git)
{
    static const char *const known[] = {"user-agent",      "accept",        "accept-encoding",
                                        "accept-language", "content-type",  "content-encoding",
                                        "pragma",          "cache-control", "git-protocol"},
                             *const of_api[] = {"if-none-match", "if-modified-since", "time-zone",
                                                "x-github-api-version"};
    size_t kept = 0;
    for (size_t i = 0; i < head->count; i++) {
        bool is_known = false;
        for (size_t j = 0; j < array_len(known); j++)
            is_known |= bytes_are(head->fields[i].name, known[j]);
        for (size_t j = 0; j < array_len(of_api) && !is_of_git; j++)
            is_known |= bytes_are(head->fields[i].name, of_api[j]);
        if (is_known)
            head->fields[kept++] = head->fields[i];
    }
    head->count = kept;
}

/* "Basic X", as git sends a token, or "Bearer X". Of "Basic X" a server may send X back: returns false if that could pass. */
static bool authorization_of(struct carried carried, struct arena *scratch, struct bytes *ret_value)
{
    struct value *token = carried.token;
    auto_buf struct buf plain = {0}, value = {0};
    buf_add_str(&value, carried.user ? "Basic " : "Bearer ");
    size_t scheme = value.size;
    if (carried.user) {
        buf_printf(&plain, "%s:%.*s", carried.user, (int)token->bytes.size, token->bytes.at);
        base64_add(&value, bytes_of(plain.bytes, plain.size));
        explicit_bzero(plain.bytes, plain.size);
    } else {
        buf_add(&value, token->bytes.at, token->bytes.size);
    }
    *ret_value = bytes_of(arena_copy(scratch, value.bytes, value.size), value.size);
    explicit_bzero(value.bytes, value.size);
    return !carried.user || value_watch_form(token, bytes_after(*ret_value, scheme), token->placeholder);
}

/* The token of a repository, for which nothing inside stands. Returns false if it cannot be sent. */
static bool add_token(struct server *server, struct head *head, struct arena *scratch)
{
    struct carried carried = carried_with(server, head);
    struct bytes value;
    server->token = carried.token;
    if (!carried.token)
        return true;
    keep_known_fields(head, carried.user != NULL);
    if (head->count == HEAD_MOST_FIELDS || !authorization_of(carried, scratch, &value)) {
        server->stream.is_broken = true;
        return false;
    }
    carried.token->is_used = true;
    const char *graphql =
        repository_graphql(server->back->settings, server->host, server->port, head->target);
    if (graphql) {
        head->method = bytes_of("POST", 4); /* whose content every server reads: the connection may go on */
        head->is_last = false;
        head->target = bytes_of(graphql, strlen(graphql));
    }
    head->fields[head->count++] = (struct field){bytes_of("Authorization", 13), value};
    return true;
}

/* Sends the head, with the secrets in it. Returns false if it is not one that the front would write. */
static bool send_head(struct server *server)
{
    not_zeroed struct head head;
    auto_buf struct buf text = {0};
    struct bytes request = bytes_of(server->request.bytes, server->request.size);
    if (server->input.size) /* an answer that nobody asked for must not become the answer to this request */
        return false;
    if (head_read_request(request, server->host, server->port, &head))
        return false;
    head_drop(&head, "range"); /* a piece of an answer could hide a piece of a secret */
    head_drop(&head, "if-range");
    head_drop(&head, "accept-encoding");
    head_drop(&head, "sec-websocket-extensions"); /* they compress messages */
    if (head.count == HEAD_MOST_FIELDS)
        return false;
    head.fields[head.count++] = (struct field){bytes_of("Accept-Encoding", 15), bytes_of("identity", 8)};
    if (server
            ->refresh) { /* its content is here as a whole, and may have another length than the front told */
        head.framing = FRAMING_LENGTH;
        head.length = refresh_content_size(server);
    }
    auto_arena struct arena scratch = {0};
    for (size_t i = 0; i < head.count; i++)
        head.fields[i].value = swapped(server, &head.fields[i], &scratch);
    if (server->stream.is_broken || !add_token(server, &head, &scratch) ||
        !swap_target(server, &head, &scratch) || !gather_swap(server, &head))
        return false;
    head_write_request(&head, server->host, server->port, &text);
    stream_write(&server->stream, bytes_of(text.bytes, text.size));
    explicit_bzero(text.bytes, text.size);
    server->is_head = bytes_are(head.method, "head");
    server->may_upgrade = head.framing == FRAMING_UPGRADE;
    server->request_framing = head.framing;
    server->request_left = head.framing == FRAMING_LENGTH ? head.length : 0;
    server->is_request_done = server->has_answer = false;
    server->interim_count = 0;
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
    else if (server->gathered)
        gather_send(server);
    server->request.size = 0;
    return true;
}

bool server_send_content(struct server *server, struct bytes bytes)
{
    auto_buf struct buf framed = {0};
    bool is_chunked = server->request_framing == FRAMING_CHUNKED;
    if (!is_chunked && bytes.size > server->request_left)
        return false;
    server->request_left -= is_chunked ? 0 : bytes.size;
    body_write(server->request_framing, bytes, &framed);
    stream_write(&server->stream, bytes_of(buf_text(&framed), framed.size));
    if (framed.bytes)
        explicit_bzero(framed.bytes, framed.size); /* it may have a secret in it */
    return true;
}

static bool take_content(struct server *server, struct bytes bytes)
{
    if (server->state == SERVER_GATHER)
        return server->refresh ? refresh_take_content(server, bytes) : gather_take(server, bytes);
    if (server->state != SERVER_ANSWER || server->is_request_done)
        return false;
    return server->gathered ? gather_pass(server, bytes, false) : server_send_content(server, bytes);
}

static bool take_end(struct server *server)
{
    auto_buf struct buf framed = {0};
    bool is_late = (server->state == SERVER_IDLE && server->awaits_end) ||
                   (server->state == SERVER_RAW && !server->is_request_done);
    server->awaits_end = false;
    if (server->state == SERVER_GATHER && server->refresh) {
        refresh_gathered(server);
        return true;
    }
    if (server->state == SERVER_GATHER) {
        gather_end(server);
        return true;
    }
    if (is_late) {
        server->is_request_done = true;
        return true;
    }
    if (server->state != SERVER_ANSWER || server->is_request_done ||
        (server->gathered && !gather_pass(server, bytes_of(NULL, 0), true)) || server->request_left)
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
        if (!server->refresh)
            gather_begin(server);
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
