/*
 * What the server may have done. The server speaks HTTP and is confined; it cannot run a program or write a file. So it names one of these acts, and the
 * actor, its parent, carries it out as the verb of bawn that a person would type. The actor believes nothing but this table.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/*
 * X(ID, VERB, KINDS): the arguments of the verb, with a space between them. In VERB each letter of KINDS stands at a `?`. The kinds:
 *
 *   s  the name of a session          q  a question: SESSION/ID
 *   h  a host, perhaps with a port    o  what a person asks about: any text that is no flag
 *   w  an answer: once, session …     a  the name of a program
 *   d  a directory, in which the verb runs; it is no argument
 *   l  lines of a policy; as arguments each is `--VERB OBJECT`
 *   p  a policy file: user or repository
 *   t  the state of a file that was shown, a hash
 *
 * ACT_ENTERED says that the address was used. It has no answer.
 */
#define ACTS(X)                                                                                              \
    X(ACT_ENTERED, "", "")                                                                                   \
    X(ACT_REVIEW, "review --json ?", "s")                                                                    \
    X(ACT_DIFF, "diff ?", "s")                                                                               \
    X(ACT_DECIDE, "review --from - ?", "s")                                                                  \
    X(ACT_UNDO, "undo --yes ?", "s")                                                                         \
    X(ACT_STOP, "", "s")                                                                                     \
    X(ACT_KILL, "", "s")                                                                                     \
    X(ACT_ALLOW, "allow --session @? ?", "sh")                                                               \
    X(ACT_ALLOW_ONCE, "allow --once @? ?", "sh")                                                             \
    X(ACT_ALLOW_ALWAYS, "allow --always @? ?", "sh")                                                         \
    X(ACT_REQUESTS, "requests --json", "")                                                                   \
    X(ACT_ANSWER, "answer ? ?", "qw")                                                                        \
    X(ACT_SCREEN, "show -- ?", "da")                                                                         \
    X(ACT_SHOW, "show --all -- ?", "da")                                                                     \
    X(ACT_WHY, "why ? -- ?", "doa")                                                                          \
    X(ACT_PROFILES, "profiles --json", "")                                                                   \
    X(ACT_CHECK, "check --agent ? ? -- true", "dal")                                                         \
    X(ACT_DRAFT, "", "dpal")                                                                                 \
    X(ACT_SAVE, "", "dpatl")                                                                                 \
    X(ACT_PROVE, "prove --follow --json --report " ACT_REPORT " -- ?", "da")

/* The actor puts the path of the kept report in its place. */
#define ACT_REPORT "REPORT"

enum act {
#define X(id, verb, kinds) id,
    ACTS(X)
#undef X
        ACT_COUNT
};

enum { ACT_ARGUMENTS_MOST = 6, ACT_LONGEST = 32 * 1024, ACT_OUTPUT_LARGEST = 16 * 1024 * 1024 };

/* One message to the actor: this head, then the arguments, each ended by a NUL. A descriptor that comes with it is the verb's input. */
struct act_head {
    uint32_t number; /* the server's own, to know the answer by */
    uint32_t act;
    uint32_t count;
};

/* The answer. A descriptor comes with it: what the verb printed. */
struct act_done {
    uint32_t number;
    int32_t status; /* the verb's exit status; -1: it was not started */
};

typedef VEC(const char *) act_words;

/* A line of a policy that the page may write. */
struct policy_line {
    const char *verb, *object;
};
typedef VEC(struct policy_line) line_texts;

/* Makes the words of the verb from a message. Returns its act, or -1 with the reason. */
struct act_order {
    enum act act;
    const char *directory;                   /* NULL: any */
    const char *session;                     /* the argument of kind s, or NULL */
    const char *agent, *destination, *state; /* the arguments of kinds a, p and t, or NULL */
    act_words words;
    line_texts lines; /* of kind l */
};
void act_order_free(struct act_order *order);

int act_parse(struct arena *arena, const char *message, size_t size, struct act_order *ret_order,
              struct err *err) must_check;

/* Signals that end the page, and SIGCHLD, wait from now on: nothing is left behind, whenever one comes. Returns them. */
sigset_t actor_block_signals(void);

/* The actor: takes messages until the server ends. Returns the exit status. */
struct caller;
struct web_place;
int actor_run(const struct caller *caller, const struct web_place *place, int channel_fd);
