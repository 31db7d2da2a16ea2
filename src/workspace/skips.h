/*
 * Folders that a snapshot leaves out because a build or a package manager makes them again. A list of names, one a line;
 * "target if Cargo.toml" counts only where that file lies beside the folder. A user's own list replaces this one.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

struct skip {
    const char *name, *beside; /* beside: NULL where none is asked for */
};

struct skips {
    VEC(struct skip) list;
};

/* The words of a list; NULL is the built-in one. Comments begin with #; what makes no sense is passed over. */
void skips_parse(struct arena *arena, const char *text, struct skips *ret_skips);

/* Is the folder of that name left out, given which names lie beside it? */
typedef bool skips_has_name(void *context, const char *name);
bool skips_match(const struct skips *skips, const char *name, skips_has_name *has_name, void *context);

void skips_free(struct skips *skips);
