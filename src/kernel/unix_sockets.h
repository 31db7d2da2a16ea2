/*
 * Unix sockets of this network namespace that have a path, by the names that they were bound to. A list is one name after the
 * other, each ended by a NUL, with an empty one at its end. A server's stands there for each of its clients too.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/* As the kernel has them now. It fails where the kernel does not say: none is another answer. */
int unix_sockets_read(struct arena *arena, const char **ret_list, struct err *err) must_check;

/* The next name of a list, which is moved on; NULL at its end. It may be relative, to whatever directory. */
const char *unix_sockets_next(const char **list);

/* The list that the text of /proc/net/unix makes. */
const char *unix_sockets_of_text(struct arena *arena, const char *text) returns_text;
