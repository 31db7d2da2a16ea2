/*
 * Requests of a client, in the front: reads them, judges them, and passes them on to the back; and the
 * answers of our own. client.c describes the states.
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

void client_drop_input(struct client *client, size_t size)
{
    struct buf *input = &client->input;
    if (size < input->size)
        memmove(input->bytes, input->bytes + size, input->size - size);
    input->size -= size;
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

/*
 * The answer follows the request's content. A client that may not send it, or sends much, is better told at
 * once, and loses the connection.
 */
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
    not_zeroed struct asked_request request;
    if (request_read(head->method, head->target, &request))
        return false;
    const struct rule *rule = rule_for(client, &request);
    return rule && rule->verb == VERB_CONNECT;
}

/* Does the policy allow the request? If not, the client is answered. */
static bool judge(struct client *client, const struct head *head)
{
    not_zeroed struct asked_request request;
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

bool client_pass_request(struct client *client, const struct head *head, struct bytes content)
{
    auto_buf struct buf text = {0};
    if (*client->failure) {
        client_refuse(client, "502 Bad Gateway", client->failure);
        return false;
    }
    if (client_withholds_head(client, head))
        return false;
    head_write_request(head, client->host, client->port, &text);
    client_pass_head(client, head, bytes_of(text.bytes, text.size));
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
    not_zeroed struct head head;
    const char *problem =
        size < 0 ? "its head is too large"
                 : head_read_request(bytes_of(input.at, (size_t)size), client->host, client->port, &head);
    if (problem) {
        refuse_malformed(client, problem);
        return false;
    }
    auto_buf struct buf text = {0};
    head_write_request(&head, client->host, client->port, &text);
    if (client_misuses_placeholder(client, bytes_of(text.bytes, text.size)))
        return false;
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
    if (client_withholds_head(client, &head))
        return false;
    if (client->git.forge && !client->git.has_content)
        client_tell_git(client, client->git.is_push ? "push" : "fetch", NULL);
    if (client->git.is_push && client->git.has_content) {
        client->is_searched = false; /* a pack is compressed */
        client_drop_input(client, (size_t)size);
        push_begin(client, &head, bytes_of(text.bytes, text.size));
        return client->state == CLIENT_PUSH;
    }
    client_pass_head(client, &head, bytes_of(text.bytes, text.size));
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
