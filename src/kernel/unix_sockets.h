/* Unix sockets of this network namespace that have a path, by the names that they were bound to. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"

/* As the kernel lists them now; "" where that cannot be read. */
const char *unix_sockets_read(struct arena *arena) returns_text;

/* The next name of a list, which is moved on; NULL at its end. It may be relative, to whatever directory. */
const char *unix_sockets_next(const char **list, struct arena *arena);
