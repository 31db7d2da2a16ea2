/* The cases of `bawn prove`, as bawn-prove lists them. attacks/README.md describes the notation. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/names.h"
#include "base/vec.h"

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
