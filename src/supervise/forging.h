/*
 * git inside that reaches a repository of a `forge` rule: for each connection the supervisor starts the user's own ssh, with a command that
 * it has made from the rule alone, and bawn-forge between git and ssh. No text from inside is in ssh's arguments or environment, but for
 * the version of git's protocol: 1 or 2.
 */
#pragma once

#include <sys/types.h>

#include "journal/journal.h"
#include "plan/plan.h"
#include "policy/rule.h"
#include "supervise/loop.h"

struct forging_connection {
    int link_fd; /* bawn-forge tells of refs, and hangs up at its end */
    pid_t relay, ssh;
    const char *repository;
};

struct forging {
    struct arena arena;
    const struct plan *plan;        /* NULL: it was not begun */
    const char *const *environment; /* the caller's */
    struct journal *journal;
    struct loop *loop;
    const char *relay; /* bawn-forge; NULL: not found */
    VEC(struct forging_connection) connections;
    size_t events; /* but for refs that were pushed */
};

void forging_begin(struct forging *forging, const struct plan *plan, const char *const *environment,
                   struct journal *journal, struct loop *loop);
void forging_end(struct forging *forging);

/* The line of a client that wants git served begins with this, then tabs: "git", fetch or push, user, host, port, path, version. */
#define FORGING_WORD "git\t"

/*
 * Serves a client. Returns the end of a stream for it (records of kernel/relayed.h), or -1; *ret_sentence says what is done, or why not. It lies
 * in the arena.
 */
int forging_take(struct forging *forging, struct arena *arena, const char *line, const char *program, int pid,
                 const char **ret_sentence) must_check;
