/*
 * Content that a rule puts secrets into (`in body`).
 *
 * The content of a request to such a host is gathered before its head is sent, since a secret may have another length than its placeholder:
 *
 *   GATHER   the content comes. All of it is here, or LARGEST bytes of it
 *   ANSWER   if it is whole, it is swapped and sent, with its length in the head.
 *            If it is larger, the head is sent as it is and the content is swapped as it comes, in whatever
 *            pieces. Then every secret that may be in it must be there first, and where the head tells a
 *            length, a swap that changes the length ends the request
 *
 * An incomplete request means nothing to a server.
 */
#include <string.h>

#include "vault/server.h"

enum {
    LARGEST = 1 << 20,       /* bytes of one request that wait */
    LARGEST_ALL = 64 << 20,  /* of all requests */
    GATHER_PATIENCE = 30000, /* milliseconds in which something more must come */
};

struct gathered {
    struct buf content;
    bool is_whole;
    struct patterns patterns; /* placeholders, and what they become */
    struct scrub scrub;
    struct buf written[SCRUB_MOST_PATTERNS]; /* the secrets as they are written here */
    uint64_t taken, given;                   /* bytes, of content that is swapped as it comes */
};

static void wipe(struct buf *buf)
{
    if (buf->bytes)
        explicit_bzero(buf->bytes, buf->capacity);
    buf_free(buf);
}

static void drop_content(struct server *server)
{
    server->back->gathered -= server->gathered->content.size;
    wipe(&server->gathered->content);
}

void gather_free(struct server *server)
{
    struct gathered *gathered = server->gathered;
    if (!gathered)
        return;
    drop_content(server);
    scrub_free(&gathered->scrub);
    for (size_t i = 0; i < gathered->patterns.count; i++)
        wipe(&gathered->written[i]);
    free(gathered);
    server->gathered = NULL;
}

static bool may_be_in_content(const struct server *server, const struct value *value)
{
    return secret_is_for_content(value->secret) && secret_is_for(value->secret, server->host, server->port);
}

static void begin(struct server *server)
{
    gather_free(server);
    server->gathered = must_realloc(NULL, 1, sizeof(*server->gathered));
    memset(server->gathered, 0, sizeof(*server->gathered));
    server->gathered->scrub.patterns = &server->gathered->patterns;
}

void gather_begin(struct server *server)
{
    not_zeroed struct head head;
    struct values *values = &server->back->values;
    bool is_one = false;
    gather_free(server); /* of the last request */
    for (size_t i = 0; i < values->count; i++)
        is_one |= may_be_in_content(server, &values->at[i]);
    if (!is_one || head_read_request(bytes_of(server->request.bytes, server->request.size), server->host,
                                     server->port, &head))
        return;
    if (head.framing != FRAMING_CHUNKED && (head.framing != FRAMING_LENGTH || !head.length))
        return;
    begin(server);
    server->state = SERVER_GATHER;
    server->deadline = now_milliseconds() + GATHER_PATIENCE;
}

void gather_adopt(struct server *server, struct buf *content)
{
    begin(server);
    server->gathered->content = *content;
    server->gathered->is_whole = true;
    server->back->gathered += content->size;
    *content = (struct buf){0};
    server->state = SERVER_IDLE;
}

bool gather_take(struct server *server, struct bytes bytes)
{
    struct gathered *gathered = server->gathered;
    if (server->back->gathered + bytes.size > LARGEST_ALL) {
        server_fail(server, "too many requests with content wait for a secret");
        return true;
    }
    buf_add(&gathered->content, bytes.at, bytes.size);
    server->back->gathered += bytes.size;
    server->deadline = now_milliseconds() + GATHER_PATIENCE;
    if (gathered->content.size > LARGEST)
        server->state = SERVER_IDLE; /* the rest waits until the head is sent */
    return true;
}

void gather_end(struct server *server)
{
    server->gathered->is_whole = true;
    server->state = SERVER_IDLE;
}

bool gather_asks_for(const struct server *server, const struct value *value)
{
    const struct gathered *gathered = server->gathered;
    if (!gathered || !may_be_in_content(server, value))
        return false;
    return !gathered->is_whole ||
           (gathered->content.size && memmem(gathered->content.bytes, gathered->content.size,
                                             value->placeholder.at, value->placeholder.size));
}

/* What each placeholder becomes. */
static bool write_secrets(struct server *server, const struct head *head)
{
    struct gathered *gathered = server->gathered;
    struct values *values = &server->back->values;
    enum writing writing = carrier_writing_of(head);
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        struct buf *written = &gathered->written[gathered->patterns.count];
        if (!gather_asks_for(server, value))
            continue;
        if (!server_write_secret(server, value, writing, written) ||
            !patterns_exchange(&gathered->patterns, value->placeholder,
                               bytes_of(written->bytes, written->size))) {
            wipe(written);
            return false;
        }
    }
    return true;
}

/* Is a placeholder, as far as the content has come, for a secret of another length? */
static bool would_change_length(const struct gathered *gathered)
{
    for (size_t i = 0; i < gathered->patterns.count; i++) {
        const struct pattern_pair *pair = &gathered->patterns.at[i];
        if (pair->from.size != pair->to.size &&
            memmem(gathered->content.bytes, gathered->content.size, pair->from.at, pair->from.size))
            return true;
    }
    return false;
}

static void fail_for_length(struct server *server)
{
    server_fail(server, "a secret in content above 1 MiB must have the length of its placeholder, or the "
                        "content must be chunked");
}

bool gather_swap(struct server *server, struct head *head)
{
    struct gathered *gathered = server->gathered;
    auto_buf struct buf swapped = {0};
    if (!gathered)
        return true;
    if (!write_secrets(server, head))
        return false;
    if (!gathered->is_whole && head->framing == FRAMING_LENGTH && would_change_length(gathered)) {
        fail_for_length(server);
        return false;
    }
    if (!gathered->is_whole)
        return true;
    scrub_take(&gathered->scrub, bytes_of(gathered->content.bytes, gathered->content.size), &swapped);
    scrub_end(&gathered->scrub, &swapped);
    drop_content(server);
    gathered->content = swapped;
    server->back->gathered += swapped.size;
    swapped = (struct buf){0};
    head->framing = FRAMING_LENGTH;
    head->length = gathered->content.size;
    return true;
}

void gather_send(struct server *server)
{
    struct gathered *gathered = server->gathered;
    struct buf content = gathered->content;
    server->back->gathered -= content.size;
    gathered->content = (struct buf){0};
    bool is_sent = gathered->is_whole ? server_send_content(server, bytes_of(content.bytes, content.size))
                                      : gather_pass(server, bytes_of(content.bytes, content.size), false);
    wipe(&content);
    if (!is_sent)
        server->stream.is_broken = true;
    server->is_request_done = gathered->is_whole;
    if (gathered->is_whole)
        gather_free(server);
}

bool gather_pass(struct server *server, struct bytes bytes, bool is_end)
{
    struct gathered *gathered = server->gathered;
    auto_buf struct buf swapped = {0};
    if (bytes.size)
        scrub_take(&gathered->scrub, bytes, &swapped);
    if (is_end)
        scrub_end(&gathered->scrub, &swapped);
    gathered->taken += bytes.size;
    gathered->given += swapped.size;
    bool is_as_told = gathered->given + gathered->scrub.held.size == gathered->taken;
    bool is_sent = true;
    if (server->request_framing == FRAMING_LENGTH && !is_as_told) {
        server->stream.is_broken = true; /* the server must see that the request is cut off, and not ended */
        fail_for_length(server);
    } else {
        is_sent = server_send_content(server, bytes_of(swapped.bytes, swapped.size));
    }
    if (swapped.bytes)
        explicit_bzero(swapped.bytes, swapped.size);
    return is_sent;
}
