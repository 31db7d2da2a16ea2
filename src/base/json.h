/*
 * JSON output, written into a buffer. Commas, indentation and escaping are taken care of; the caller only says what
 * comes next. Bytes that are not UTF-8 are written as \udc80…\udcff, as Python's surrogateescape reads them back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_DEEPEST = 16 };

struct json {
    struct buf *out;
    bool on_one_line; /* and without the line's end */
    unsigned depth;
    bool has_items[JSON_DEEPEST];
};

/* A key of NULL is an item of an array. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_str(struct json *json, const char *key, const char *text);
void json_int(struct json *json, const char *key, int64_t number);
void json_bool(struct json *json, const char *key, bool value);
