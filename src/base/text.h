/*
 * Bytes from anywhere, made safe to show. A path or a policy line may hold any byte: control characters, terminal
 * escapes and text-direction marks are shown as \xHH or \u{…} and never reach a terminal raw.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"

/* Decodes one UTF-8 sequence strictly; returns its length, or 0 where the bytes are not one. */
size_t utf8_decode(const char *bytes, size_t size, uint32_t *ret_code);

bool text_is_utf8(const char *bytes, size_t size);

/*
 * Adds lines that are no longer than so many columns: a longer one goes on in the next line, behind the mark. Of letters that may be two columns
 * wide it is believed that they are.
 */
void text_add_wrapped(struct buf *buf, const char *lines, size_t columns, const char *mark);

/* Adds the bytes in printable form; returns the number of columns (code points) that were added. */
size_t text_add_printable(struct buf *buf, const char *bytes, size_t size);

/* The same for a page of HTML: shown there, and never read as more than text. */
void text_add_html(struct buf *buf, const char *text);
void text_add_html_as_is(struct buf *buf, const char *printable); /* which is printable already */

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(
    const char *text,
    const char *ending); /* something must stand before it: ".lock" does not end with ".lock" */
bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
/* Is it one of the words of a list, with spaces or newlines between them? */
bool text_has_word(const char *list, const char *word);
bool text_is_among(const char *text, const char *const *texts, size_t count);

/* Two small hexadecimal digits for each byte, and a NUL. */
void text_hex(const unsigned char *bytes, size_t size, char *ret_text);

/* What a hexadecimal digit stands for, in either case; -1 where it is none. */
int text_hex_digit(char byte);

/* Takes the decimal number that stands at *at, and moves on behind it. False without a digit, or where it is too large. */
bool text_take_number(const char **at, uint64_t *ret_number);

/* The value of a variable in an environment (NAME=VALUE, ended by NULL), or NULL. */
const char *text_variable(const char *const *environment, const char *name);

/* The word of a list that the typed one was probably meant to be, or NULL. The list ends with NULL. */
const char *text_closest(const char *typed, const char *const *words);

/* A word as a shell takes it: in quotes if it needs them. */
const char *shell_word(struct arena *arena, const char *word);

/* A moment as "2026-11-15T09:27:16.000Z". */
enum { MOMENT_SIZE = 80 };
void text_of_moment(const struct timespec *moment, char ret_text[MOMENT_SIZE]);
