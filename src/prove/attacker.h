/*
 * Somebody who carries out attacks as they are ordered: bawn-prove, behind the walls or without any. On either side it
 * is in a session of its own, with no terminal of the caller's and in nobody else's process group.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "prove/targets.h"

/* How a command is run: in a process of its own, whose streams are ready. Never returns. */
struct side {
    void (*run)(void *context, const char *const *command);
    void *context;
};

struct attacker {
    pid_t pid;
    int to_fd, from_fd, err_fd;
    int group_fd; /* closed at its other end when the process that shares its group ends */
};

#define ATTACKER_NONE ((struct attacker){-1, -1, -1, -1, -1})

/* Starts it, and waits until it answers. What it says on its error stream is in the error where it does not. */
int attacker_begin(const struct targets *targets, const struct side *side, struct attacker *ret_attacker,
                   struct err *err) must_check;

/* What came of an attack. */
struct answer {
    struct buf printed;
    bool is_killed; /* by the kernel, for the call that it made (SIGSYS) */
};

/* Orders one. `words`: namespaces, attack, arguments; ended by NULL. Returns -1 where there is nobody any more. */
int attacker_order(struct attacker *attacker, const char *const *words, struct answer *ret_answer) must_check;

/* Has the process that shares its group been ended? */
bool attacker_group_was_reached(const struct attacker *attacker);

/* Ends it. Says whether something of it lived on. */
bool attacker_end(struct attacker *attacker);

/* One attack in a terminal of its own. *ret_typed: bytes lay in it afterwards as if typed. */
int attacker_in_terminal(const struct side *side, const char *const *command, struct answer *ret_answer,
                         bool *ret_typed, struct err *err) must_check;
