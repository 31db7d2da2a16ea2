/*
 * Which process of a sandbox holds a socket or a file, as /proc tells it outside. For people to read: a process that shares its
 * socket with another, or has let go of it since, is not found or found in the place of the other. Bounded, however many
 * processes and descriptors there are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
