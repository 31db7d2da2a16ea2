/*
 * Tokens of logins (OAuth), as JSON files and answers have them, and the texts that stand in for them where the tokens must not be.
 *
 * A token that is a JWT ("HEADER.CLAIMS.SIGNATURE") is worth nothing without its signature, and programs read its claims. So its
 * stand-in keeps header and claims, and has the placeholder as its signature.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/names.h"

enum { TOKEN_SHORTEST = 8, TOKEN_LONGEST = 8192 };

#define TOKEN_KINDS(X)                                                                                       \
    X(TOKEN_NONE, "none")                                                                                    \
    X(TOKEN_ACCESS, "access")                                                                                \
    X(TOKEN_REFRESH, "refresh")                                                                              \
    X(TOKEN_ID, "id")                                                                                        \
    X(TOKEN_KEY, "key")

enum token_kind { TOKEN_KINDS(ID_OF) TOKEN_KIND_COUNT };

const char *token_kind_name(enum token_kind value);

/* The kind of the token that a member of this name has; TOKEN_NONE: the name is of something else. */
enum token_kind token_kind_of(struct json_value name);

/* Can it be sent in a header, in a line and in JSON as it is? */
bool token_is_plain(struct bytes token);

/* The part that must not be known: the signature of a JWT, or all of it. */
struct bytes token_core(struct bytes token);

/* Adds the text that stands in for the token. */
void token_add_stand_in(struct bytes token, struct bytes placeholder, struct buf *out);

/* Is the word the placeholder, or a JWT that has it as its signature? */
bool token_stands_for(struct bytes word, struct bytes placeholder);

/* The second (since 1970) at which a JWT says that it expires; 0: it does not say so. */
int64_t token_expiry(struct bytes token);

/* The tokens of one login, as one process tells them to another. */
struct token_set {
    struct bytes at[TOKEN_KIND_COUNT]; /* none: there is no such token */
    int64_t seconds;                   /* until the access token expires; 0: unknown, or it has expired */
    struct bytes scope;                /* words; none: unknown */
};

/* Lines "KIND TOKEN", "seconds NUMBER" and "scope WORDS". Reading is strict: it returns false for any other line. */
void token_set_add(const struct token_set *set, struct buf *out);
bool token_set_read(struct bytes text, struct token_set *ret_set) must_check;

/* The text between the quotes of a string without escapes; nothing for another value. */
struct bytes token_text(struct json_value value);

/* The whole number that a value is, without its fraction; -1: it is none. */
int64_t token_number(struct json_value value);
