/* A secret of the host that was found in what a run sent: what it is, in words. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/names.h"
#include "base/vec.h"

/* The more certain, the later. */
#define LEAK_KINDS(X)                                                                                        \
    X(LEAK_NONE, "none")                                                                                     \
    X(LEAK_KEY, "key")                 /* its name is the beginning of its format */                         \
    X(LEAK_PRIVATE_KEY, "private-key") /* a block of PEM or of PGP; its name is "PEM" */                     \
    X(LEAK_VALUE, "value")             /* of a variable of the host, which is its name */                    \
    X(LEAK_TOKEN, "token")             /* in a file of the host, whose path is its name */                   \
    X(LEAK_CANARY, "canary")           /* of a decoy, whose path is its name */

enum leak_kind { LEAK_KINDS(ID_OF) LEAK_KIND_COUNT };

const char *leak_kind_name(enum leak_kind value);
enum leak_kind leak_kind_named(const char *name); /* LEAK_NONE: there is no such kind */

/* "a key (ghp_…)" */
const char *leak_what(struct arena *arena, enum leak_kind kind, const char *name) returns_text;

/* What a program inside is told when a request was stopped for it, without the last dot. */
const char *leak_refusal(struct arena *arena, const char *host, const char *what) returns_text;

/* One that a run has sent, or tried to send. */
struct leaked {
    const char *what, *host;
    bool is_stopped; /* the request was refused */
};

typedef VEC(struct leaked) leaked_list;
