/* Mistakes in a policy, collected, so that all mistakes of a file are reported at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/vec.h"
#include "policy/rule.h"

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct diag {
    enum severity severity;
    const struct source *source;
    uint32_t line, column, width; /* line 0: the source as a whole; columns are bytes, from 1 */
    enum verb verb;               /* on the command line: the verb of the flag */
    const char *written;          /* and its object */
    const char *message;
    const char *hint; /* what to do; may be NULL */
};

enum { MOST_DIAGS = 200 };

struct diags {
    struct arena *arena;
    VEC(struct diag) list;
    size_t errors, left_out;
};

/* A place in a source that a message points at. */
struct spot {
    const struct source *source;
    uint32_t line, column, width;
    enum verb verb;
    const char *written;
};

/* Returns -1, so that a caller can write `return diag_error(...)`. */
int diag_add(struct diags *diags, enum severity severity, struct spot spot, const char *hint,
             const char *format, ...) printf_like(5, 6);
void diags_free(struct diags *diags);

#define diag_error(diags, spot, hint, ...)   diag_add(diags, SEVERITY_ERROR, spot, hint, __VA_ARGS__)
#define diag_warning(diags, spot, hint, ...) diag_add(diags, SEVERITY_WARNING, spot, hint, __VA_ARGS__)

struct spot spot_of_rule(const struct rule *rule);
