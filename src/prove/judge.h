/*
 * The battery: every case first without a sandbox, then behind the walls, judged from outside. A case that does nothing
 * without a sandbox shows nothing, and is never called held.
 */
#pragma once

#include "base/names.h"
#include "prove/attacker.h"
#include "prove/catalogue.h"
#include "prove/sensors.h"

#define RULINGS(X)                                                                                           \
    X(RULING_NOT_APPLICABLE, "not-applicable",                                                               \
      "n/a") /* it does not work on this machine without a sandbox either */                                 \
    X(RULING_HELD, "held", "held")                                                                           \
    X(RULING_GRANTED, "granted", "granted") /* it works, and the policy says that it may */                  \
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
    void *granted_context;
};

/* One finding for each case, in the catalogue's order. */
int judge(const struct battery *battery, finding_list *ret_findings, struct err *err) must_check;
