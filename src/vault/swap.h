/*
 * Placeholders and secrets.
 *
 * On the way out, a placeholder that is the whole value of a header for credentials, or the word after its scheme ("Bearer X",
 * "token X"), or the user or the password of "Basic", becomes the secret. A JWT whose signature is the placeholder (base/token.h) stands for a
 * token as a whole. It is left alone anywhere else: a server may send other parts
 * of a request on, or back, or show them to everybody. A rule may name other places (carrier.h).
 *
 * On the way in, every occurrence of the secret becomes the placeholder, with as many bytes, so that no length changes. The search
 * works across the borders of the pieces that come. It holds back only bytes that could be the beginning of a secret.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"

enum { SECRET_SHORTEST = 8, SECRET_LONGEST = 8192, SCRUB_MOST_PATTERNS = 64 };

/* May the value be sent in a header, and searched for in answers? */
bool secret_is_usable(struct bytes value);

/* Adds the header's value with the secret in it. Returns false if the placeholder is not in a place where it is swapped. */
bool swap_value(struct bytes value, struct bytes placeholder, struct bytes secret, struct buf *out);

struct pattern_pair {
    struct bytes from, to; /* of the same size, but see patterns_exchange */
};

/* What is searched for. It may grow while scrubs use it. */
struct patterns {
    struct pattern_pair at[SCRUB_MOST_PATTERNS];
    size_t count;
    bool begins[256]; /* the first bytes of the patterns */
};

/* `from`, which must stay, becomes `to`, cut or filled to the size of `from`. Returns false if there are too many. */
bool patterns_add(struct patterns *patterns, struct arena *arena, struct bytes from, struct bytes to);
/* The same for a pattern that takes the place of an older one: *slot is its number, beginning with 0, or -1 at first. */
bool patterns_set(struct patterns *patterns, struct arena *arena, int *slot, struct bytes from,
                  struct bytes to);
/* Both must stay, and `to` may have another size: for requests. */
bool patterns_exchange(struct patterns *patterns, struct bytes from, struct bytes to);
bool patterns_have(const struct patterns *patterns, struct bytes from);

struct scrub {
    const struct patterns *patterns;
    struct bytes found; /* the `from` that was found last */
    struct buf held;    /* bytes that came and may be the beginning of a pattern */
};

void scrub_take(struct scrub *scrub, struct bytes bytes, struct buf *out);

/* Nothing more comes: the bytes that were held back are no secret. */
void scrub_end(struct scrub *scrub, struct buf *out);
void scrub_free(struct scrub *scrub);
