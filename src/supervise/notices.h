/*
 * Tells that something was made in a directory, by a signal (F_NOTIFY): not what, and not in which one. For a user who has no inotify
 * instance left, of which there are 128 by default. The kernel has no limit on these but the one on open files.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/vec.h"

struct notices {
    int signal_fd;          /* ready when something was made; -1: there are no notices */
    VEC(int) directory_fds; /* a directory is watched as long as it is open */
};

#define NOTICES_NONE ((struct notices){.signal_fd = -1})

/* Blocks the signal, SIGIO, in this thread. */
void notices_begin(struct notices *notices);

/* From now on, what is made in the directory is told. Returns false where it cannot be. */
bool notices_watch(struct notices *notices, int path_fd);

/* All that was told up to now. */
void notices_take(const struct notices *notices);
void notices_end(struct notices *notices);
