/*
 * Which lines differ between two texts (Myers' algorithm), in bounded time: texts that have little in common are shown
 * as one replaced by the other. Any bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct line {
    const char *text;
    size_t size; /* with the newline, which the last one may lack */
};

typedef VEC(struct line) line_list;

void lines_split(const char *text, size_t size, line_list *ret_lines);

struct line_edit {
    char kind;       /* ' ' both have it, '-' only the old, '+' only the new */
    size_t old, new; /* the line's number in each, or that of the next one, counted from 0 */
};

typedef VEC(struct line_edit) edit_list;

void lines_compare(const line_list *old, const line_list *new, edit_list *ret_edits);

/* Is it a text that can be shown line by line? */
bool lines_are_text(const char *bytes, size_t size);
