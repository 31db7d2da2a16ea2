/*
 * A line for the person who waits at the terminal: an operation that takes longer than a second says how far it is, in one line
 * that is overwritten again and again and is gone at the end. Where nobody reads along, nothing is shown.
 */
#pragma once

#include <time.h>

#include "base/progress.h"
#include "session/caller.h"

struct progress_line {
    struct progress progress;      /* the first member */
    const struct speaker *speaker; /* NULL: nobody reads it */
    const char *what;              /* "taking a snapshot" */
    struct timespec began, written;
};

/* Returns what is handed on to whoever works, or NULL. A child may tell of its progress, too. */
struct progress *progress_begin(struct progress_line *line, const struct speaker *speaker, const char *what);
void progress_end(const struct progress_line *line);
