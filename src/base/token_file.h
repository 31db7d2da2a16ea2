/*
 * Files in which programs keep tokens and passwords: which values in them are secret.
 *
 *   lines    "NAME = VALUE" and "NAME: VALUE": ini, npmrc, TOML, simple YAML
 *   JSON     strings, at whatever depth
 *   netrc    "password VALUE"
 *   URLs     "https://USER:PASSWORD@HOST", one a line: git's credentials
 *
 * In lines and in JSON a name says what is secret: one that ends in token, key, secret, auth, password, access or refresh.
 *
 * Pure.
 */
#pragma once

#include "base/attr.h"
#include "base/bytes.h"

enum token_format { TOKENS_IN_LINES, TOKENS_IN_JSON, TOKENS_IN_NETRC, TOKENS_IN_URLS };

/* Is given each value: as it is, and also decoded where it is base64 of a text, as npm and docker store passwords. */
typedef void token_taker(void *self, struct bytes value);

/* Returns false if the text is not in the format: nothing was found. */
bool token_file_read(enum token_format format, struct bytes text, token_taker *take, void *self) must_check;
