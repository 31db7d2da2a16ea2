/*
 * Requests of a client, in the front: reads them, judges them, and passes them on to the back; and the answers of our own. client.c describes
 * the states.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/ports.h"
#include "policy/decide.h"
#include "policy/request.h"
#include "vault/client.h"

enum {
    FAREWELL = 2000,             /* milliseconds */
    LARGEST_DROPPED = 64 * 1024, /* of a refused request's content */
    MOST_LEAKS = 257,            /* lines about leaks of a kind; bawn counts the last one as left out */
    HELD_BACK = 64 * 1024, /* with `leak block`: content that waits until what follows has been searched */
};

void front_tell(struct front *front, const char *line)
{
    if (passing_send(front->link.fd, line, strlen(line), -1) < 0)
        front->poller.is_over = true; /* bawn is gone */
}

void client_begin_farewell(struct client *client)
{
    client->state = CLIENT_BYE;
    client->deadline = now_milliseconds() + FAREWELL;
    stream_finish(&client->stream);
    channel_close(&client->channel); /* the back ends its side */
}

void client_refuse(struct client *client, const char *status, const char *sentence)
{
    auto_buf struct buf answer = {0}, text = {0};
    if (client->state == CLIENT_BYE)
        return;
    if (!client->has_answer && client->stream.is_ready) {
        buf_printf(&text, "bawn: %s.\n", sentence);
        buf_printf(&answer,
                   "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                   "Connection: close\r\n\r\n%s",
                   status, text.size, buf_text(&text));
        stream_write(&client->stream, bytes_of(answer.bytes, answer.size));
    }
    client_begin_farewell(client);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* A placeholder on its way to a host that its secret is not for. */
static void client_alarm(struct client *client)
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
static bool head_may_pass(struct client *client, const struct head *head)
{
    struct leak_search *search = &client->search;
    if (!client->front->settings->leaks.answer)
        return true;
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
    bool may_pass = !has_leak || leak_may_pass(client);
    search->found_count = 0;
    return may_pass;
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

/* ------------------------------------------------------------------------------------------------------------------ */

/* Passes bytes of a request on to the back. Returns false if they hold what must not leave. */
bool client_pass_content(struct client *client, enum record_kind kind, struct bytes bytes, bool is_end)
{
    if (!client->others.count)
        return search_content(client, kind, bytes, is_end);
    auto_buf struct buf watched = {0};
    scrub_take(&client->watch, bytes, &watched);
    if (is_end)
        scrub_end(&client->watch, &watched);
    if (client->watch.found.size) {
        client_alarm(client);
        return false;
    }
    return search_content(client, kind, bytes_of(watched.bytes, watched.size), is_end);
}

void client_drop_input(struct client *client, size_t size)
{
    struct buf *input = &client->input;
    if (size < input->size)
        memmove(input->bytes, input->bytes + size, input->size - size);
    input->size -= size;
}

static bool head_misuses(struct client *client, struct bytes text)
{
    auto_buf struct buf ignored = {0};
    if (!client->others.count)
        return false;
    scrub_take(&client->watch, text, &ignored);
    scrub_end(&client->watch, &ignored);
    return client->watch.found.size > 0;
}

void client_end_request(struct client *client)
{
    channel_add(&client->channel, RECORD_END, bytes_of("", 0));
    client->state = CLIENT_ANSWER;
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

/* A client may make many such requests: where bawn does not read as fast, it is told later that some are missing. */
void client_tell_refused(struct client *client, const char *sentence)
{
    static const char missing[] = "untold requests";
    struct front *front = client->front;
    auto_buf struct buf line = {0};
    buf_printf(&line, "refused %s %u %s", client->host, client->port, sentence);
    size_t size = line.size < FRONT_LONGEST_TOLD ? line.size : FRONT_LONGEST_TOLD;
    if (bytes_equal(bytes_of(front->refused.bytes, front->refused.size), bytes_of(line.bytes, size)))
        return;
    if (front->has_untold && passing_send(front->link.fd, missing, strlen(missing), -1) == 0)
        front->has_untold = false;
    front->refused.size = 0;
    buf_add(&front->refused, line.bytes, size);
    front->has_untold |= passing_send(front->link.fd, line.bytes, size, -1) < 0;
}

/* The answer follows the request's content. A client that may not send it, or sends much, is better told at once, and loses the connection. */
void client_refuse_request(struct client *client, const struct refusal *refusal, const struct head *head)
{
    client->answer_is_last = false;
    bool is_large = head->framing == FRAMING_CHUNKED ||
                    (head->framing == FRAMING_LENGTH && head->length > LARGEST_DROPPED);
    bool is_last = head->is_last || head->expects || is_large;
    auto_buf struct buf sentence = {0};
    refusal_add_sentence(refusal, &sentence);
    client_tell_refused(client, buf_text(&sentence));
    client->refusal.size = 0;
    refusal_add_answer(refusal, head, is_last, &client->refusal);
    if (is_last) {
        stream_write(&client->stream, bytes_of(client->refusal.bytes, client->refusal.size));
        client_begin_farewell(client);
        return;
    }
    body_begin(&client->body, head);
    client->deadline = now_milliseconds() + VAULT_PATIENCE;
    client->state = CLIENT_REFUSED;
}

/* The rule that decides about the request; NULL: there is none. */
static const struct rule *rule_for(const struct client *client, const struct asked_request *request)
{
    const struct host_object host = {.kind = HOST_NAME, .name = client->host, .port = client->port};
    return decide_request(&client->front->settings->policy, &host, client->port, request, NULL).decides;
}

bool client_is_allowed(struct client *client, const struct head *head)
{
    static struct asked_request request;
    if (request_read(head->method, head->target, &request))
        return false;
    const struct rule *rule = rule_for(client, &request);
    return rule && rule->verb == VERB_CONNECT;
}

/* Does the policy allow the request? If not, the client is answered. */
static bool judge(struct client *client, const struct head *head)
{
    static struct asked_request request;
    const char *problem = request_read(head->method, head->target, &request);
    if (problem) {
        char sentence[256];
        snprintf(sentence, sizeof(sentence), "this request is refused: %s", problem);
        client_tell_refused(client, sentence);
        client_refuse(client, "400 Bad Request", sentence);
        return false;
    }
    const struct vault_settings *settings = client->front->settings;
    const struct rule *rule = rule_for(client, &request);
    bool is_allowed = rule && rule->verb == VERB_CONNECT;
    bool is_refused_to_git = is_allowed && !client->git.forge &&
                             repository_has(settings, client->host, client->port, request.path);
    bool is_stand_in = repository_graphql(settings, client->host, client->port, head->target) != NULL;
    if (is_allowed && !is_refused_to_git && !is_stand_in)
        return true;
    struct refusal refusal = {
        .method = head->method, .host = client->host, .port = client->port, .path = request.path};
    if (is_stand_in)
        refusal.reason = "the server has no such path: it stands for requests to /graphql in rules";
    else if (is_refused_to_git || !rule)
        refusal.reason = repository_problem(settings, client->host, client->port, request.path);
    else {
        refusal.verb = verb_word(rule->verb);
        refusal.object = rule->written;
        refusal.place = rule->source->name;
    }
    client_refuse_request(client, &refusal, head);
    return false;
}

/* --- git ---------------------------------------------------------------------------------------------------------- */

/* What is wrong with a request that has the target of one of git's; NULL: nothing. */
static const char *problem_with_git(const struct client *client, const struct head *head)
{
    bool has_content = head->framing == FRAMING_CHUNKED || (head->framing == FRAMING_LENGTH && head->length);
    if (head->framing == FRAMING_UPGRADE)
        return "git changes no protocol";
    if (!client->git.has_content && has_content)
        return "git sends no content with it";
    if (client->git.is_push && head->coding != CODING_NONE)
        return "the commands of a compressed push cannot be judged";
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Drops the content of a refused request, and answers after it. */
static bool drop_content(struct client *client)
{
    auto_buf struct buf dropped = {0};
    ptrdiff_t taken = body_take(&client->body, bytes_of(client->input.bytes, client->input.size),
                                RECORD_CONTENT_LARGEST, &dropped);
    client_drop_input(client, taken > 0 ? (size_t)taken : 0);
    if (taken > 0 &&
        client->pushing) /* git reads no answer before it has sent its pack, which may be large */
        client->deadline = now_milliseconds() + VAULT_PATIENCE;
    if (client->body.state != BODY_DONE)
        return taken > 0;
    stream_write(&client->stream, bytes_of(client->refusal.bytes, client->refusal.size));
    client_end_push(client);
    client->deadline = 0;
    client->state = CLIENT_HEAD;
    if (client->answer_is_last)
        client_begin_farewell(client);
    return true;
}

void client_begin_content(struct client *client, const struct head *head, enum client_state state)
{
    if (head->expects)
        stream_write(&client->stream, bytes_of("HTTP/1.1 100 Continue\r\n\r\n", 25));
    body_begin(&client->body, head);
    client->answer_is_last = head->is_last;
    client->deadline = now_milliseconds() + VAULT_PATIENCE;
    client->state = state;
}

static void refuse_malformed(struct client *client, const char *problem)
{
    char sentence[256];
    snprintf(sentence, sizeof(sentence), "this request is refused: %s", problem);
    client_refuse(client, "400 Bad Request", sentence);
}

/* Does a rule put a secret into content for the client's host? */
static bool may_carry_secret(const struct client *client)
{
    vec_each (const struct vault_secret, secret, &client->front->settings->secrets) {
        if (secret_is_for(secret, client->host, client->port) && secret_is_for_content(secret))
            return true;
    }
    return false;
}

static void pass_head(struct client *client, const struct head *head, struct bytes text)
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

bool client_pass_request(struct client *client, const struct head *head, struct bytes content)
{
    auto_buf struct buf text = {0};
    if (*client->failure) {
        client_refuse(client, "502 Bad Gateway", client->failure);
        return false;
    }
    if (!head_may_pass(client, head))
        return false;
    head_write_request(head, client->host, client->port, &text);
    pass_head(client, head, bytes_of(text.bytes, text.size));
    client->is_head = client->has_answer = false;
    client->deadline = 0;
    client->state = CLIENT_CONTENT;
    if (!client_pass_content(client, RECORD_CONTENT, content, true))
        return false;
    client_end_request(client);
    return true;
}

static bool read_head(struct client *client)
{
    struct bytes input = bytes_of(client->input.bytes, client->input.size);
    ptrdiff_t size = head_size(input);
    if (size == 0) {
        if (input.size && !client->deadline)
            client->deadline = now_milliseconds() + VAULT_PATIENCE;
        return false;
    }
    static struct head head;
    const char *problem =
        size < 0 ? "its head is too large"
                 : head_read_request(bytes_of(input.at, (size_t)size), client->host, client->port, &head);
    if (problem) {
        refuse_malformed(client, problem);
        return false;
    }
    auto_buf struct buf text = {0};
    head_write_request(&head, client->host, client->port, &text);
    if (head_misuses(client, bytes_of(text.bytes, text.size))) {
        client_alarm(client);
        return false;
    }
    if (question_begin(client, &head, bytes_of(text.bytes, text.size))) {
        client_drop_input(client, (size_t)size);
        return client->state == CLIENT_QUESTION || client->state == CLIENT_REFUSED;
    }
    client->git =
        repository_read(client->front->settings, client->host, client->port, head.method, head.target);
    if (client->is_judged && !judge(client, &head)) {
        client_drop_input(client, (size_t)size);
        return client->state == CLIENT_REFUSED;
    }
    problem = client->git.forge ? problem_with_git(client, &head) : NULL;
    if (problem) {
        refuse_malformed(client, problem);
        return false;
    }
    if (*client->failure) {
        client_refuse(client, "502 Bad Gateway", client->failure);
        return false;
    }
    if (head.coding != CODING_NONE && may_carry_secret(client)) {
        client_refuse(client, "415 Unsupported Media Type",
                      "this request is refused: its content is compressed, and a rule puts a secret into "
                      "content for this host");
        return false;
    }
    if (!head_may_pass(client, &head))
        return false;
    if (client->git.forge && !client->git.has_content)
        client_tell_git(client, client->git.is_push ? "push" : "fetch", NULL);
    if (client->git.is_push && client->git.has_content) {
        client->is_searched = false; /* a pack is compressed */
        client_drop_input(client, (size_t)size);
        push_begin(client, &head, bytes_of(text.bytes, text.size));
        return client->state == CLIENT_PUSH;
    }
    pass_head(client, &head, bytes_of(text.bytes, text.size));
    client_begin_content(client, &head, CLIENT_CONTENT);
    client->is_head = bytes_are(head.method, "head");
    client->has_answer = false;
    client->deadline = 0;
    client_drop_input(client, (size_t)size);
    if (client->body.state == BODY_DONE)
        client_end_request(client); /* at once: its answer may come in the same round */
    return true;
}

static bool read_content(struct client *client)
{
    auto_buf struct buf content = {0};
    ptrdiff_t taken = body_take(&client->body, bytes_of(client->input.bytes, client->input.size),
                                RECORD_CONTENT_LARGEST, &content);
    if (taken < 0) {
        client_refuse(client, "400 Bad Request", "this request is refused: its chunks are malformed");
        return false;
    }
    client_drop_input(client, (size_t)taken);
    bool is_done = client->body.state == BODY_DONE;
    if (!client_pass_content(client, RECORD_CONTENT, bytes_of(content.bytes, content.size), is_done))
        return false;
    if (is_done)
        client_end_request(client);
    return taken > 0 || is_done;
}

static bool read_raw(struct client *client)
{
    size_t size = client->input.size;
    if (size && client_pass_content(client, RECORD_RAW, bytes_of(client->input.bytes, size), true))
        client_drop_input(client, size);
    return size > 0 && client->state == CLIENT_RAW;
}

bool client_is_clogged(const struct client *client)
{
    bool is_between = client->state == CLIENT_HEAD || client->state == CLIENT_REFUSED;
    return channel_waiting(&client->channel) > VAULT_LARGEST_QUEUE ||
           (is_between && stream_waiting(&client->stream) > VAULT_LARGEST_QUEUE);
}

bool client_read_request(struct client *client)
{
    if (client_is_clogged(client))
        return false;
    switch (client->state) {
    case CLIENT_HEAD:
        return read_head(client);
    case CLIENT_CONTENT:
        return read_content(client);
    case CLIENT_PUSH:
        return push_read(client);
    case CLIENT_QUESTION:
        return question_read(client);
    case CLIENT_REFUSED:
        return drop_content(client);
    case CLIENT_RAW:
        return read_raw(client);
    default:
        return false;
    }
}
