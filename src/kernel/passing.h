/* Messages over a Unix socket that keeps their bounds, each with at most one descriptor. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

/* `fd` may be -1. Returns 0, or -1 with errno. */
int passing_send(int socket_fd, const void *bytes, size_t size, int fd) must_check;

/*
 * Returns the message's size, 0 when the other end is closed, -1 with errno: EPROTO for a message that is cut off or
 * brings more than one descriptor. *ret_fd is a new descriptor (close-on-exec), or -1, also where this process has as many
 * as it may. Does not wait.
 */
ssize_t passing_receive(int socket_fd, void *bytes, size_t size, int *ret_fd) must_check;
