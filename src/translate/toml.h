/* Reads a subset of TOML and reports each value as it comes. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* A value: its table ("" at the top), its key, and its text. A list is reported once with NULL, then item by item. */
typedef void toml_function(void *context, const char *table, const char *key, const char *text);

struct toml {
    struct arena *arena;
    const char *at; /* ends with a NUL */
    toml_function *found;
    void *context;
    const char *table;
    size_t line;
};

int toml_read(struct toml *toml, struct err *err) must_check;
