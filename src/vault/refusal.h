/* What a client and bawn are told about a request that the policy refuses. Pure. */
#pragma once

#include "vault/head.h"

enum { REFUSAL_LONGEST_PATH = 300 }; /* of a path in the journal; what is longer is cut */

struct refusal {
    struct bytes method;
    const char *host;
    uint16_t port;
    const char *path;   /* in the spelling of policy/request.h */
    const char *reason; /* another one than a rule on requests; NULL: none */
    const char *verb, *object,
        *place; /* of the rule that refuses it, and where it stands; NULL: none allows it */
};

/* "GET /x is refused by `refuse a.test/x` (policy.bawn:3)" */
void refusal_add_sentence(const struct refusal *refusal, struct buf *out);

/* The whole answer, 403: JSON if the request's Accept header asks for that, else plain text. `is_last`: the connection ends with it. */
void refusal_add_answer(const struct refusal *refusal, const struct head *head, bool is_last,
                        struct buf *out);
