/*
 * Pushes over https, in the front: each is read as far as it takes to judge it (pushing.h), written anew and
 * passed on, or refused as a server refuses.
 */
#include <stdio.h>

#include "kernel/ports.h"
#include "vault/client.h"

/* For the journal: `git WHAT REPOSITORY`, of a push with each ref. If bawn does not read as fast, the line is lost. */
void client_tell_git(const struct client *client, const char *what, const struct push_command *command)
{
    char line[FRONT_LONGEST_TOLD];
    const char *repository = client->git.forge->secret;
    if (command)
        snprintf(line, sizeof(line), "git %s %s %s %s %s", what, repository, command->before.digits,
                 command->after.digits, command->ref);
    else
        snprintf(line, sizeof(line), "git %s %s", what, repository);
    if (passing_send(client->front->link.fd, line, strlen(line), -1) < 0)
        return;
}

static void tell_refs(const struct client *client, const char *what)
{
    vec_each (const struct push_command, command, &client->pushing->push.commands)
        client_tell_git(client, what, command);
}

void client_end_push(struct client *client)
{
    client->front->push_count -= client->pushing != NULL;
    pushing_free(client->pushing);
    client->pushing = NULL;
}

void push_begin(struct client *client, const struct head *head, struct bytes text)
{
    if (client->front->push_count == VAULT_MOST_PUSHES) {
        client_refuse(client, "503 Service Unavailable", "too many pushes at once");
        return;
    }
    client->front->push_count++;
    client->pushing = pushing_begin(client->front->settings, client->git.forge, text);
    client_begin_content(client, head, CLIENT_PUSH);
}

/* As a server refuses: git shows it once it has sent everything. */
static void refuse_push(struct client *client)
{
    auto_buf struct buf report = {0};
    tell_refs(client, "refused");
    push_add_refusal(&client->pushing->push, &report);
    if (!report.size) {
        client_refuse(client, "403 Forbidden", "this push is refused, and git asked for no report");
        return;
    }
    client->refusal.size = 0;
    buf_printf(&client->refusal,
               "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-receive-pack-result\r\n"
               "Cache-Control: no-cache\r\nContent-Length: %zu\r\n%s\r\n",
               report.size, client->answer_is_last ? "Connection: close\r\n" : "");
    buf_add(&client->refusal, report.bytes, report.size);
    client->state = CLIENT_REFUSED;
}

/* The commands were written anew, so the content may have another length than the client told. */
static bool pass_push(struct client *client)
{
    not_zeroed struct head head;
    struct pushing *pushing = client->pushing;
    auto_buf struct buf content = {0}, text = {0};
    size_t taken = 0;
    if (head_read_request(bytes_of(pushing->head.bytes, pushing->head.size), client->host, client->port,
                          &head) ||
        *client->failure) {
        client_refuse(client, "502 Bad Gateway", *client->failure ? client->failure : "this push is refused");
        return false;
    }
    pushing_add(pushing, &content, &taken);
    if (head.framing == FRAMING_LENGTH)
        head.length = head.length - taken + content.size;
    head_write_request(&head, client->host, client->port, &text);
    tell_refs(client, "pushed");
    client_end_push(client);
    channel_add(&client->channel, RECORD_HEAD, bytes_of(text.bytes, text.size));
    client->is_head = client->has_answer = false;
    client->deadline = 0;
    client->state = CLIENT_CONTENT;
    bool is_done = client->body.state == BODY_DONE;
    if (!client_pass_content(client, RECORD_CONTENT, bytes_of(content.bytes, content.size), is_done))
        return false;
    if (is_done)
        client_end_request(client);
    return true;
}

bool push_read(struct client *client)
{
    auto_buf struct buf content = {0};
    ptrdiff_t taken = body_take(&client->body, bytes_of(client->input.bytes, client->input.size),
                                RECORD_CONTENT_LARGEST, &content);
    char sentence[256];
    if (taken < 0) {
        client_refuse(client, "400 Bad Request", "this request is refused: its chunks are malformed");
        return false;
    }
    client_drop_input(client, (size_t)taken);
    bool is_done = client->body.state == BODY_DONE;
    if (taken == 0 && !is_done)
        return false;
    switch (pushing_take(client->pushing, bytes_of(buf_text(&content), content.size), is_done)) {
    case PUSHING_MORE:
        client->deadline = now_milliseconds() + VAULT_PATIENCE;
        return true;
    case PUSHING_PASSES:
        return pass_push(client);
    case PUSHING_REFUSED:
        refuse_push(client);
        return client->state == CLIENT_REFUSED;
    case PUSHING_BAD:
        snprintf(sentence, sizeof(sentence), "this push is refused: %s", client->pushing->problem);
        client_tell_refused(client, sentence);
        client_refuse(client, "403 Forbidden", sentence);
        return false;
    }
    return false;
}
