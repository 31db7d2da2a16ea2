/*
 * JSON output, written into a buffer. Commas, indentation and escaping are taken care of; the caller only says what
 * comes next. Bytes that are not UTF-8 are written as \udc80…\udcff, as Python's surrogateescape reads them back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum { JSON_DEEPEST = 16 };

struct json {
    struct buf *out;
    bool on_one_line; /* and without the line's end */
    unsigned depth;
    bool has_items[JSON_DEEPEST];
};

/* A key of NULL is an item of an array. */
void json_open(struct json *json, const char *key, char bracket);    /* '{' or '[' */
void json_close(struct json *json, char bracket);                    /* '}' or ']' */
void json_str(struct json *json, const char *key, const char *text); /* adds nothing for NULL */
void json_int(struct json *json, const char *key, int64_t number);
void json_bool(struct json *json, const char *key, bool value);
void json_raw(struct json *json, const char *key, const char *value); /* which is JSON already */
void json_true(struct json *json, const char *key, bool is_true);     /* adds nothing if it is false */

/* --- json read --- */

/*
 * JSON that somebody else wrote: checked as a whole before anything of it is looked at, in bounded depth. What is not JSON to
 * the letter (comments, trailing commas) is refused.
 */

enum { JSON_READ_DEEPEST = 64 };

/* One value in a text that was checked. */
struct json_value {
    const char *at;
    size_t size;
};

/* Is the text one value, with nothing but white space around it? */
bool json_read(const char *text, size_t size, struct json_value *ret_value);

/* The next member of an object, from *at on, which begins as 0. False after the last, or where it is no object. */
bool json_next_member(struct json_value object, size_t *at, struct json_value *ret_key,
                      struct json_value *ret_value);

/* The next item of an array, likewise. */
bool json_next_item(struct json_value array, size_t *at, struct json_value *ret_value);

/* The text that a string stands for; NULL where it is no string, or one with a NUL in it. */
const char *json_text(struct arena *arena, struct json_value value);

/* Is it a string of these characters, written without an escape? */
bool json_is(struct json_value value, const char *text);
