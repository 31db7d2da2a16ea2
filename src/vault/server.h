/* Connections to servers, in the back. server.c describes their states. */
#pragma once

#include <openssl/ssl.h>

#include "vault/body.h"
#include "vault/carrier.h"
#include "vault/record.h"
#include "vault/stream.h"
#include "vault/swap.h"
#include "vault/unpack.h"
#include "vault/values.h"

struct back {
    const struct vault_settings *settings;
    struct poller poller;
    struct watcher front;
    SSL_CTX *context;
    struct values values;
    struct arena arena;
    struct patterns
        patterns;           /* secrets, and forms that were sent of them: no answer of any server shows one */
    struct server *servers; /* the newest first */
    size_t server_count;
    size_t gathered; /* bytes of content that wait, of all requests */
};

/* Owns the descriptors from now on: the server's socket, and the end of a channel to the front. */
void server_begin(struct back *back, const struct handed_connection *handed, const int *fds);

/* A secret came, or cannot be had: goes on with the requests that wait for one. */
void servers_go_on(struct back *back, bool is_usable);

/* Ends the connections whose time is up, and gives the next turn to those that have more to do. Returns how long the poller may sleep. */
int servers_keep_time(struct back *back);

/* Is a login being refreshed? */
bool servers_refresh(const struct back *back);

enum server_state {
    SERVER_IDLE,
    SERVER_SECRET,
    SERVER_GATHER,
    SERVER_KEEPER,
    SERVER_ANSWER,
    SERVER_STORE,
    SERVER_RAW,
    SERVER_OVER
};

struct server {
    struct back *back;
    struct server *next, *previous;
    struct stream stream;
    struct channel channel;
    char host[HANDED_LONGEST_HOST + 1];
    uint16_t port;
    enum server_state state;
    bool is_request_done, is_head, may_upgrade, is_last;
    bool has_answer; /* its head is read, and its content comes */
    bool has_more;   /* its turn ended before all was done */
    unsigned interim_count;
    enum framing request_framing;
    uint64_t request_left; /* of content whose length the request's head told */
    bool awaits_end;       /* the answer was faster than the front's word that the request is complete */
    struct buf request;    /* the head that waits for a secret */
    struct buf input;      /* decrypted, not yet read as HTTP */
    struct body body;
    struct unpack unpack; /* its coding is CODING_NONE if the content is not compressed */
    struct scrub scrub;
    struct value *token;       /* of a repository, that was sent with the request; NULL: none */
    struct refresh *refresh;   /* of a login, or a request that may be one; NULL: none */
    struct gathered *gathered; /* the content of a request that a secret may be in; NULL: none */
    int64_t deadline;          /* 0: none */
};

/* The front answers with the sentence, unless an answer has begun. */
void server_fail(struct server *server, const char *sentence);

/* Passes the head of an answer to the front. */
void server_pass_head(struct server *server, const struct head *head);

/* All of the answer is passed on. */
void server_answer_ended(struct server *server);

/* Does what can be done in one turn. The server may be gone afterwards. */
void server_step(struct server *server);

/* --- refresh.c --- */

/* A request's head has come: does it begin what may be the refresh of a login? */
void refresh_begin(struct server *server);

/* Content of such a request, and its end. */
bool refresh_take_content(struct server *server, struct bytes bytes) must_check;
void refresh_gathered(struct server *server);

/* What is sent after its head. */
size_t refresh_content_size(const struct server *server);
void refresh_send_content(struct server *server);

/* The answer to it: its head, its content and its end. */
void refresh_take_head(struct server *server, struct bytes text, unsigned status);
bool refresh_take_answer(struct server *server, struct bytes bytes) must_check;
void refresh_answered(struct server *server);

/* Owns the descriptor: the way to the keeper of the login that the token belongs to. */
void refresh_keeper_came(struct back *back, const char *name, int fd);

/* Is the token used up, and its successor not stored yet? Then the connection must not end. */
bool refresh_is_out(const struct server *server);

void refresh_free(struct server *server);

/* --- gather.c --- */

/* A request's head has come: may a secret be in its content? */
void gather_begin(struct server *server);

/* Content that was gathered already, all of it: it is taken over. */
void gather_adopt(struct server *server, struct buf *content);

/* Content of such a request, and its end, before the head is sent. */
bool gather_take(struct server *server, struct bytes bytes) must_check;
void gather_end(struct server *server);

/* May its content need the secret? */
bool gather_asks_for(const struct server *server, const struct value *value);

/* Puts the secrets into the content, before the head is sent. Returns false if that cannot be done: then the request has failed. */
bool gather_swap(struct server *server, struct head *head) must_check;

/* What is sent after the head; then the rest as it comes, and the end. */
void gather_send(struct server *server);
bool gather_pass(struct server *server, struct bytes bytes, bool is_end) must_check;

void gather_free(struct server *server);

/* --- request.c --- */

/* Adds the value as it is written in that place. Returns false if it must not be sent: then the request has failed. */
bool server_write_secret(struct server *server, struct value *value, enum writing writing,
                         struct buf *written) must_check;

/* Sends content, which must not be longer than the head told: more would be another request to the server. */
bool server_send_content(struct server *server, struct bytes bytes) must_check;

/* Takes records of the front, and sends what they say to the server. Returns whether something was done. */
bool server_take_records(struct server *server);
