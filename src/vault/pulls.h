/*
 * Pull requests by GraphQL, which has one path for everything that a token may do. A request passes if each of its fields is in the list of
 * pulls_fields.h, and if it is about one repository of those that are named:
 *
 *   - It reads a repository that it names by owner and name, a pull request or an issue that is known by its id, who the token's user is, and
 *     what the server knows.
 *   - It opens a pull request in a repository, or comments on a pull request or an issue. These are named by ids, which say nothing: such an
 *     id must have come in an answer about that repository before.
 *
 * What passes is written anew, from what was understood. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/vec.h"

enum { PULLS_LARGEST_REQUEST = 512 * 1024, PULLS_LARGEST_ANSWER = 1024 * 1024, PULLS_MOST_IDS = 4096 };

typedef VEC(const char *) pulls_names;

struct pulls_id {
    const char *id, *repository;
    const char *server; /* that it came from: elsewhere it is another's */
    bool is_repository; /* otherwise of a pull request or an issue */
};

/* The ids that came in answers. */
struct pulls {
    struct arena arena;
    VEC(struct pulls_id) ids;
};

void pulls_free(struct pulls *pulls);

/* A request that may pass. */
struct pulls_question {
    const char *server;     /* as it was given */
    const char *repository; /* "acme/app" */
    bool is_change;
    pulls_names keys; /* where the answer has the repository */
    struct buf content;
};

/* `server`: "host:port". Returns NULL, or a sentence's end that says why the request is refused. */
const char *pulls_read(const struct pulls *pulls, struct arena *arena, struct bytes content,
                       const char *server, const pulls_names *repositories,
                       struct pulls_question *ret_question) must_check;
void pulls_question_free(struct pulls_question *question);

/* Takes the ids from the answer to a question that passed. */
void pulls_learn(struct pulls *pulls, const struct pulls_question *question, struct bytes answer);
