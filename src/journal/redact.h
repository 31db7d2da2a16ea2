/*
 * Takes secrets out of what is written down: values of variables whose names say that they are secret, passwords in
 * addresses, and words that look like keys of well-known makers. It errs on the side of leaving out; what it does not
 * know it cannot find, so a journal is still not for everybody's eyes.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

struct secret {
    const char *name, *value;
    size_t size;
};

/* The variables of an environment (NAME=VALUE, ended by NULL) that are secret; their texts are the environment's. */
struct secrets {
    VEC(struct secret) known;
};

void secrets_find(struct arena *arena, const char *const *environment, struct secrets *ret_secrets);
void secrets_free(struct secrets *secrets);

/* Adds the text without what is secret in it. `secrets` may be NULL. */
void redact_add(struct buf *out, const struct secrets *secrets, const char *text, size_t size);
