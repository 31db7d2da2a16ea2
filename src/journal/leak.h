/*
 * Searches what leaves the sandbox for secrets of the host.
 *
 * Theory of operation
 *
 * A text is cut into words (base/key_format.h), and each word is judged when it ends: it is a key of a well-known format, or its hash is that of a
 * known value. The base64 text after "-----BEGIN … PRIVATE KEY-----" is a private key.
 *
 * Bytes are decoded on their way to a *lane*, which finds the words:
 *
 *   bytes ── %41 and \n of JSON ──┬── plain lane
 *                                 └── base64 ── 4 lanes, one for each place where a group may begin
 *
 * base64 is decoded only within long runs of its letters, and across the ends of lines. A word that goes on in the next line is judged
 * as a whole, too: from the beginning of each of the last lines.
 *
 * Invariants
 *
 *   1. However the bytes are cut into pieces, the same is found.
 *   2. A search has a fixed size and allocates nothing.
 *   3. A known value is not in memory: its hash is, under a key of the session.
 *
 * It is no wall. What is encrypted, compressed, encoded twice, or in hexadecimal is not found.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/key_format.h"
#include "base/vec.h"
#include "journal/leaked.h"

enum { LEAK_MOST_KNOWN = 512, LEAK_PLACEHOLDER = 20 };

struct leak_known {
    enum leak_kind kind;
    const char *name;
    unsigned char digest[KEY_WORD_DIGEST];
};

/* What is done about a secret of the host in a request. */
enum leak_answer { LEAK_IGNORE, LEAK_WARN, LEAK_BLOCK };

struct leak_table {
    enum leak_answer answer;
    unsigned char salt[KEY_WORD_SALT];
    VEC(struct leak_known) known;
    VEC(struct bytes) placeholders; /* the beginning of each: they have the format of a key, and are none */
    bool has_size[KEY_WORD_LONGEST + 1];
};

/* Adds a word of `size` bytes by its hash (base/key_format.h). The name must stay. Returns false if the table is full. */
bool leak_add_digest(struct leak_table *table, enum leak_kind kind, const char *name, size_t size,
                     const unsigned char digest[KEY_WORD_DIGEST]);

/* The text must stay. */
void leak_add_placeholder(struct leak_table *table, struct bytes placeholder);
void leak_table_free(struct leak_table *table);

/* bawn's lines without their first word: `leak warn|block KEY`, and `known KIND SIZE HASH NAME`. Further ones than the table takes are not searched for. */
int leak_take_answer(struct leak_table *table, char *rest, struct err *err) must_check;
int leak_take_known(struct leak_table *table, struct arena *arena, char *rest, struct err *err) must_check;

enum { LEAK_LINES = 4, LEAK_BASE64_LANES = 4, LEAK_BASE64_RUN = 24 };

struct leak_lane {
    uint16_t size;
    uint16_t lines[LEAK_LINES]; /* where the last lines begin in the word */
    uint8_t line_count;
    uint8_t armour; /* how much of "-----BEGIN … PRIVATE KEY-----" has come; leak.c has the steps */
    bool is_overlong;
    bool body_has_lower, body_has_upper, body_has_digit;
    uint16_t body_size; /* of the base64 text behind it */
    char word[KEY_WORD_LONGEST];
};

/* Letters that give whole bytes together. */
struct leak_group {
    uint32_t bits;
    uint8_t count; /* of letters in it */
};

enum { LEAK_MOST_FOUND = 8 }; /* different ones in one message; of more, the most certain are told */

struct leak_found {
    enum leak_kind kind;
    const char *name;
};

struct leak_search {
    const struct leak_table *table;
    bool skips_formats; /* a key is expected here: only what must not be inside counts */
    struct leak_found found[LEAK_MOST_FOUND];
    size_t found_count;
    uint8_t percent; /* how much of %41 has come */
    char percent_digit;
    bool is_escaped;   /* a backslash has come */
    uint8_t unicode;   /* digits of \u0041 that are skipped */
    uint32_t run_size; /* letters of base64 in a row, counted until they are enough to be decoded */
    char run_first[LEAK_BASE64_RUN];
    struct leak_group groups[LEAK_BASE64_LANES];
    struct leak_lane plain, base64_lanes[LEAK_BASE64_LANES];
};

/* Begins anew: what comes next does not follow what came before. */
void leak_begin(struct leak_search *search, const struct leak_table *table);

/* Both return whether something was found that had not been found before. */
bool leak_take(struct leak_search *search, struct bytes bytes);
bool leak_end(struct leak_search *search);
