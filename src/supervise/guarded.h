/*
 * Commands that deserve a question (`guard ask git push *`), or are refused. A program that is executed with such
 * arguments waits in its call until a person has answered, 120 seconds at most. A refused one gets EPERM, and a
 * sentence on its standard error.
 *
 * Not a wall: the arguments are read from the program's own memory, which it can change until the kernel reads them,
 * and code can do the same without executing anything. Arguments beyond 64, and what is longer than 255 bytes, are
 * not compared.
 */
#pragma once

#include "policy/guards.h"
#include "supervise/asking.h"

struct exec_notice;

/* A program that waits. */
struct held_command {
    uint64_t id;
    pid_t pid;
    unsigned question;
    int64_t until;    /* seconds, as asking has them */
    const char *line; /* the command */
};

struct guarded {
    struct guards guards;
    struct arena arena;
    struct arena lines; /* of those that wait */
    struct asking *asking;
    struct journal *journal;
    struct loop *loop;
    int listener_fd, timer_fd; /* -1: none */
    VEC(struct held_command) held;
    unsigned said;     /* sentences so far */
    pid_t refused_pid; /* who was refused last, and what */
    char refused[1024];
};

#define GUARDED_NONE ((struct guarded){.listener_fd = -1, .timer_fd = -1})

/* Finds the guards of the policy. False: there are none. `asking` is begun later. */
bool guarded_begin(struct guarded *guarded, const struct policy *policy, struct asking *asking,
                   struct journal *journal, struct loop *loop);

/* Is it held? Then it is answered later. Else *ret_errnum is the answer: 0, or why the program is not executed. */
bool guarded_take(struct guarded *guarded, struct exec_notice *notice, int *ret_errnum);

/* The listener is gone, and with it all that wait for an answer. */
void guarded_forget(struct guarded *guarded);

void guarded_end(struct guarded *guarded);
