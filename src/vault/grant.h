/*
 * What is said when a login is refreshed (RFC 6749, section 6): the request's content, as JSON or as a form, and the answer's, which is
 * JSON.
 *
 * A request is one only if its content is an object or a form that asks for the grant `refresh_token`, once, and has one `refresh_token`. An
 * answer is read only if it has each token once and nothing about them is in doubt.
 *
 * Pure.
 */
#pragma once

#include "base/attr.h"
#include "base/token.h"
#include "vault/head.h"

enum { GRANT_LARGEST = 64 * 1024 };

/* Could the request be one, by its head but for its path? Then *ret_is_form says how its content is written. */
bool grant_may_be(const struct head *head, bool *ret_is_form) must_check;

/* The refresh token in the content. Returns false if the content is not such a request. */
bool grant_find(bool is_form, struct bytes content, struct bytes *ret_token) must_check;

/* Adds the content with another token in the place of that one. */
void grant_add(bool is_form, struct bytes content, struct bytes token, struct bytes instead, struct buf *out);

/* Reads the tokens of an answer, and the seconds until the access token expires. They point into the text. */
bool grant_read_answer(struct bytes text, struct token_set *ret_set) must_check;

/* Adds the answer with stand-ins: of this placeholder for each kind, or of one that nothing stands behind. */
void grant_add_answer(struct bytes text, const struct token_set *set,
                      const struct bytes placeholders[TOKEN_KIND_COUNT], struct buf *out);

/* Adds an answer of our own, with stand-ins for tokens that another program has refreshed. */
void grant_add_own_answer(const struct token_set *set, const struct bytes placeholders[TOKEN_KIND_COUNT],
                          struct buf *out);
