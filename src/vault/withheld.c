/*
 * What must not leave in a request: a placeholder for a host that its secret is not for, and secrets of the
 * host. Passes the rest on to the back.
 */
#include <stdio.h>
#include <string.h>

#include "vault/client.h"

enum {
    MOST_LEAKS = 257,      /* lines about leaks of a kind; bawn counts the last one as left out */
    HELD_BACK = 64 * 1024, /* with `leak block`: content that waits until what follows has been searched */
};

/* --- placeholders ------------------------------------------------------------------------------------------------- */

/* A placeholder on its way to a host that its secret is not for. */
static void refuse_misuse(struct client *client)
{
    struct front *front = client->front;
    char line[1024];
    vec_each (const struct vault_secret, secret, &front->settings->secrets) {
        struct bytes placeholder = bytes_of(secret->placeholder, strlen(secret->placeholder));
        if (!bytes_equal(placeholder, client->watch.found))
            continue;
        snprintf(line, sizeof(line), "misused %s %s %u", secret->name, client->host, client->port);
        front_tell(front, line);
    }
    client_refuse(client, "403 Forbidden", "a placeholder was sent to a host that its secret is not for");
}

bool client_misuses_placeholder(struct client *client, struct bytes head)
{
    auto_buf struct buf ignored = {0};
    if (!client->others.count)
        return false;
    scrub_take(&client->watch, head, &ignored);
    scrub_end(&client->watch, &ignored);
    if (!client->watch.found.size)
        return false;
    refuse_misuse(client);
    return true;
}

/* --- leaks -------------------------------------------------------------------------------------------------------- */

/* Each kind of leak to a host is told once: an agent sends the same conversation again and again. */
static void tell_leak(struct client *client, const struct leak_found *found, bool is_stopped)
{
    struct front *front = client->front;
    char line[FRONT_LONGEST_TOLD];
    snprintf(line, sizeof(line), "leak %s %u %s %s %s", client->host, client->port,
             leak_kind_name(found->kind), is_stopped ? "stopped" : "passed", found->name);
    for (size_t i = 0; i < front->leaks.count; i++) {
        if (strcmp(front->leaks.at[i], line) == 0)
            return;
    }
    if (front->leak_counts[found->kind]++ >= MOST_LEAKS)
        return;
    vec_push(&front->leaks, arena_str(&front->settings->arena, line));
    front_tell(front, line);
}

/* Secrets of the host were found in a request. Returns false if it was refused for that. */
static bool leak_may_pass(struct client *client)
{
    bool is_stopped = client->front->settings->leaks.answer == LEAK_BLOCK;
    struct leak_search *search = &client->search;
    auto_arena struct arena scratch = {0};
    for (size_t i = 0; i < search->found_count; i++)
        tell_leak(client, &search->found[i], is_stopped);
    if (is_stopped)
        client_refuse(client, "403 Forbidden",
                      leak_refusal(&scratch, client->host,
                                   leak_what(&scratch, search->found[0].kind, search->found[0].name)));
    return !is_stopped;
}

/* A key is expected in a header for credentials. There, only what must not be in the sandbox is a leak. */
bool client_withholds_head(struct client *client, const struct head *head)
{
    struct leak_search *search = &client->search;
    if (!client->front->settings->leaks.answer)
        return false;
    search->found_count = 0;
    bool has_leak = leak_take(search, head->target);
    has_leak |= leak_end(search);
    for (size_t i = 0; i < head->count; i++) {
        search->skips_formats = key_is_expected_in(head->fields[i].name);
        has_leak |= leak_take(search, head->fields[i].name);
        has_leak |= leak_end(search);
        has_leak |= leak_take(search, head->fields[i].value);
        has_leak |= leak_end(search);
    }
    search->skips_formats = false;
    bool is_refused = has_leak && !leak_may_pass(client);
    search->found_count = 0;
    return is_refused;
}

/* --- on to the back ----------------------------------------------------------------------------------------------- */

void client_pass_head(struct client *client, const struct head *head, struct bytes text)
{
    enum leak_answer answer = client->front->settings->leaks.answer;
    bool has_content =
        head->framing == FRAMING_CHUNKED || (head->framing == FRAMING_LENGTH && head->length > 0);
    client->is_searched = answer && has_content && head->coding == CODING_NONE;
    if (client->is_searched && answer == LEAK_BLOCK)
        buf_add(&client->held_head, text.at, text.size);
    else
        channel_add(&client->channel, RECORD_HEAD, text);
}

static void release_head(struct client *client)
{
    if (client->held_head.size)
        channel_add(&client->channel, RECORD_HEAD, bytes_of(client->held_head.bytes, client->held_head.size));
    client->held_head.size = 0;
}

/* Searches content, and passes it on. With `leak block` the head and the last bytes wait until what follows has been searched. */
static bool search_content(struct client *client, enum record_kind kind, struct bytes bytes, bool is_end)
{
    struct buf *held = &client->held;
    if (kind != RECORD_CONTENT || !client->is_searched) {
        channel_add_all(&client->channel, kind, bytes);
        return true;
    }
    bool has_leak = leak_take(&client->search, bytes);
    if (is_end)
        has_leak |= leak_end(&client->search);
    if (has_leak && !leak_may_pass(client))
        return false;
    if (client->front->settings->leaks.answer != LEAK_BLOCK) {
        channel_add_all(&client->channel, kind, bytes);
        return true;
    }
    buf_add(held, bytes.at, bytes.size);
    size_t released = is_end ? held->size : held->size > HELD_BACK ? held->size - HELD_BACK : 0;
    if (!released && !is_end)
        return true;
    release_head(client);
    channel_add_all(&client->channel, kind, bytes_of(held->bytes, released));
    memmove(held->bytes, held->bytes + released, held->size - released);
    held->size -= released;
    return true;
}

bool client_pass_content(struct client *client, enum record_kind kind, struct bytes bytes, bool is_end)
{
    if (!client->others.count)
        return search_content(client, kind, bytes, is_end);
    auto_buf struct buf watched = {0};
    scrub_take(&client->watch, bytes, &watched);
    if (is_end)
        scrub_end(&client->watch, &watched);
    if (client->watch.found.size) {
        refuse_misuse(client);
        return false;
    }
    return search_content(client, kind, bytes_of(watched.bytes, watched.size), is_end);
}
