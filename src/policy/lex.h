/*
 * Splits lines into words. In a word's text, a character that was quoted has a backslash; every other character may have its
 * special meaning. So "a b*" (with the quotes) becomes `a b\*`, and later stages need not know the quotes.
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
    const char *written; /* exactly as in the file */
    uint32_t column, width;
};

typedef VEC(struct word) word_list;

/* Splits one line (without its newline). Reports mistakes, and still returns the words before them. */
void lex_line(struct arena *arena, const struct source *source, uint32_t line, const char *bytes, size_t size,
              word_list *words, struct diags *diags);

/* Makes one word of one command-line argument. */
struct word lex_argument(struct arena *arena, const char *argument);

/* The text without its backslashes. */
char *word_plain(struct arena *arena, const char *text);
