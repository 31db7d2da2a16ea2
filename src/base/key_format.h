/*
 * What keys look like: the formats of well-known makers, and the words that a text is searched for. The journal leaves out what may be a key;
 * the search for leaks reports what is one. So the table has two lengths.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* What follows the beginning of a real key. */
enum key_letters {
    KEY_NEVER,   /* too common in texts that are no secret: the search for leaks does not know it */
    KEY_MIXED,   /* letters of both cases and digits */
    KEY_DASHED,  /* the same, and - _ . */
    KEY_CASES,   /* letters of both cases */
    KEY_HEX,     /* lower-case digits */
    KEY_CAPITAL, /* capital letters and digits, exactly as many as `real` */
};

struct key_format {
    const char *prefix;
    size_t shortest; /* what follows it in a text that may be a key, of letters, digits and a few signs */
    size_t real;     /* what follows it at least in a real one */
    enum key_letters letters;
};

/* How much of the text's beginning may be a key behind a known prefix; 0: none. */
size_t key_size(const char *text, size_t size, size_t *ret_prefix);

enum { KEY_WORD_SHORTEST = 16, KEY_WORD_LONGEST = 256, KEY_WORD_SALT = 32, KEY_WORD_DIGEST = 16 };

/* Is the byte of a word: a letter, a digit, or one of - _ . */
bool word_has(unsigned char byte);

/* The word without the dots and dashes around it. */
struct bytes word_trim(struct bytes word);

/* The format of a word that is a real key; NULL: it is none. A word of few different letters, as documents have it, is none. */
const struct key_format *key_of_word(struct bytes word);

/* The longest word of a value, KEY_WORD_LONGEST bytes of it at most. Without bytes: none is long enough to be searched for. */
struct bytes word_longest(struct bytes value);

/* Does it have a digit, a letter, and many different ones? So that no word of a language and no host's name is searched for. */
bool word_is_random(struct bytes word);

/* The hash of a word, which begins with the salt. */
void word_digest(const unsigned char salt[KEY_WORD_SALT], struct bytes word,
                 unsigned char ret_digest[KEY_WORD_DIGEST]);

/* Do servers expect a credential in the header of this name? */
bool key_is_expected_in(struct bytes name);
