/*
 * bawn's ssh agent inside (`ssh-key` rules). For each connection to its socket the supervisor starts two processes of bawn-vault (vault/agent.h
 * has the theory), and connects one of them to the user's agent. It counts signatures, puts questions to a person, and records. It reads no byte
 * of the ssh agent protocol.
 */
#pragma once

#include <sys/types.h>

#include "kernel/unix_sockets.h"
#include "supervise/asking.h"
#include "supervise/signing_fit.h"

/* A program's connection. */
struct signing_connection {
    int link_fd;
    pid_t front, back;
    struct holder client;
    signing_fit_list fitting; /* of the last login that was asked about: each must allow it */
    unsigned question;        /* 0: none waits */
    int64_t until;            /* seconds, as asking has them */
    char user[160];
};

/* A person has to be told of it. */
typedef void key_refused(void *context, const struct refused_key *refused);

struct signing {
    struct arena arena;
    const struct plan *plan;        /* NULL: it was not begun */
    const char *const *environment; /* the caller's */
    struct journal *journal;
    struct loop *loop;
    struct asking *asking;
    const char *program;     /* bawn-vault */
    int listen_fd, timer_fd; /* -1: none */
    bool is_full;            /* further connections wait */
    signing_rule_list rules;
    VEC(struct signing_connection) connections;
    refused_key_list refused; /* logins at other hosts, and data that is no login */
    key_refused *tell;        /* NULL: nobody is told */
    void *context;
    size_t events; /* that were recorded, but for logins */
    size_t logins;
};

#define SIGNING_NONE ((struct signing){.listen_fd = -1, .timer_fd = -1})

/* Reads the keys of the plan's rules. Does nothing without such a rule. `signing` must be SIGNING_NONE. */
int signing_begin(struct signing *signing, const struct plan *plan, const char *const *environment,
                  struct asking *asking, struct err *err) must_check;

/* Takes the listening socket inside. */
void signing_listen(struct signing *signing, int listen_fd);
void signing_end(struct signing *signing);
void signing_free(struct signing *signing);
