/*
 * Words. A word's text keeps what was quoted apart from what was not: a character that has lost its special meaning
 * has a backslash before it, and every other character stands for itself or for its meaning. So "a b*" (with the
 * quotes) becomes `a b\*`, and later stages need no second look at the quotes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "policy/diag.h"

enum { WORD_LONGEST = 4096 };

struct word {
    const char *text;
    const char *written; /* exactly as it stood in the file */
    uint32_t column, width;
};

typedef VEC(struct word) word_list;

/* Splits one line (without its newline). Mistakes are reported; the words before them are still returned. */
void lex_line(struct arena *arena, const struct source *source, uint32_t line, const char *bytes, size_t size,
              word_list *words, struct diags *diags);

/* One argument of the command line as one word. */
struct word lex_argument(struct arena *arena, const char *argument);

/* The text without its backslashes: what the word says when nothing in it is special. */
char *word_plain(struct arena *arena, const char *text);
