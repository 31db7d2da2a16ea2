/*
 * Placeholders of secrets that stay outside, where they do not belong: in a name that is looked up, and in bytes that are not encrypted.
 * A placeholder is worth nothing to whoever gets it. But a program that sends one away was most likely talked into it, so it
 * is reported, and the connection ends.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/vec.h"

enum { WATCH_LARGEST = 64 * 1024 }; /* so many bytes of a connection are searched, but all requests of HTTP */

struct watched {
    const char *name; /* of the secret */
    struct bytes text;
};

struct watch {
    VEC(struct watched) list;
    size_t longest;
};

void watch_add(struct watch *watch, struct arena *arena, const char *name, const char *text);

/* The first that is in the bytes, or NULL. */
const struct watched *watch_find(const struct watch *watch, struct bytes bytes);

/* The same for a name: dots may be anywhere in it, and case does not count. */
const struct watched *watch_find_in_name(const struct watch *watch, const char *name);
