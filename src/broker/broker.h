/*
 * Questions from inside: a program asks for something that the policy does not give, and a person answers.
 *
 * Theory of operation
 *
 * A question goes through these states: it is *decided* at once (the policy gives it already, or nobody could), or it is *open* until a
 * person answers, and then *answered*. There is no other way, and nothing forgets a question before the run ends.
 *
 *   1. The same question is asked once: a second asker joins the open one, or gets the answer that was given.
 *   2. What is granted is what was shown: kind and object are read once, spelled in one way, and kept.
 *   3. A session shows a person 3 open questions at most, and 20 an hour. Others wait in the list without a notice. With 64 open the next one
 *      is refused.
 *   4. The asker's reason is its own words. It is printable, 300 columns at most, and no decision reads it.
 *   5. What the administrator has locked is refused without asking.
 *
 * This room knows no socket and no process: supervise/asking.c brings the lines and carries an answer out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "policy/policy.h"

#define QUESTION_KINDS(X)                                                                                    \
    X(QUESTION_CONNECT, "connect") /* a host and a port */                                                   \
    X(QUESTION_PUBLISH, "publish") /* a port inside, for programs on the host */

enum question_kind {
#define X(id, word) id,
    QUESTION_KINDS(X)
#undef X
        QUESTION_KIND_COUNT
};

const char *question_kind_word(enum question_kind kind);

#define QUESTION_ANSWERS(X)                                                                                  \
    X(ANSWER_NONE, "")                                                                                       \
    X(ANSWER_SESSION, "session") /* yes, until the run ends */                                               \
    X(ANSWER_NO, "no")

enum question_answer {
#define X(id, word) id,
    QUESTION_ANSWERS(X)
#undef X
};

struct asker {
    int pid;             /* as seen outside; 0: not known */
    const char *program; /* its own name: any bytes */
};

struct question {
    unsigned id; /* from 1 */
    enum question_kind kind;
    const char *object;  /* "example.com:443", "3000" */
    const char *because; /* the asker's words, printable; may be empty */
    const char *warning; /* what a person should know; may be empty */
    const char *program; /* printable */
    int pid;
    int64_t asked_at; /* seconds of a clock that is never set */
    bool is_shown;    /* it came within the budget: a person is told */
    enum question_answer answer;
};

struct broker {
    struct arena *arena;
    const struct policy *policy;
    const char *net; /* mode of the network: off, allow, open */
    VEC(struct question) questions;
    VEC(int64_t) shown_at; /* when a person was told, for the budget */
};

/* What the asker is told at once. */
enum reply { REPLY_GRANTED, REPLY_REFUSED, REPLY_OPEN };

struct decided {
    enum reply reply;
    const char *sentence; /* for REPLY_GRANTED and REPLY_REFUSED: why */
    unsigned id;          /* of the question; 0: it never became one */
    bool is_new;          /* REPLY_OPEN: it was not asked before */
};

/*
 * Takes a line from inside: KIND, OBJECT and perhaps the reason, with tabs between them. It is hostile: any bytes. `now` in
 * seconds; the sentences lie in the arena.
 */
struct decided broker_take(struct broker *broker, struct arena *arena, const char *line,
                           const struct asker *asker, int64_t now);

/* The open question of this number, or NULL. */
struct question *broker_find(struct broker *broker, unsigned id);

/* A person's word: "session" or "no". */
int broker_answer(struct broker *broker, unsigned id, const char *word, struct err *err) must_check;

/* The sentence that askers get once a question is answered. */
const char *broker_sentence(struct arena *arena, const struct question *question);

/* The open questions as lines for `bawn requests`: id, kind, object, seconds, pid, program, warning, reason, with tabs between them. */
void broker_list(const struct broker *broker, int64_t now, struct buf *out);

void broker_free(struct broker *broker);
