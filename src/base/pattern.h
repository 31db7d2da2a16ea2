/*
 * Wildcards. A pattern is text in which '*' stands for any run of characters within one name, '?' for one character,
 * "**" as a whole name for any number of directories, and a backslash takes the next character as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

bool pattern_has_wildcard(const char *pattern);

/* The text that a pattern without wildcards stands for. */
char *pattern_literal(struct arena *arena, const char *pattern);

/* The pattern that matches just this text. */
char *pattern_quote(struct arena *arena, const char *text);

/* Characters of the pattern that are not wildcards: a measure of how much it says. */
size_t pattern_weight(const char *pattern);

/* Does the pattern match the whole name? (No '/' and no "**".) */
bool pattern_matches_name(const char *pattern, const char *name, size_t name_size);

/* Does the absolute pattern match the whole absolute path? */
bool pattern_matches_path(const char *pattern, const char *path, size_t path_size);

/* Could the absolute pattern match something strictly beneath the directory? (Never a false no.) */
bool pattern_may_match_beneath(const char *pattern, const char *directory);

/* Does it stand for any number of directories, so that all of a tree must be searched for it? */
bool pattern_is_deep(const char *pattern);

/* The directory part before the first name with a wildcard: "/home/u" for "/home/u/x*y/z". */
char *pattern_fixed_directory(struct arena *arena, const char *pattern);
