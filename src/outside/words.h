/* The words of a shell command, as a shell would take them. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

/* In the value of a word: what stands from here on is known only when the shell expands it. */
#define WORD_UNKNOWN '\001'

struct word {
    const char *text; /* without quotes, and nothing is expanded */
    const char
        *value; /* the same with $HOME expanded; WORD_UNKNOWN stands for other variables and substitutions */
    const char *
        pattern; /* the value as a pattern, in which \ is before what was quoted; NULL: the word has no wildcards */
    bool is_program; /* it stands where a command begins */
    bool is_tilde;   /* it begins with ~, not quoted */
};

/* Takes the next word off. Returns false at the end. `*begins`: does a command begin here? `home` may be NULL. */
bool word_take(struct arena *arena, const char *home, const char **at, bool *begins, struct word *ret_word);

/* Is it the program's word "cd" or "pushd"? */
bool word_changes_directory(const struct word *word);

/*
 * Does the program's word name a program that executes the script or program that its first argument names: a shell, an interpreter, or one that starts
 * another program?
 */
bool word_runs_argument(const struct word *word);
