/*
 * Requests by GraphQL about a repository with a token, in the front: each is read as a whole, judged
 * (pulls.h), written anew and passed on.
 */
#include <stdlib.h>
#include <string.h>

#include "vault/client.h"

enum { MOST_QUESTIONS = 16 }; /* at once: each may take two megabytes, with its answer */

struct asking {
    struct arena arena;
    struct buf head, content, answer;
    pulls_names repositories; /* that may be asked about */
    const char *path;
    struct pulls_question question;
};

void question_end(struct client *client)
{
    struct asking *asking = client->asking;
    if (!asking)
        return;
    client->front->question_count--;
    client->asking = NULL;
    pulls_question_free(&asking->question);
    vec_free(&asking->repositories);
    buf_free(&asking->head);
    buf_free(&asking->content);
    buf_free(&asking->answer);
    arena_free(&asking->arena);
    free(asking);
}

static void refuse(struct client *client, const struct head *head, const char *reason)
{
    const struct refusal refusal = {.method = head->method,
                                    .host = client->host,
                                    .port = client->port,
                                    .path = client->asking->path,
                                    .reason = reason};
    client_refuse_request(client, &refusal, head);
}

bool question_begin(struct client *client, const struct head *head, struct bytes text)
{
    struct front *front = client->front;
    pulls_names repositories = {0};
    repository_questions(front->settings, client->host, client->port, head, &repositories);
    if (!repositories.count)
        return false;
    if (front->question_count == MOST_QUESTIONS) {
        vec_free(&repositories);
        client_refuse(client, "503 Service Unavailable", "too many requests to /graphql at once");
        return true;
    }
    struct asking *asking = client->asking = must_realloc(NULL, 1, sizeof(*asking));
    *asking = (struct asking){.repositories = repositories};
    asking->path = arena_copy(&asking->arena, head->target.at, head->target.size);
    buf_add(&asking->head, text.at, text.size);
    front->question_count++;
    bool is_large = head->framing == FRAMING_LENGTH && head->length > PULLS_LARGEST_REQUEST;
    if (head->coding != CODING_NONE || head->framing == FRAMING_UPGRADE || is_large) {
        refuse(client, head,
               is_large ? "it is too large to be judged" : "it is compressed, or asks for another protocol");
        question_end(client);
        return true;
    }
    client_begin_content(client, head, CLIENT_QUESTION);
    return true;
}

/*
 * The head by which the back knows the repository: its rule's path, and GET for a question that changes
 * nothing. Returns what is wrong. Content without a type could be read as a form, which may have another
 * query in it.
 */
static const char *write_head(const struct asking *asking, struct arena *arena, struct head *head)
{
    const char *target = arena_printf(arena, "%s/%s", asking->path, asking->question.repository);
    head_drop(head, "content-type");
    head_drop(head, "expect");
    if (head->count == HEAD_MOST_FIELDS)
        return "it has too many headers";
    head->method = asking->question.is_change ? bytes_of("POST", 4) : bytes_of("GET", 3);
    head->target = bytes_of(target, strlen(target));
    head->framing = FRAMING_LENGTH;
    head->length = asking->question.content.size;
    head->expects = false;
    head->fields[head->count++] =
        (struct field){bytes_of("Content-Type", 12), bytes_of("application/json", 16)};
    return NULL;
}

/* Nothing is learned from its answer. */
static bool pass_as_it_is(struct client *client, const struct head *head)
{
    struct buf *content = &client->asking->content;
    bool has_passed = client_pass_request(client, head, bytes_of(buf_text(content), content->size));
    question_end(client);
    return has_passed;
}

/* The request is whole. */
static bool judge(struct client *client)
{
    not_zeroed struct head sent, head;
    struct asking *asking = client->asking;
    struct bytes text = bytes_of(asking->head.bytes, asking->head.size);
    if (head_read_request(text, client->host, client->port, &sent)) {
        client_refuse(client, "400 Bad Request", "this request is refused");
        return false;
    }
    const char *server = arena_printf(&asking->arena, "%s:%u", client->host, client->port);
    const char *problem = pulls_read(&client->front->pulls, &asking->arena,
                                     bytes_of(asking->content.bytes, asking->content.size), server,
                                     &asking->repositories, &asking->question);
    head = sent;
    if (!problem)
        problem = write_head(asking, &asking->arena, &head);
    /* A rule that opens the whole host allows the path as well, which only a request with the token may have. */
    bool has_token = !problem && repository_api_token(client->front->settings, client->host, client->port,
                                                      head.method, head.target);
    if (!problem && (!has_token || !client_is_allowed(client, &head)))
        problem = arena_printf(&asking->arena, "no rule allows %.*s %.*s, for which it stands",
                               (int)head.method.size, head.method.at, (int)head.target.size, head.target.at);
    if (!problem)
        return client_pass_request(client, &head,
                                   bytes_of(asking->question.content.bytes, asking->question.content.size));
    if (client_is_allowed(client,
                          &sent)) /* by a rule of the user's on the path itself, which sends no token */
        return pass_as_it_is(client, &sent);
    refuse(client, &sent, problem);
    client->body.state = BODY_DONE; /* its content is read already */
    question_end(client);
    return client->state == CLIENT_REFUSED;
}

bool question_read(struct client *client)
{
    struct asking *asking = client->asking;
    ptrdiff_t taken = body_take(&client->body, bytes_of(client->input.bytes, client->input.size),
                                RECORD_CONTENT_LARGEST, &asking->content);
    if (taken < 0 || asking->content.size > PULLS_LARGEST_REQUEST) {
        client_refuse(client, "400 Bad Request",
                      "this request is refused: it is malformed, or too large to be judged");
        return false;
    }
    client_drop_input(client, (size_t)taken);
    if (client->body.state == BODY_DONE)
        return judge(client);
    if (taken > 0)
        client->deadline = now_milliseconds() + VAULT_PATIENCE;
    return taken > 0;
}

void question_take_answer(struct client *client, struct bytes bytes)
{
    struct asking *asking = client->asking;
    if (!asking || !asking->question.keys.count)
        return;
    if (asking->answer.size + bytes.size <= PULLS_LARGEST_ANSWER)
        buf_add(&asking->answer, bytes.at, bytes.size);
    else
        asking->question.keys.count = 0; /* nothing is learned of an answer that is not here as a whole */
}

void question_learn(struct client *client)
{
    struct asking *asking = client->asking;
    if (asking)
        pulls_learn(&client->front->pulls, &asking->question,
                    bytes_of(asking->answer.bytes, asking->answer.size));
}
