/*
 * Questions from inside: a program asks for something that the policy does not give, and a person answers.
 *
 * Theory of operation
 *
 * A question goes through these states: it is *decided* at once (the policy gives it already, or nobody could), or it is *open* until a
 * person answers, and then *answered*. There is no other way, and nothing forgets a question before the run ends.
 *
 *   1. The same question is asked once: a second asker joins the open one, or gets the answer that was given. An answer that was for one
 *      time answers nobody else: the next asker's question is a new one.
 *   2. What is granted is what was shown: kind and object are read once, spelled in one way, and kept.
 *   3. A session shows a person 3 open questions at most, and 20 an hour. Others wait in the list without a notice. With 64 open the next one
 *      is refused.
 *   4. The asker's reason is its own words. It is printable, 300 columns at most, and no decision reads it.
 *   5. What the administrator has locked is refused without asking.
 *   6. What is sealed can be given once only. A file is given as it was pinned when the question was asked.
 *   7. Nothing tells a program whether a file exists that it cannot see: a path where nothing is becomes a question, too.
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
#include "base/vec.h"
#include "kernel/fsview.h"
#include "policy/policy.h"

#define QUESTION_KINDS(X)                                                                                    \
    X(QUESTION_CONNECT, "connect")   /* a host and a port */                                                 \
    X(QUESTION_PUBLISH, "publish")   /* a port inside, for programs on the host */                           \
    X(QUESTION_READ, "read")         /* a file or directory of the host */                                   \
    X(QUESTION_WRITE, "write")       /* the same, to be changed */                                           \
    X(QUESTION_ENV, "env")           /* a variable of the caller's environment */                            \
    X(QUESTION_RUN, "run")           /* a guarded command; only the supervisor asks, when it is executed */  \
    X(QUESTION_SSH_KEY, "ssh-key")   /* a login with a key outside; only the supervisor asks */              \
    X(QUESTION_SETTINGS, "settings") /* of git's, taken out of a frozen file; only the supervisor asks */

enum question_kind {
#define X(id, word) id,
    QUESTION_KINDS(X)
#undef X
        QUESTION_KIND_COUNT
};

const char *question_kind_word(enum question_kind kind);

/* Can a program ask for it by itself? */
bool question_kind_is_asked(enum question_kind kind);

enum question_answer {
    ANSWER_NONE,    /* it is open */
    ANSWER_ONCE,    /* yes, for one connection, or one reading; whoever wants another one asks again */
    ANSWER_SESSION, /* yes, until the run ends */
    ANSWER_LATER,   /* not in this run, but from the next one on */
    ANSWER_NO,
};

struct asker {
    int pid;             /* as seen outside; 0: not known */
    const char *program; /* its own name: any bytes */
    const char *parents; /* those that started it, the nearest first: any bytes. NULL: not known */
    const char *identity,
        *says; /* of a guarded command: what makes it another one, and its rule. NULL: it is none */
};

struct question {
    unsigned id; /* from 1 */
    enum question_kind kind;
    const char *object;   /* "example.com:443", "3000", "/srv/data", "GH_TOKEN" */
    const char *identity; /* of the file at a path: another file there is another question. Else "" */
    const char *because;  /* the asker's words, printable; may be empty */
    const char *warning;  /* what a person should know; may be empty */
    const char *says;     /* what the policy says of the object, and what it is; may be empty */
    const char *not_now;  /* why this run cannot get it; "": it can */
    const char *program;  /* printable */
    const char *parents;  /* printable */
    int pid;
    int64_t asked_at; /* seconds of a clock that is never set */
    bool is_sealed;   /* it can be given once only */
    bool is_content;  /* once: the asker gets what is in it, a file's content or a variable's value */
    bool is_missing;  /* there is nothing to give */
    bool is_shown;    /* it came within the budget: a person is told */
    enum question_answer answer;
    unsigned given; /* the number under which a yes becomes effective; 0: it is, or there is none */
};

/* What is at a path of the host. */
struct path_look {
    const char *path;     /* without links */
    const char *identity; /* "" where there is nothing */
    const char *not_now;  /* why a running sandbox cannot get it; "": it can */
    enum file_kind kind;
};

/* Looks at a path that was asked for, and pins what is there. Returns NULL, or what is wrong with the path as it was written. */
typedef const char *broker_look(void *context, struct arena *arena, const char *text, bool writes,
                                struct path_look *ret_look);

struct broker {
    struct arena *arena;
    const struct policy *policy;
    const char *net;   /* mode of the network: off, allow, open */
    broker_look *look; /* NULL: no file can be asked for */
    void *context;
    VEC(struct question) questions;
    VEC(int64_t) shown_at;           /* when a person was told, for the budget */
    VEC(struct host_object) allowed; /* by a person who was not asked: `bawn allow` */
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

/* A person has allowed a host that nobody asked for: "example.com:443". */
void broker_allow(struct broker *broker, const char *text);

/* The open question of this number, or NULL. */
struct question *broker_find(struct broker *broker, unsigned id);

/* Was it answered with a yes for this run? */
bool question_is_granted(const struct question *question);

/* The question of this number, open or not, or NULL. */
const struct question *broker_known(const struct broker *broker, unsigned id);

/* Why a question cannot be answered so; NULL: it can. */
const char *broker_problem_with(const struct question *question, enum question_answer answer);

/* A person's word: "once", "session", "later" or "no". ANSWER_NONE: it is none of these. */
enum question_answer question_answer_of(const char *word);

/* The sentence that askers get once a question is answered. */
const char *broker_sentence(struct arena *arena, const struct question *question);

/*
 * The open questions as lines for `bawn requests`: id, kind, object, seconds, pid, program, warning, reason, what the policy says, parents, why
 * not now, with tabs between them.
 */
void broker_list(const struct broker *broker, int64_t now, struct buf *out);

/* status.c: the questions of this run for a program inside, a line each: "connect HOST:PORT: granted until this run ends". */
void broker_status(const struct broker *broker, int64_t now, struct buf *out);

/* status.c: the hosts, files and directories that people gave until the run ends, as rules: "connect HOST:PORT", with a tab. The latest ones, so many bytes at most. */
void broker_given(const struct broker *broker, size_t most, struct buf *out);

void broker_free(struct broker *broker);
