/*
 * A line for whoever waits at the terminal: what takes longer than a second says on standard error how far it is, in one line
 * that is written again and again and is gone at the end. Where that is no terminal, or another job has it, nothing is said.
 */
#pragma once

#include <time.h>

#include "base/progress.h"
#include "cli/world.h"

struct progress_line {
    struct progress progress; /* the first member */
    const struct world *world;
    const char *what; /* "taking a snapshot" */
    struct timespec began, written;
};

/* Returns what is handed on to whoever works, or NULL. It may tell from a child, too. */
struct progress *progress_begin(struct progress_line *line, const struct world *world, const char *what);
void progress_end(const struct progress_line *line);
