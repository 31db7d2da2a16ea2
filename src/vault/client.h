/* Connections from the sandbox, in the front. client.c describes their states. */
#pragma once

#include "base/bytes.h"
#include "vault/authority.h"
#include "vault/body.h"
#include "vault/pushing.h"
#include "vault/record.h"
#include "vault/refusal.h"
#include "vault/stream.h"
#include "vault/swap.h"
#include "vault/vault.h"

enum { FRONT_LONGEST_TOLD = 1000 }; /* bytes of a line to bawn, which reads no line above 1024 */

struct front {
    struct vault_settings *settings;
    struct poller poller;
    struct watcher link, egress, back;
    struct authority authority;
    struct client *clients; /* the newest first */
    size_t client_count;
    size_t push_count; /* clients that push, and whose push is not judged yet or refused */
    struct pulls pulls;
    size_t question_count; /* clients with a question that is not answered yet */
    struct buf
        refused; /* the last line about a refused request: a client that tries again is not told of again */
    bool has_untold;                     /* bawn was too busy to be told of one */
    VEC(const char *) leaks;             /* the lines about leaks that bawn was told */
    size_t leak_counts[LEAK_KIND_COUNT]; /* how many of each kind: made-up keys do not hide a known secret */
};

/* Owns the descriptors from now on: those of a handed connection (kernel/handed.h). `first`: bytes that were read from the client already. */
void client_begin(struct front *front, const struct handed_connection *handed, struct bytes first,
                  const int *fds);

/* Ends the connections whose time is up, and gives the next turn to those that have more to do. Returns how long the poller may sleep. */
int clients_keep_time(struct front *front);

enum client_state {
    CLIENT_HEAD,
    CLIENT_CONTENT,
    CLIENT_PUSH,
    CLIENT_QUESTION,
    CLIENT_REFUSED,
    CLIENT_ANSWER,
    CLIENT_RAW,
    CLIENT_BYE
};

struct client {
    struct front *front;
    struct client *next, *previous;
    struct stream stream;   /* to the sandbox */
    struct channel channel; /* to the back */
    struct watcher tether;
    char host[HANDED_LONGEST_HOST + 1];
    uint16_t port;
    enum client_state state;
    bool is_head;        /* the request's method is HEAD */
    bool has_answer;     /* the answer's head has come */
    bool answer_is_last; /* the connection ends with this answer */
    bool is_finished;    /* in BYE: the end of TLS is queued */
    bool has_more;       /* its turn ended before all was done */
    enum framing answer_framing;
    struct buf input; /* decrypted, not yet read as HTTP */
    struct body body;
    bool is_judged;             /* rules decide about each request */
    struct git_request git;     /* the request, if it is one of git to a repository with a token */
    struct buf refusal;         /* in REFUSED: our answer */
    struct pushing *pushing;    /* in PUSH, and in REFUSED if a push is refused */
    struct asking *asking;      /* in QUESTION, and until its answer has ended */
    struct patterns others;     /* placeholders of secrets that are not for this host */
    struct scrub watch;         /* for those */
    struct leak_search search;  /* for secrets of the host */
    bool is_searched;           /* the content, too: it is not compressed */
    struct buf held_head, held; /* with `leak block`: what is not passed on before more is searched */
    int64_t deadline;           /* 0: none */
    char failure
        [512]; /* why the server cannot be reached; told in answer to a request, since a client expects no answer before */
};

/* --- pushes.c --- */

/* Reads a push from now on. */
void push_begin(struct client *client, const struct head *head, struct bytes text);

/* Reads what has come of it. Returns whether something was done. */
bool push_read(struct client *client);

/* The client pushes nothing any more. */
void client_end_push(struct client *client);

/* For the journal: what git does with the repository; of a push with each ref. */
void client_tell_git(const struct client *client, const char *what, const struct push_command *command);

/* --- questions.c --- */

/* Is the request one by GraphQL, which is judged by its content? Then it is read from now on, or refused. */
bool question_begin(struct client *client, const struct head *head, struct bytes text);

/* Reads what has come of it. Returns whether something was done. */
bool question_read(struct client *client);

/* Its answer, of which the ids are learned when it has come as a whole. */
void question_take_answer(struct client *client, struct bytes bytes);
void question_learn(struct client *client);
void question_end(struct client *client);

/* --- incoming.c --- */

/* Sends a line to bawn. */
void front_tell(struct front *front, const char *line);

/* Does the back, or the client itself, not take what it is sent? Then no further request is read. */
bool client_is_clogged(const struct client *client);

/* Reads what has come of a request. Returns whether something was done. */
bool client_read_request(struct client *client);

/* The head is taken: the content is read next, in this state, and a client that waits for our word gets it. */
void client_begin_content(struct client *client, const struct head *head, enum client_state state);

/* What the other files do with requests. client_refuse_request answers when the content has ended; `head` is what the client sent. */
void client_drop_input(struct client *client, size_t size);
void client_refuse_request(struct client *client, const struct refusal *refusal, const struct head *head);
bool client_is_allowed(struct client *client, const struct head *head);
bool client_pass_request(struct client *client, const struct head *head, struct bytes content);

void client_end_request(struct client *client);

/* An answer of our own, if the server's has not begun. The connection ends with it. */
void client_refuse(struct client *client, const char *status, const char *sentence);

/* bawn is told why a request, or its answer, was refused. */
void client_tell_refused(struct client *client, const char *sentence);

/* Nothing more is sent after what is queued. */
void client_begin_farewell(struct client *client);

/* --- withheld.c --- */

/* Is there something in the head that must not leave? Then it is refused, and bawn is told. */
bool client_misuses_placeholder(struct client *client, struct bytes head);
bool client_withholds_head(struct client *client, const struct head *head);

/* Passes a head, and bytes of a request, on to the back. Returns false if the bytes hold what must not leave. */
void client_pass_head(struct client *client, const struct head *head, struct bytes text);
bool client_pass_content(struct client *client, enum record_kind kind, struct bytes bytes, bool is_end);
