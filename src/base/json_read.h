/*
 * JSON that somebody else wrote: checked as a whole before anything of it is looked at, in bounded depth. What is not JSON to
 * the letter (comments, trailing commas) is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

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
