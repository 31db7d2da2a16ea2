/* Sends messages over a Unix socket that keeps message boundaries, each with at most one descriptor. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

/* `fd` may be -1. Returns 0, or -1 with errno. */
int passing_send(int socket_fd, const void *bytes, size_t size, int fd) must_check;

/*
 * Returns the message's size, 0 if the other end is closed, -1 with errno: EPROTO for a truncated message or more than one
 * descriptor. *ret_fd is close-on-exec; -1 if there was none or this process has too many. Does not wait.
 */
ssize_t passing_receive(int socket_fd, void *bytes, size_t size, int *ret_fd) must_check;
