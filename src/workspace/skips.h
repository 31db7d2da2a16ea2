/*
 * Directories that a snapshot leaves out because a build or a package manager makes them again. The list has one name
 * a line. "target if Cargo.toml" applies only if that file lies beside the directory. A user's own list replaces the
 * built-in one.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

struct skip {
    const char *name, *beside; /* beside: NULL if there is no condition */
};

struct skips {
    VEC(struct skip) list;
};

/* Parses a list; NULL: the built-in one. A line that begins with # is a comment. Invalid lines are ignored. */
void skips_parse(struct arena *arena, const char *text, struct skips *ret_skips);

/* Is a directory of that name left out? `has_name` tells which names lie beside it. */
typedef bool skips_has_name(void *context, const char *name);
bool skips_match(const struct skips *skips, const char *name, skips_has_name *has_name, void *context);

void skips_free(struct skips *skips);
