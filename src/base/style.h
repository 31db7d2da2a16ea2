/* How text looks to a person: colours on a terminal only, paths below the home directory with ~, sizes with units. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum colour { COLOUR_PLAIN, COLOUR_BOLD, COLOUR_DIM, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW };

struct style {
    bool colours;
    const char *home; /* shown as ~; may be NULL */
};

/* Adds text in a colour, with control characters made visible. Returns the columns it takes. */
size_t style_add(const struct style *style, struct buf *buf, enum colour colour, const char *text);

/* Adds text in a colour, and spaces up to the width of its column. */
void style_add_column(const struct style *style, struct buf *buf, enum colour colour, const char *text,
                      size_t width);

/* Adds a path in a colour, with the home directory shown as ~. Returns the columns it takes. */
size_t style_add_path(const struct style *style, struct buf *buf, enum colour colour, const char *path);

/* The path as style_add_path shows it, for sentences. */
const char *style_path(const struct style *style, struct arena *arena, const char *path);

/* "48 KiB" */
const char *size_text(struct arena *arena, uint64_t size);
