/*
 * The battery: every case first without a sandbox, then behind the walls, judged from outside. A case that does nothing
 * without a sandbox shows nothing, and is never called held.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/names.h"
#include "base/vec.h"
#include "prove/sensors.h"
#include "prove/targets.h"

/* --- catalogue.c --- */

/* The cases of `bawn prove`, as bawn-prove lists them. attacks/README.md describes the notation. */

/* What bawn promises, and under which the results stand. */
#define PROMISES(X)                                                                                          \
    X(PROMISE_FILES, "files", "Files")                                                                       \
    X(PROMISE_PROCESSES, "processes", "Processes")                                                           \
    X(PROMISE_NETWORK, "network", "Network")                                                                 \
    X(PROMISE_PERSISTENCE, "persistence", "Persistence")                                                     \
    X(PROMISE_TERMINAL, "terminal", "Terminal")                                                              \
    X(PROMISE_KERNEL, "kernel", "Kernel surface")                                                            \
    X(PROMISE_RESOURCES, "resources", "Resources")

enum promise { PROMISES(ID_OF) PROMISE_COUNT };

const char *promise_name(enum promise value);
const char *promise_title(enum promise value);

struct attack_case {
    const char *name, *attack; /* of the case; of the program */
    enum promise promise;
    const char *says;              /* what is tried, for a person */
    const char *arguments;         /* with spaces between, and {NAMES} to be filled in */
    const char *results;           /* what may come out inside: "A; B; root: C" */
    const char *const *options;    /* "KEY VALUE", ended by NULL */
    const char *what, *why, *seen; /* of the attack's header */
};

struct catalogue {
    VEC(struct attack_case) cases;
};

/* Asks the program. It is bawn's own, and yet what it says is bounded, and refused where it is not as expected. */
int catalogue_read(const char *program, struct arena *arena, struct catalogue *ret_catalogue, struct err *err)
    must_check;
void catalogue_free(struct catalogue *catalogue);

/* The value of an option; "" for one without; NULL where the case does not have it. */
const char *case_option(const struct attack_case *attack, const char *key);

/* Is the line one of those that may come out inside? */
bool case_expects(const struct attack_case *attack, bool as_root, const char *line);

/* Does a list of words ("root user") hold the word? Up to a ':', behind which the reason stands. */
bool words_have(const char *words, const char *word);

/* --- attacker.c --- */

/*
 * Somebody who carries out attacks as they are ordered: bawn-prove, behind the walls or without any. On either side it
 * is in a session of its own, with no terminal of the caller's and in nobody else's process group.
 */

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

enum attacker_left {
    LEFT_NOTHING,
    LEFT_ALIVE,   /* something of it lives on */
    LEFT_UNKNOWN, /* it did not end, and was killed: what it would have put right at its end is not */
};

enum attacker_left attacker_end(struct attacker *attacker);

/* One attack in a terminal of its own. *ret_typed: bytes lay in it afterwards as if typed. */
int attacker_in_terminal(const struct side *side, const char *const *command, struct answer *ret_answer,
                         bool *ret_typed, struct err *err) must_check;

/* --- judge.c --- */

#define RULINGS(X)                                                                                           \
    X(RULING_NOT_APPLICABLE, "not-applicable",                                                               \
      "n/a") /* it does not work on this machine without a sandbox either */                                 \
    X(RULING_HELD, "held", "held")                                                                           \
    X(RULING_GRANTED, "granted", "granted")    /* it works, and the policy says that it may */               \
    X(RULING_NOT_HELD, "not-held", "not held") /* it works, and these walls do not promise otherwise */      \
    X(RULING_ESCAPED, "escaped", "ESCAPED")

enum ruling { RULINGS(ID_OF) RULING_COUNT };

const char *ruling_name(enum ruling value);
const char *ruling_word(enum ruling value);

struct finding {
    const struct attack_case *attack;
    enum ruling ruling;
    const char *said;         /* inside: the last line, which is what the kernel answered; NULL: not tried */
    const char *said_without; /* the same without a sandbox; NULL: not tried */
    sensor_set tripped;       /* inside */
    sensor_set tripped_without;
    int looks_without;  /* at the sensors, until they had tripped */
    const char *reason; /* why not applicable, or by what granted */
};

typedef VEC(struct finding) finding_list;

struct battery {
    const struct targets *targets;
    const struct catalogue *catalogue;
    struct side without, inside;
    bool
        inside_is_host_tree; /* it shows the host's own files: what is made anew there is seen without a new start */
    /* Why an attack that succeeded may, or NULL. Arguments are filled in. */
    const char *(*granted)(void *context, const struct attack_case *attack, const char *const *arguments);
    /* Why these walls do not hold an attack that succeeded and tripped no sensor, or NULL. The same context. */
    const char *(*not_held)(void *context, const struct attack_case *attack);
    void *granted_context;
    /* Is told each finding as it is made; NULL: nobody is. */
    void (*told)(void *context, const struct finding *finding);
    void *told_context;
};

/* One finding for each case, in the catalogue's order. */
int judge(const struct battery *battery, finding_list *ret_findings, struct err *err) must_check;
