/*
 * Unix sockets of this network namespace that have a path, by the names that they were bound to. A list is one name after the
 * other, each ended by a NUL, with an empty one at its end. A server's stands there for each of its clients too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/* As the kernel has them now. It fails where the kernel does not say: none is another answer. */
int unix_sockets_read(struct arena *arena, const char **ret_list, struct err *err) must_check;

/* The next name of a list, which is moved on; NULL at its end. It may be relative, to whatever directory. */
const char *unix_sockets_next(const char **list);

/* The list that the text of /proc/net/unix makes. */
const char *unix_sockets_of_text(struct arena *arena, const char *text) returns_text;

/*
 * The process of a sandbox that has a socket or a file open, as /proc shows it outside. For people to read: a process that
 * shares the descriptor, or has closed it since, may be missed or mistaken for another. The search is bounded.
 */
struct holder {
    pid_t pid;
    char program[32]; /* what it calls itself: any bytes */
};

/* `first`: the process from which all others of the sandbox come; `port`: where the socket is bound. False: not known. */
bool holder_find(pid_t first, bool is_stream, uint16_t port, struct holder *ret_holder);

/* The same for whatever /proc shows as an open file's name: "/home/me/.ssh/id_rsa", as it is seen inside. */
bool holder_find_open(pid_t first, const char *target, struct holder *ret_holder);

/* What it was started with, on one line, cut where there is no room for more; any bytes. False: it is not known. */
bool holder_read_command(const struct holder *holder, char *ret_line, size_t capacity);
